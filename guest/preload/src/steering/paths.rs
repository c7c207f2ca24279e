//! Which call is at a place of the plan.

use core::sync::atomic::{AtomicU64, Ordering::*};

use lockwright_ledger::steering::{MOST_FRAMES, MOST_PATHS, Path, Steering};

use crate::stack::modules;
use crate::stack::unwind::Frame;

/// Bits of an address that are the same in each run, as modules begin with a page.
const IN_PAGE: u64 = 0xfff;

/// The innermost return addresses of all paths, by their place in a page: most calls are of no path, and end here.
static MAY_BE: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

fn bit(address: u64) -> (usize, u64) {
    let place = address & IN_PAGE;
    (place as usize / 64, 1 << (place % 64))
}

/// The paths of a plan, by index.
fn all(plan: &Steering) -> impl Iterator<Item = (usize, &Path)> {
    let count = (plan.path_count.load(Relaxed) as usize).min(MOST_PATHS);
    plan.paths[..count].iter().enumerate()
}

/// Remembers where paths may be. Called once, before any thread.
pub fn note(plan: &Steering) {
    for (_, path) in all(plan) {
        let (word, bit) = bit(path.offsets[0].load(Relaxed));
        MAY_BE[word].fetch_or(bit, Relaxed);
    }
}

/// The path of the plan that the call of this frame is at, by its index.
pub fn of(plan: &Steering, call: Frame) -> Option<usize> {
    let (word, bit) = bit(call.pc);
    if MAY_BE[word].load(Relaxed) & bit == 0 {
        return None;
    }
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
