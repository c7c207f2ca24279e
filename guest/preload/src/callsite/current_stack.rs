//! The stack of the calling thread as it is, recorded.

use lockwright_engines::lockdep::MAX_FRAMES;

use crate::recorder::state;
use crate::stack::memo::{self, About, Noted};
use crate::stack::unwind::Frame;
use crate::stack::{modules, python};

/// Records the calling thread's stack. 0: it cannot be kept.
#[cold]
pub fn record() -> u32 {
    let mut frames = [0; MAX_FRAMES];
    let mut noted = Noted::new();
    let n = python::capture_noting(&mut frames, &mut noted);
    let stack = state::with_core(|core| {
        modules::cover(core, &frames[..n]);
        let n = core.with_interpreted(&mut frames, n);
        let stack = core.stack(&frames[..n]);
        if stack != 0 {
            memo::keep(About::Stack, &noted, [stack, 0]);
        }
        stack
    });
    stack.unwrap_or(0)
}

/// As [`record`], from within the call `call` if that is known.
///
/// # Safety
/// That call has not returned. Its frame pointer may be anything.
pub unsafe fn record_at(call: Option<Frame>) -> u32 {
    // SAFETY: the caller promises a call that has not returned.
    let find = |call| unsafe { memo::find(About::Stack, call) };
    match call.filter(|_| state::is_active_here()).and_then(find) {
        Some(place) => place.values()[0],
        None => record(),
    }
}
