//! Acquisitions and waits that a thread has not made before in its segment, and deadlocks.

use super::Core;
use crate::capture::Capture;
use crate::lockdep::acquire::Acquire;
use crate::lockdep::checks::{barrier_deadlock, completion, deadlock, lock_cycle, usage};
use crate::lockdep::recorder::held_contexts::Entered;
use crate::lockdep::thread::{DEBUG_LOCKDEP, Probe, ThreadState};

impl Core {
    /// Validates an acquisition that [`ThreadState::probe`] did not know. To be called before the
    /// thread may block, so that the order is recorded even if it never gets the lock.
    pub fn enter(
        &mut self,
        thread: &mut ThreadState,
        lock: &Acquire,
        probe: Probe,
        capture: Capture<'_>,
    ) -> Probe {
        let Self { recorder, holds, monitors, usages, wait_contexts, .. } = self;
        thread.row.slow += 1;
        if DEBUG_LOCKDEP {
            recorder.make_room_to_count(thread, lock.ident.class());
        }
        let probe = match holds.pass_held(recorder, thread) {
            true => thread.probe(lock.ident, lock.mode, lock.site),
            false => probe,
        };
        let is_idle = thread.is_idle();
        let Entered { node, has_new, is_folded } = recorder.enter(thread, lock, &mut *capture);
        wait_contexts.check(recorder, thread, lock, capture);
        if node == 0 {
            return Probe { node: 0, ..probe };
        }
        monitors.note(&mut recorder.writer, thread, lock, Probe { node, ..probe });
        let passes = holds.awaits(recorder, thread, lock);
        if !is_idle || recorder.is_attested_alone(lock) {
            recorder.attest(node, thread.segment());
        }
        let signals_matter = thread.in_signal() != 0 || thread.open_signals() != 0;
        let is_settled = !signals_matter || usages.note(recorder, thread, lock, node);
        let is_seen = !is_idle || passes || !holds.awaits_class(recorder, thread, lock);
        // The same chain is another context once others know the locks in it.
        if !has_new && is_settled && is_seen {
            thread.remember(probe.key, node);
            let is_all = !wait_contexts.has_any()
                && (!signals_matter || usages.has_all(recorder, thread, lock));
            if is_folded && is_all {
                thread.remember_folded(lock, node);
            }
        }
        Probe { key: probe.key, node, hit: true, passes }
    }

    /// A context for a wait that is no acquisition (a join, a condition wait, a wait for a post):
    /// where it waits and what is held meanwhile. Remembered as `probe`.
    pub fn wait_context(
        &mut self,
        thread: &mut ThreadState,
        wait: &Acquire,
        probe: Probe,
        capture: Capture<'_>,
    ) -> u32 {
        self.recorder.wait_context(thread, wait, probe, capture)
    }

    /// The context of what the thread holds now, 0 if that is nothing.
    pub fn held_context(&mut self, thread: &mut ThreadState) -> u32 {
        self.recorder.held_context(thread)
    }

    /// Makes room in the held array of a thread, which is moved to a larger one if it is full.
    /// Returns false where there is no room: the lock then goes unwatched.
    pub fn grow_held(&mut self, thread: &mut ThreadState) -> bool {
        self.recorder.grow_held(thread)
    }

    /// The thread is about to release, for good or for a condition wait, a lock of which
    /// [`ThreadState::orders`] says that others may come after that.
    pub fn hands_over(&mut self, thread: &mut ThreadState, addr: u64) {
        self.holds.hands_over(&mut self.recorder, thread, addr);
    }

    /// The thread ends the waits for `completion`. The waiters depend on each lock that the thread
    /// holds now: those are recorded as taken inside the completion.
    pub fn completes(
        &mut self,
        thread: &mut ThreadState,
        completion: &Acquire,
        capture: Capture<'_>,
    ) {
        completion::completes(&mut self.recorder, thread, completion, capture);
    }

    /// To be called by a thread that has published its wait ([`ThreadState::wait_begin`]) and is
    /// about to block. If it closes a cycle, that is written to the ledger.
    ///
    /// There is no point in it for a thread that holds nothing: it is nobody's obstacle.
    ///
    /// `relock_fails`: the lock itself notices if its owner locks it again, so a cycle of one is
    /// none of ours.
    pub fn find_deadlock(&mut self, thread: &ThreadState, relock_fails: bool, now_ns: u64) -> bool {
        lock_cycle::find(&self.recorder, thread, relock_fails)
            .is_some_and(|cycle| deadlock::record(&mut self.recorder, &cycle, now_ns))
    }

    /// To be called by a thread that has published its wait, or has ended, while others wait at
    /// barriers. If these wait for good, that is written to the ledger.
    pub fn find_barrier_deadlock(&mut self, now_ns: u64) -> bool {
        barrier_deadlock::find(&self.recorder)
            .is_some_and(|cycle| deadlock::record(&mut self.recorder, &cycle, now_ns))
    }

    /// Signals `open` may arrive from here on while the thread holds what it holds (the kernel's
    /// mark_held_locks).
    pub fn note_held_usage(&mut self, thread: &mut ThreadState, open: u64) {
        self.usages.note_held(&mut self.recorder, thread, open);
    }

    /// The program begins to handle `signals`: every thread validates its chains again.
    pub fn signals_changed(&mut self, signals: u64) {
        usage::signals_changed(&self.recorder, signals);
    }
}
