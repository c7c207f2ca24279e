//! Robust mutexes: one whose last owner died must be made consistent before it is released.

use lockwright_ledger::rows::Held;

use super::entry::{INCONSISTENT, ROBUST, is_last_release, mark, unmark};
use super::state::ThreadState;
use crate::held::update;

impl ThreadState {
    /// The innermost held lock is a robust mutex; its last owner died, if `inconsistent`.
    pub fn mark_robust(&mut self, inconsistent: bool) {
        let flags = ROBUST | if inconsistent { INCONSISTENT } else { 0 };
        // SAFETY: the top is an entry.
        unsafe { update(self.top(), |held| mark(held, flags)) };
    }

    /// The last owner of the held lock `addr`, which is about to be released, died; nobody has made
    /// it consistent, and nobody will be able to.
    pub fn is_inconsistent(&self, addr: u64) -> bool {
        let is_it = |held: Held| held.flags & INCONSISTENT != 0 && is_last_release(&held);
        self.held_of(addr).is_some_and(is_it)
    }

    /// The held lock has been made consistent. Returns whether it needed to be.
    pub fn mark_consistent(&mut self, addr: u64) -> bool {
        let Some(i) = self.find(addr) else { return false };
        let was = self.held_at(i).flags & INCONSISTENT != 0;
        // SAFETY: `find` gave a valid position.
        unsafe { update(self.entry(i), |held| unmark(held, INCONSISTENT)) };
        was
    }
}
