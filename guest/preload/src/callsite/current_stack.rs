//! The stack of the calling thread as it is, recorded.

use lockwright_engines::lockdep::{Core, MAX_FRAMES, known_stack};

use crate::recorder::state;
use crate::stack::memo::{self, About, Noted};
use crate::stack::unwind::Frame;
use crate::stack::{modules, python};

/// Records the calling thread's stack. 0: it cannot be kept.
#[cold]
#[inline(never)]
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

/// The stack of a call that may turn out to be recorded already, captured once if it is needed at all.
pub struct Known(Option<Captured>);

struct Captured {
    frames: [u64; MAX_FRAMES],
    len: usize,
    noted: Noted,
}

impl Known {
    /// It was not needed so far.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Answers the engine with the stack of `call`, or with the row of one that is recorded: see [`known_stack`].
    ///
    /// # Safety
    /// That call, if it is known, has not returned. Its frame pointer may be anything.
    pub unsafe fn capture(&mut self, frames: &mut [u64], call: Option<Frame>) -> usize {
        let Some(call) = call else { return 0 };
        // SAFETY: the caller promises a call that has not returned.
        if let Some(stack) = unsafe { known_at(Some(call)) } {
            frames[0] = known_stack(stack);
            return 1;
        }
        let new = Captured { frames: [0; MAX_FRAMES], len: 0, noted: Noted::new() };
        let it = self.0.insert(new);
        it.len = python::capture_noting_at(&mut it.frames, call, &mut it.noted);
        let n = it.len.min(frames.len());
        frames[..n].copy_from_slice(&it.frames[..n]);
        n
    }

    /// Keeps for the next time what was captured. The caller has the core's lock.
    pub fn keep(&mut self, core: &mut Core) {
        let Some(Captured { frames, len, noted }) = &mut self.0 else { return };
        if !noted.is_whole() {
            return;
        }
        let n = core.with_interpreted(frames, *len);
        let stack = core.stack(&frames[..n]);
        if stack != 0 {
            memo::keep(About::Stack, noted, [stack, 0]);
        }
    }
}

/// As [`record`], from within the call `call` if that is known.
///
/// # Safety
/// That call has not returned. Its frame pointer may be anything.
#[inline(always)]
pub unsafe fn record_at(call: Option<Frame>) -> u32 {
    // SAFETY: the caller promises a call that has not returned.
    unsafe { known_at(call) }.unwrap_or_else(record)
}

/// The calling thread's stack from the call `call` on, if it is recorded already. It takes no lock of ours.
///
/// # Safety
/// As for [`record_at`].
#[inline(always)]
pub unsafe fn known_at(call: Option<Frame>) -> Option<u32> {
    let call = call?;
    if !state::is_active_here() {
        return None;
    }
    // SAFETY: the caller promises a call that has not returned.
    let place = unsafe { memo::find(About::Stack, call) }?;
    Some(place.values()[0])
}
