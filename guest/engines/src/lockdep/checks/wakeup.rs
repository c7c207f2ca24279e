//! The wakers of threads that wait for something other than a lock: a condition variable, or a
//! semaphore that hands something over.
//!
//! A thread that waits and keeps a lock never wakes if the signaller must take that lock first. The
//! locks on a thread's way to a signal are those that it took since its last signal: its *round*.
//! So once a wait has kept a lock, the first few signals of the same object are recorded. Each
//! begins a new segment of its thread. In a new segment each acquisition is attested again, so the
//! reader sees which were made in the round. The fast path knows nothing of it, and what it costs
//! ends after [`SIGNAL_ROUNDS`].
//!
//! A signal by a thread that does not hold the waiters' mutex is recorded, too, once for each
//! place: it may come between a waiter's check of its condition and its wait, and be lost. So is a
//! signal that wakes one of several kinds of waiters, and one that no waiter could use.
//!
//! A thread that signals with a lock held, once, and ends soon after, may have announced its end. A
//! joiner that holds the lock then knows, whether or not it had to wait for the signal. So signals
//! with locks held are recorded, by thread and context.

use lockwright_ledger::layout::bounded;
use lockwright_ledger::rows::{Finding, SIGNAL_ROUNDS, finding_kind, mode, signalled};

use crate::capture::Capture;
use crate::index::{Index, hash};
use crate::lockdep::acquire::Ident;
use crate::lockdep::bounds::{MOST_OF_PLACE, reached};
use crate::lockdep::recorder::Recorder;
use crate::lockdep::recorder::misuse::Misuse;
use crate::lockdep::thread::{Probe, ThreadState};

/// Signals, or waits, of one call whose stacks are looked at: it may be made for many callers.
const MOST_OF_CALL: u32 = 32;

/// Signals of one thread that begin a segment.
const MOST_SEGMENTS: u32 = 64;

/// Contexts in which one thread signals with locks held.
const MOST_HOLDING: u32 = 16;

/// The recorded signals.
pub(crate) struct Wakeups {
    /// How many: of each thread, of each thread and object, and of each call.
    told: Index,
    /// Rows of what was signalled with locks held, and how many of each thread.
    holding: Index,
}

impl Wakeups {
    pub(crate) const fn new() -> Self {
        Self { told: Index::new(), holding: Index::new() }
    }
}

impl ThreadState {
    /// The thread signals a condition variable on which somebody has waited.
    pub fn signals(&mut self) {
        self.row.signals += 1;
    }

    /// Another after each acquisition of a lock, and each time that the thread tells others of
    /// something by no release of one.
    pub fn progress(&self) -> u64 {
        hash(&[self.row.acquisitions, self.told()])
    }

    /// The key that remembers the signal of the object at `addr`, if it need not be recorded again.
    pub fn probe_signal(&mut self, addr: u64) -> Probe {
        self.probe(Self::ident_of_object(addr), mode::COND_SIGNAL | mode::TRY, 0)
    }

    /// The key that remembers a signal of the object at `addr` with the present locks held, if it
    /// need not be recorded again.
    pub fn probe_signal_holding(&mut self, addr: u64) -> Probe {
        self.probe(Self::ident_of_object(addr), mode::COND_SIGNAL | mode::READ, 0)
    }

    /// The key that remembers a signal of the object at `addr` on which a thread waits, if no more are to be recorded in
    /// the segment.
    pub fn probe_hand_on(&mut self, addr: u64) -> Probe {
        self.probe(Self::ident_of_object(addr), mode::COND_SIGNAL | mode::TIMED, 0)
    }

    /// The key that remembers a signal of the condition variable at `addr` on which nobody waits.
    pub fn probe_unheard(&mut self, addr: u64) -> Probe {
        self.probe(Self::ident_of_object(addr), mode::COND_SIGNAL | mode::JOIN, 0)
    }

    /// Stands for an object that is no lock in keys, and nowhere else.
    pub fn ident_of_object(addr: u64) -> Ident {
        // Objects are aligned; either half of an identity is a key by itself.
        let word = (addr >> 3) as u32;
        Ident::new(word, word)
    }

    /// Whether the thread holds the lock of this instance.
    pub fn holds(&self, inst: u32) -> bool {
        self.held().any(|held| held.is_held() && held.inst == inst)
    }
}

