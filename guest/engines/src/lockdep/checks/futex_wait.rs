//! Waits at futexes without a time limit, made with locks held. The threads that wake the waiter are recorded like those that
//! signal a condition variable ([`super::wakeup`]). What the futex is, and so what follows, the reader finds by names of functions.

use lockwright_ledger::rows::{Finding, Held, finding_kind, mode};

use crate::lockdep::acquire::Ident;
use crate::lockdep::recorder::Recorder;
use crate::lockdep::thread::entry::NOT_KEPT;
use crate::lockdep::thread::{FutexWait, Probe, ThreadState};

impl ThreadState {
    /// The thread has recorded this wait before, with the same locks held in the same segment.
    pub fn has_told_futex_wait(&mut self, wait: &FutexWait) -> bool {
        self.futex_probe(wait).is_hit()
    }

    /// No lock has this mode and such a site.
    fn futex_probe(&mut self, wait: &FutexWait) -> Probe {
        self.probe(Ident::new(wait.call, 0), mode::FUTEX_WAIT, wait.stack.into())
    }
}

/// The thread is about to wait at a futex: records it if it keeps a lock meanwhile. False if it does not, or there is no room.
pub(crate) fn waits(recorder: &mut Recorder, thread: &mut ThreadState, wait: &FutexWait) -> bool {
    // What has been released is not held, though its entry may still be there.
    thread.close_gaps();
    let is_kept = |held: &Held| held.is_held() && held.flags & NOT_KEPT == 0;
    let Some(held) = thread.held().rfind(is_kept) else { return false };
    let node = recorder.held_context(thread);
    let row = recorder.push_misuse(Finding {
        kind: finding_kind::FUTEX_HELD,
        mode: mode::FUTEX_WAIT,
        thread: thread.id(),
        segment: thread.segment(),
        addr: wait.addr,
        class: held.class,
        inst: held.inst,
        stack: wait.stack,
        node,
        time_ns: wait.since_ns,
        detail: wait.call.into(),
        ..Finding::default()
    });
    if row != 0 {
        let probe = thread.futex_probe(wait);
        thread.remember(probe.key, row);
    }
    row != 0
}
