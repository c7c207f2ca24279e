//! The stack of the calling thread as it is, recorded.

use lockwright_engines::lockdep::MAX_FRAMES;

use crate::recorder::state;
use crate::stack::{modules, python};

/// Records the calling thread's stack. 0: it cannot be kept.
#[cold]
pub fn record() -> u32 {
    let mut frames = [0; MAX_FRAMES];
    let n = python::capture(&mut frames);
    let stack = state::with_core(|core| {
        modules::cover(core, &frames[..n]);
        let n = core.with_interpreted(&mut frames, n);
        core.stack(&frames[..n])
    });
    stack.unwrap_or(0)
}