impl Wakeups {
    /// The thread is about to signal the object at `addr`, for which threads have waited with locks
    /// kept. `probe` is [`ThreadState::probe_signal`]'s. To be called once
    /// [`ThreadState::signals`] or [`ThreadState::shares`] has counted it. True: the thread's next
    /// segment begins with it.
    pub(crate) fn signalled(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        addr: u64,
        probe: Probe,
        now_ns: u64,
        capture: Capture<'_>,
    ) -> bool {
        let key = |addr| hash(&[addr, u64::from(thread.id()), u64::from(finding_kind::SIGNALLED)]);
        let (of_this, of_all) = (key(addr), key(0));
        let rounds = self.told.get(&recorder.writer, of_this).unwrap_or(0);
        if rounds >= SIGNAL_ROUNDS {
            thread.remember(probe.key, 0);
            return false;
        }
        let detail = match thread.told().wrapping_sub(thread.row.told_before) {
            _ if thread.in_signal() != 0 => signalled::IN_HANDLER,
            // All that it has told since its segment began is this.
            1 => signalled::ROUND,
            2 => signalled::AFTER_ONE,
            _ => signalled::UNSURE,
        };
        let node = recorder.held_context(thread);
        let row = Finding {
            kind: finding_kind::SIGNALLED,
            detail,
            ..signal(recorder, thread, node, addr, now_ns, capture)
        };
        if !self.has_room_at_place(recorder, &row) {
            thread.remember(probe.key, 0);
            return false;
        }
        if recorder.writer.push(row).is_none() {
            return false;
        }
        self.told.insert(&mut recorder.writer, of_this, rounds + 1);
        let segments = self.told.get(&recorder.writer, of_all).unwrap_or(0);
        let begins = segments < MOST_SEGMENTS && thread.in_signal() == 0;
        if begins {
            self.told.insert(&mut recorder.writer, of_all, segments + 1);
        }
        begins
    }

    /// Counts one more signal of this kind at its place. Whether it is to be recorded: of a place that
    /// thread after thread comes to, enough are known.
    fn has_room_at_place(&mut self, recorder: &mut Recorder, row: &Finding) -> bool {
        let key = hash(&[u64::from(row.kind), u64::from(row.stack), 1]);
        let so_far = self.told.get(&recorder.writer, key).unwrap_or(0);
        if so_far >= MOST_OF_PLACE {
            reached(&mut recorder.writer, bounded::SIGNALLERS);
            return false;
        }
        self.told.insert(&mut recorder.writer, key, so_far + 1);
        true
    }

    /// The thread is about to signal the condition variable at `addr` with locks held. `probe` is
    /// [`ThreadState::probe_signal_holding`]'s.
    pub(crate) fn signalled_holding(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        addr: u64,
        probe: Probe,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        let node = recorder.held_context(thread);
        let of_thread = u64::from(thread.id());
        let of_this = hash(&[addr, of_thread, u64::from(node)]);
        if let Some(row) = self.holding.get(&recorder.writer, of_this) {
            recorder.writer.update::<Finding>(row, |row| row.repeats = 1);
            return thread.remember(probe.key, 0);
        }
        let of_all = hash(&[of_thread]);
        let contexts = self.holding.get(&recorder.writer, of_all).unwrap_or(0);
        if node == 0 || contexts >= MOST_HOLDING {
            return thread.remember(probe.key, 0);
        }
        let row = Finding {
            kind: finding_kind::SIGNALLED_HOLDING,
            detail: thread.row.acquisitions,
            ..signal(recorder, thread, node, addr, now_ns, capture)
        };
        if !self.has_room_at_place(recorder, &row) {
            return thread.remember(probe.key, 0);
        }
        if let Some(row) = recorder.writer.push(row) {
            self.holding.insert(&mut recorder.writer, of_this, row);
            self.holding.insert(&mut recorder.writer, of_all, contexts + 1);
        }
    }

    /// Counts what a thread does with a condition variable by a call that returns to `site`, which may
    /// be made for many callers. Whether it is to be recorded: each of the first few is.
    pub(crate) fn has_room_at_call(
        &mut self,
        recorder: &mut Recorder,
        what: &Misuse,
        site: u64,
    ) -> bool {
        let class = u64::from(what.ident.class());
        let site = recorder.modules.lasting(site);
        let key = hash(&[site, class, u64::from(what.mode), u64::from(what.kind)]);
        let told = self.told.get(&recorder.writer, key).unwrap_or(0);
        if told < MOST_OF_CALL {
            self.told.insert(&mut recorder.writer, key, told + 1);
        }
        told < MOST_OF_CALL
    }
}

/// A row for a signal of the thread, which holds the locks of `node`; its kind and detail are
/// left to the caller.
fn signal(
    recorder: &mut Recorder,
    thread: &ThreadState,
    node: u32,
    addr: u64,
    time_ns: u64,
    capture: Capture<'_>,
) -> Finding {
    Finding {
        thread: thread.id(),
        segment: thread.segment(),
        addr,
        stack: recorder.captured(capture),
        node,
        time_ns,
        ..Finding::default()
    }
}
