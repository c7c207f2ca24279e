//! `pthread_once`: while its routine runs, the control is held as a lock is, and others wait for it.
//!
//! It is held once. A later caller does not wait, but could have called while the routine ran:
//! the first such call of each thread is an acquisition, with what is held there. And all that the
//! thread does after it comes after the routine in every run, so it begins a new segment.

use lockwright_ledger::rows::mode;

use crate::lockdep::thread::ThreadState;

impl ThreadState {
    /// Address of the control whose routine the thread runs, the innermost.
    pub fn innermost_routine(&self) -> Option<u64> {
        let held = self.held().rev();
        held.filter(|held| held.is_held()).find(|held| held.mode & mode::ONCE != 0).map(|h| h.addr)
    }

    /// Grows with all that others may have to wait for: acquisitions, and what orders threads.
    pub fn steps(&self) -> u64 {
        self.row.acquisitions + u64::from(self.segment())
    }
}
