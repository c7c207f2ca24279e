//! The owner walk: whether a thread that is about to block closes a cycle of waiting threads.
//!
//! Each waiting thread publishes what it waits for before it blocks; what it holds is in its held
//! array. A cycle found once is only believed if every thread in it has been in the same wait all
//! the time (`wait_seq` unchanged and odd): a thread that waits neither takes nor releases, so its
//! held array stood still meanwhile.

use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::fence;

use lockwright_ledger::rows::{lock_kind, mode};

use super::cycle::Cycle;
use crate::lockdep::recorder::Recorder;
use crate::lockdep::thread::ThreadState;

/// Longest cycle that is looked for. Longer ones are still found in the recorded orders.
const MAX_CYCLE: usize = 32;

/// One thread on the path: its id and the wait it was seen in.
#[derive(Clone, Copy, Default)]
struct Waiter {
    thread: u32,
    seq: u32,
}

/// The cycle that the thread closes, which has published its wait ([`ThreadState::wait_begin`]) and is
/// about to block.
///
/// There is no point in it for a thread that holds nothing: it is nobody's obstacle.
///
/// `relock_fails`: the lock itself notices if its owner locks it again, so a cycle of one is
/// none of ours.
pub(crate) fn find(recorder: &Recorder, thread: &ThreadState, relock_fails: bool) -> Option<Cycle> {
    let mut path = [Waiter::default(); MAX_CYCLE];
    let seq = recorder.wait_of(thread.id())?;
    path[0] = Waiter { thread: thread.id(), seq };
    let len = search(recorder, &mut path, 1, relock_fails)?;
    // Pairs with the fence in `wait_begin`: see each wait either unchanged or over.
    fence(SeqCst);
    let path = &path[..len];
    path.iter()
        .all(|waiter| recorder.is_in(waiter.thread, waiter.seq))
        .then(|| Cycle::of(path.iter().map(|waiter| waiter.thread)))
}

/// Extends a path of waiting threads until it meets its first. Depth first; returns its length.
fn search(
    recorder: &Recorder,
    path: &mut [Waiter; MAX_CYCLE],
    len: usize,
    relock_fails: bool,
) -> Option<usize> {
    let wanted = recorder.thread(path[len - 1].thread)?.wait();
    let wants = wanted.mode;
    // It waits for any thread that comes: see barrier_deadlock.rs.
    if wants & mode::BARRIER != 0 {
        return None;
    }
    for thread in recorder.live() {
        let id = thread.id();
        if !recorder.owns(id, wanted.addr, wants) {
            continue;
        }
        // The joined thread may have been cancelled, which ends a wait for a semaphore.
        if wants & mode::JOIN != 0
            && recorder.kind_of_class(thread.wait().class) == lock_kind::SEMAPHORE
        {
            continue;
        }
        if id == path[0].thread {
            if len == 1 && relock_fails {
                continue;
            }
            return Some(len);
        }
        if len == MAX_CYCLE || path[..len].iter().any(|waiter| waiter.thread == id) {
            continue;
        }
        let Some(seq) = recorder.wait_of(id) else { continue };
        path[len] = Waiter { thread: id, seq };
        if let Some(found) = search(recorder, path, len + 1, relock_fails) {
            return Some(found);
        }
    }
    None
}
