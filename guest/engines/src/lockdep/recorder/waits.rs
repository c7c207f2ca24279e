//! Which threads wait for good, and which threads they wait for. What is seen of a thread is believed only if it
//! has been in the same wait all the time.

use lockwright_ledger::rows::{excludes, held_flag, mode};

use super::Recorder;
use crate::lockdep::thread::{ThreadRow, Wait};

impl Recorder {
    /// The sequence number of the wait the thread is in, if it is in one that it cannot back out
    /// of.
    pub(crate) fn wait_of(&self, id: u32) -> Option<u32> {
        let thread = self.thread(id)?;
        let wait = thread.wait();
        (ThreadRow::is_final(&wait) && thread.is_live()).then_some(wait.seq)
    }

    /// Thread `id` is in the wait `seq` still, as it was when its words were looked at.
    pub(crate) fn is_in(&self, id: u32, seq: u32) -> bool {
        self.thread(id).is_some_and(|thread| thread.is_still_in(seq) && thread.is_live())
    }

    /// Thread `id` holds the lock at `addr` in a way that keeps `wants` waiting; for a join, it is
    /// the thread waited for.
    pub(crate) fn owns(&self, id: u32, addr: u64, wants: u16) -> bool {
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
