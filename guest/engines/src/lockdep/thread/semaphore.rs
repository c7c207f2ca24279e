//! A semaphore that is taken for a lock: its entry, and trylocks of it that failed.

use lockwright_ledger::rows::held_flag;

use super::entry::change_flags;
use super::state::ThreadState;

impl ThreadState {
    /// The reserved entry is a semaphore's.
    #[inline(always)]
    pub fn mark_semaphore(&mut self) {
        let handler = if self.in_signal() == 0 { 0 } else { held_flag::IN_HANDLER };
        // SAFETY: the top is the reserved entry.
        unsafe { change_flags(self.top(), held_flag::SEMAPHORE | handler, 0) };
    }

    /// Whether a post of the semaphore at `addr` is the release of a lock: the thread has taken it,
    /// and not only what a handler interrupts has.
    pub fn releases_semaphore(&self, addr: u64) -> bool {
        self.held_of(addr).is_some_and(|held| {
            let taken_in_handler = held.flags & held_flag::IN_HANDLER != 0;
            self.in_signal() == 0 || taken_in_handler
        })
    }

    /// A trylock of a semaphore has failed, and nothing has followed that yet.
    #[inline(always)]
    pub fn has_tried(&self) -> bool {
        self.row.tried != 0
    }

    /// Remembers a failed trylock of a semaphore, and whether the thread holds that itself. Returns
    /// the one before, if no wait for the same semaphore followed it.
    pub fn try_failed(&mut self, addr: u64, is_own: bool, site: u64) -> Option<Tried> {
        let before = self.tried();
        // Semaphores are aligned.
        self.row.tried = addr | u64::from(is_own);
        self.row.tried_site = site;
        before
    }

    /// The thread is about to wait: its last failed trylock, if nothing has followed that yet.
    pub fn tried_before_wait(&mut self) -> Option<Tried> {
        let tried = self.tried();
        self.row.tried = 0;
        tried
    }

    fn tried(&self) -> Option<Tried> {
        let (addr, site) = (self.row.tried & !1, self.row.tried_site);
        (addr != 0).then_some(Tried { addr, is_own: self.row.tried & 1 != 0, site })
    }
}

/// A trylock of a semaphore that failed.
#[derive(Clone, Copy, Debug)]
pub struct Tried {
    /// Address of the semaphore.
    pub addr: u64,
    /// The thread holds it itself.
    pub is_own: bool,
    /// Return address of the call.
    pub site: u64,
}
