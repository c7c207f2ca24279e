//! Whether a function has returned, by the stack alone: there is no frame of it.

use super::modules;
use super::unwind::{Code, Frame, is_outermost};

/// Frames that are looked through. In a deeper stack the function may be further out.
const MOST_FRAMES: usize = 256;

/// Whether the function that `frames[level]` is in has returned; `frames` is a stack of earlier,
/// innermost first. `None` if that cannot be seen.
///
/// It has not if there is any frame of it, of another call perhaps; or of what returns to where it
/// does, which it may have ended with a jump to. It is not known where a frame is that of a part of
/// a function which the compiler has put elsewhere (paths that are rarely taken, such as those that
/// end the program): it may be the function's. And a stack that begins elsewhere is another one: a
/// coroutine's frames are there yet while its thread runs on another stack.
pub fn has_returned(frames: &[u64], level: usize) -> Option<bool> {
    let code = Code::of_call(*frames.get(level)?).filter(|code| !code.is_part)?;
    let here = Frame::outside()?;
    let mut outermost = here.pc;
    for (depth, pc) in walk(here).enumerate() {
        if code.has_call(pc) || frames.get(level + 1) == Some(&pc) {
            return Some(false);
        }
        if depth == MOST_FRAMES {
            return None;
        }
        outermost = pc;
    }
    let begin = *frames.last()?;
    let is_whole = is_outermost(outermost) && is_outermost(begin);
    let is_one = is_whole && (is_program_entry(begin) || Code::of_call(begin)?.has_call(outermost));
    let any_part = || walk(here).any(|pc| Code::of_call(pc).is_none_or(|code| code.is_part));
    (is_one && !any_part()).then_some(true)
}

/// Return addresses from a frame on, outwards.
fn walk(from: Frame) -> impl Iterator<Item = u64> {
    let mut next = Some(from);
    core::iter::from_fn(move || {
        let frame = next?;
        next = frame.caller();
        Some(frame.pc)
    })
}

/// The program's own first function is called there, which is so for the first thread alone.
fn is_program_entry(pc: u64) -> bool {
    // SAFETY: `getauxval` takes a number and reads the vector that the kernel left.
    let entry = unsafe { libc::getauxval(libc::AT_ENTRY) };
    modules::are_in_one(entry as *const _, pc as *const _)
}

/// The function that `frames[level]` is in was called by the C library: it is the program's main,
/// or a callback.
pub fn is_called_by_libc(frames: &[u64], level: usize) -> bool {
    let libc = libc::getauxval as *const ();
    frames.get(level + 1).is_some_and(|&pc| modules::are_in_one(pc as *const _, libc.cast()))
}
