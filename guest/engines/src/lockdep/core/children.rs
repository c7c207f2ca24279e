//! What is known of the process's children.

use lockwright_ledger::rows::{Finding, finding_kind};

use super::Core;

impl Core {
    /// A thread has waited for the child `pid`, which a signal had killed: the child's own ledger does not say so.
    pub fn child_was_killed(&mut self, thread: u32, pid: u32, status: u32, now_ns: u64) {
        self.recorder.push_misuse(Finding {
            kind: finding_kind::CHILD_KILLED,
            thread,
            addr: pid.into(),
            detail: status.into(),
            time_ns: now_ns,
            ..Finding::default()
        });
    }
}
