//! The owner walk: whether a thread that is about to block closes a cycle of waiting threads.
//!
//! Each waiting thread publishes what it waits for before it blocks; what it holds is in its held
//! array. A cycle found once is only believed if every thread in it has been in the same wait all
//! the time (`wait_seq` unchanged and odd): a thread that waits neither takes nor releases, so its
//! held array stood still meanwhile.

use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::fence;

use lockwright_ledger::rows::{Class, excludes, held_flag, lock_kind, mode};

use super::core::Core;
use super::thread::ThreadState;
use super::thread::{ThreadRow, Wait};

/// Longest cycle that is looked for. Longer ones are still found in the recorded orders.
const MAX_CYCLE: usize = 32;

/// One thread on the path: its id and the wait it was seen in.
#[derive(Clone, Copy, Default)]
struct Waiter {
    thread: u32,
    seq: u32,
}

impl Core {
    /// To be called by a thread that has published its wait ([`ThreadState::wait_begin`]) and is
    /// about to block. If it closes a cycle, that is written to the ledger.
    ///
    /// There is no point in it for a thread that holds nothing: it is nobody's obstacle.
    ///
    /// `relock_fails`: the lock itself notices if its owner locks it again, so a cycle of one is
    /// none of ours.
    pub fn find_deadlock(&mut self, thread: &ThreadState, relock_fails: bool, now_ns: u64) -> bool {
        let mut path = [Waiter::default(); MAX_CYCLE];
        let Some(seq) = self.wait_of(thread.id()) else { return false };
        path[0] = Waiter { thread: thread.id(), seq };
        let Some(len) = self.search(&mut path, 1, relock_fails) else { return false };
        // Pairs with the fence in `wait_begin`: see each wait either unchanged or over.
        fence(SeqCst);
        if !path[..len].iter().all(|waiter| self.is_in(waiter.thread, waiter.seq)) {
            return false;
        }
        let mut cycle = [0; MAX_CYCLE];
        for (id, waiter) in cycle.iter_mut().zip(&path[..len]) {
            *id = waiter.thread;
        }
        self.report_deadlock(&cycle[..len], now_ns)
    }

    /// Extends a path of waiting threads until it meets its first. Depth first; returns its length.
    fn search(
        &self,
        path: &mut [Waiter; MAX_CYCLE],
        len: usize,
        relock_fails: bool,
    ) -> Option<usize> {
        let wanted = self.thread(path[len - 1].thread)?.wait();
        let wants = wanted.mode;
        // It waits for any thread that comes: see barrier.rs.
        if wants & mode::BARRIER != 0 {
            return None;
        }
        for thread in self.live() {
            let id = thread.id();
            if !self.owns(id, wanted.addr, wants) {
                continue;
            }
            // The joined thread may have been cancelled, which ends a wait for a semaphore.
            if wants & mode::JOIN != 0
                && self.lock_kind(thread.wait().class) == lock_kind::SEMAPHORE
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
            let Some(seq) = self.wait_of(id) else { continue };
            path[len] = Waiter { thread: id, seq };
            if let Some(found) = self.search(path, len + 1, relock_fails) {
                return Some(found);
            }
        }
        None
    }

    fn lock_kind(&self, class: u32) -> u8 {
        self.ledger().get::<Class>(class).map_or(0, |class| class.kind)
    }

    /// The sequence number of the wait the thread is in, if it is in one that it cannot back out
    /// of.
    pub(super) fn wait_of(&self, id: u32) -> Option<u32> {
        let thread = self.thread(id)?;
        let wait = thread.wait();
        (ThreadRow::is_final(&wait) && thread.is_live()).then_some(wait.seq)
    }

    /// Thread `id` is in the wait `seq` still, as it was when its words were looked at.
    pub(super) fn is_in(&self, id: u32, seq: u32) -> bool {
        self.thread(id).is_some_and(|thread| thread.is_still_in(seq) && thread.is_live())
    }

    /// Thread `id` holds the lock at `addr` in a way that keeps `wants` waiting; for a join, it is
    /// the thread waited for.
    pub(super) fn owns(&self, id: u32, addr: u64, wants: u16) -> bool {
        if wants & mode::JOIN != 0 {
            return u64::from(id) == addr;
        }
        let Some(thread) = self.thread(id).filter(ThreadRow::is_live) else { return false };
        // A writer that waits holds up the readers that come after it, where writers are preferred.
        let is_ahead = |wait: Wait| {
            wait.addr == addr
                && wait.is_under_way()
                && wait.mode & (mode::READ | mode::COND_WAIT | mode::JOIN) == 0
        };
        if wants & (mode::READ | mode::READ_RECURSIVE) == mode::READ && is_ahead(thread.wait()) {
            return true;
        }
        // It may be changing; then what we see is discarded, because the thread is not in the wait
        // we require of it.
        thread.held().any(|(_, held)| {
            held.addr == addr
                && held.flags & held_flag::IN_COND_WAIT == 0
                && excludes(wants, held.mode)
        })
    }
}
