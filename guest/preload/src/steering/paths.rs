//! Which call is at a place of the plan.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use lockwright_ledger::steering::{MOST_FRAMES, MOST_PATHS, Path, Steering};

use crate::stack::modules;
use crate::stack::unwind::Frame;

/// Bits of an address that are the same in each run, as modules begin with a page.
pub const IN_PAGE: u64 = 0xfff;

/// By the place in its page of the return address of a call: 1 where it may be one that is steered. Most are not, and the
/// stub looks here alone.
pub static MAY_BE: [AtomicU8; IN_PAGE as usize + 1] =
    [const { AtomicU8::new(0) }; IN_PAGE as usize + 1];

/// The paths of a plan, by index.
fn all(plan: &Steering) -> impl Iterator<Item = (usize, &Path)> {
    let count = (plan.path_count.load(Relaxed) as usize).min(MOST_PATHS);
    plan.paths[..count].iter().enumerate()
}

/// Remembers where paths may be; everywhere, if threads are to be delayed. Called once, before any thread.
pub fn note(plan: &Steering) {
    for (_, path) in all(plan) {
        MAY_BE[(path.offsets[0].load(Relaxed) & IN_PAGE) as usize].store(1, Relaxed);
    }
    if plan.seed.load(Relaxed) != 0 {
        MAY_BE.iter().for_each(|place| place.store(1, Relaxed));
    }
}

/// The path of the plan that the call of this frame is at, by its index.
pub fn of(plan: &Steering, call: Frame) -> Option<usize> {
    all(plan).find_map(|(at, path)| is_at(path, call).then_some(at))
}

fn is_at(path: &Path, call: Frame) -> bool {
    let count = (path.offset_count.load(Relaxed) as usize).min(MOST_FRAMES);
    let mut frame = Some(call);
    path.offsets[..count].iter().all(|offset| {
        let Some(at) = frame else { return false };
        frame = at.caller();
        modules::locate(at.pc).is_some_and(|(_, found)| found == offset.load(Relaxed))
    })
}
