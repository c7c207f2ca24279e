//! Calls that may sleep, made with a spinning lock held: the kernel's "sleeping function called from
//! invalid context" (CONFIG_DEBUG_ATOMIC_SLEEP). What may sleep and is a lock needs nothing of this:
//! its context tells.

use lockwright_ledger::rows::{Class, Held, finding_kind, held_flag, wait_type};

use crate::capture::Capture;
use crate::lockdep::acquire::Ident;
use crate::lockdep::recorder::Recorder;
use crate::lockdep::recorder::misuse::Misuse;
use crate::lockdep::thread::{Probe, ThreadState};

/// The mode that such a call has in keys: no lock's.
const SLEEPS: u16 = 1 << 15;

impl ThreadState {
    /// The thread has recorded this call at `site` before, with the same locks held in the same
    /// segment.
    pub fn has_told_sleep(&mut self, call: u32, site: u64) -> bool {
        self.sleep_probe(call, site).is_hit()
    }

    fn sleep_probe(&mut self, call: u32, site: u64) -> Probe {
        self.probe(Ident::new(call, 0), SLEEPS, site)
    }
}

/// The thread is about to make a call that may sleep, number `call` of the blocking calls, at
/// `site`: records it if it holds a lock whose waiters spin.
pub(crate) fn sleeps(
    recorder: &mut Recorder,
    thread: &mut ThreadState,
    call: u32,
    site: u64,
    now_ns: u64,
    capture: Capture<'_>,
) {
    // What has been released is not held, though its entry may still be there.
    thread.close_gaps();
    let spins = |held: &Held| {
        held.is_held()
            && held.flags & held_flag::IN_COND_WAIT == 0
            && recorder
                .writer
                .get::<Class>(held.class)
                .is_some_and(|class| class.waits() == wait_type::SPIN)
    };
    let Some(held) = thread.held().find(spins) else { return };
    let what = Misuse {
        other_thread: thread.id(),
        other_stack: recorder.stack_of(held.node),
        detail: call.into(),
        ..Misuse::new(finding_kind::SLEEPS, held.addr, Ident::new(held.inst, held.class))
    };
    let row = recorder.misuse(thread, &what, now_ns, capture);
    if row != 0 {
        let probe = thread.sleep_probe(call, site);
        thread.remember(probe.key, row);
    }
}
