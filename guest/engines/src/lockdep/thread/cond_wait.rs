//! A mutex that a condition wait gives up: its entry stays where it is.

use lockwright_ledger::rows::held_flag;

use super::entry::change_flags;
use super::state::ThreadState;
use crate::held::set_addr;

impl ThreadState {
    /// A condition wait gives the held lock `addr` up until [`ThreadState::cond_reacquired`]; it
    /// stays in its place.
    pub fn cond_release(&mut self, addr: u64) {
        if let Some(i) = self.find(addr) {
            // SAFETY: `find` gave a valid position.
            unsafe { change_flags(self.entry(i), held_flag::IN_COND_WAIT, 0) };
        }
    }

    /// As [`ThreadState::cond_release`], for the reserved entry: the mutex will be taken there.
    pub fn cond_reserved(&mut self, addr: u64) {
        // SAFETY: the top is the reserved entry.
        unsafe {
            change_flags(self.top(), held_flag::IN_COND_WAIT, 0);
            set_addr(self.top(), addr);
        }
    }

    /// The wait is over and the mutex is held again.
    pub fn cond_reacquired(&mut self, addr: u64) {
        if let Some(i) = self.find(addr) {
            // SAFETY: `find` gave a valid position.
            unsafe { change_flags(self.entry(i), 0, held_flag::IN_COND_WAIT) };
            self.count(self.entry(i));
        }
    }
}
