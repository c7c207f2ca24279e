//! `pthread_once`: while its routine runs, the control is held as a lock is, and others wait for it.
//!
//! It is held once. A later caller does not wait, but could have called while the routine ran:
//! the first such call of each thread is an acquisition, with what is held there. And all that the
//! thread does after it comes after the routine in every run, so it begins a new segment.

use lockwright_ledger::rows::{Segment, mode, segment_kind};

use super::core::Core;
use super::thread::ThreadState;

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

impl Core {
    /// The thread has run the routine of a control. Returns the segment that comes before all of
    /// what others do after their call.
    pub fn routine_ran(&mut self, thread: &mut ThreadState) -> u32 {
        self.hand_on(thread);
        let last = thread.segment();
        // For good: any number of threads may come after it.
        self.writer.update::<Segment>(last, |row| row.pins += 1);
        self.next_segment(thread, segment_kind::INITIALISED, 0, 0);
        last
    }

    /// The thread has called `pthread_once` after the routine had run, which ended in segment `last`.
    pub fn routine_is_past(&mut self, thread: &mut ThreadState, last: u32) {
        self.next_segment(thread, segment_kind::INITIALISED, last, 0);
        self.comes_after(thread, last);
    }
}
