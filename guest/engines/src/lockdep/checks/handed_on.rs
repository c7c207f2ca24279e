//! Signals of a condition variable, and posts of a semaphore, that wake a thread. What the signaller did before came before
//! what the woken thread does next, in this run: a request and its answer, a queue of tasks, the end of a thread that another
//! waits for by itself.
//!
//! Another run may go otherwise, as the thread might have found what it waits for without a wait. So this orders nothing, and the
//! reader only doubts where it alone keeps threads apart. Both threads begin a segment, so that what they do again afterwards
//! is recorded again. The first few signals are recorded, of each thread and object, and of all.

use lockwright_ledger::rows::{Finding, finding_kind};

use crate::capture::Capture;
use crate::index::{Index, hash};
use crate::lockdep::acquire::Ident;
use crate::lockdep::recorder::Recorder;
use crate::lockdep::thread::{Probe, ThreadState};

/// Signals, and threads woken by them, that are recorded.
const MOST: u32 = 512;

/// Signals of one object by one thread.
const MOST_OF_THREAD: u32 = 4;

/// The recorded ones.
pub(crate) struct HandedOn {
    /// By object: the row of its last signal. By object and thread: how many there were.
    index: Index,
    signals: u32,
    woken: u32,
    unheard: u32,
}

impl HandedOn {
    pub(crate) const fn new() -> Self {
        Self { index: Index::new(), signals: 0, woken: 0, unheard: 0 }
    }

    /// How many signals have been recorded.
    pub(crate) fn signals(&self) -> u32 {
        self.signals
    }

    /// No more are recorded.
    pub(crate) fn is_full(&self) -> bool {
        self.signals == MOST || self.woken == MOST || self.unheard == MOST
    }

    /// The thread is about to signal the object at `addr`, on which a thread waits with the mutex `ident`. `probe` is
    /// [`ThreadState::probe_hand_on`]'s. True: the thread's next segment begins with it.
    pub(crate) fn signal(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        (addr, ident): (u64, Ident),
        probe: Probe,
        now_ns: u64,
        capture: Capture<'_>,
    ) -> bool {
        let of_thread = hash(&[addr, u64::from(thread.id()), 1]);
        let so_far = self.index.get(&recorder.writer, of_thread).unwrap_or(0);
        if self.is_full() || so_far == MOST_OF_THREAD {
            thread.remember(probe.key, 0);
            return false;
        }
        let row = Finding {
            kind: finding_kind::HANDS_ON,
            thread: thread.id(),
            segment: thread.segment(),
            addr,
            class: ident.class(),
            inst: ident.inst(),
            stack: recorder.captured(capture),
            time_ns: now_ns,
            detail: u64::from(self.signals),
            ..Finding::default()
        };
        let Some(id) = recorder.writer.push(row) else { return false };
        self.index.insert(&mut recorder.writer, of_thread, so_far + 1);
        self.index.insert(&mut recorder.writer, hash(&[addr]), id);
        self.signals += 1;
        true
    }

    /// The thread is about to signal the condition variable at `addr`, on which nobody waits: it need not be one that waits
    /// for others, as a lock's are. `probe` is [`ThreadState::probe_unheard`]'s.
    pub(crate) fn signal_nobody(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        addr: u64,
        probe: Probe,
    ) {
        thread.remember(probe.key, 0);
        let of_thread = hash(&[addr, u64::from(thread.id()), 2]);
        if self.unheard == MOST || self.index.get(&recorder.writer, of_thread).is_some() {
            return;
        }
        let row = Finding {
            kind: finding_kind::SIGNALS_NOBODY,
            thread: thread.id(),
            segment: thread.segment(),
            addr,
            ..Finding::default()
        };
        if let Some(id) = recorder.writer.push(row) {
            self.index.insert(&mut recorder.writer, of_thread, id);
            self.unheard += 1;
        }
    }

    /// The thread was woken in a wait on the object at `addr`, which began when `since` signals had been recorded. The last
    /// signal of the object since, if another thread has made it and it is to be recorded what comes after it.
    pub(crate) fn waker(
        &self,
        recorder: &Recorder,
        thread: &ThreadState,
        addr: u64,
        since: u32,
    ) -> Option<Finding> {
        let id = self.index.get(&recorder.writer, hash(&[addr]))?;
        let signal = *recorder.writer.get::<Finding>(id)?;
        let is_since = signal.addr == addr && signal.detail >= u64::from(since);
        (is_since && signal.thread != thread.id() && self.woken < MOST).then_some(signal)
    }

    /// The thread, whose segment has just begun, comes after that signal.
    pub(crate) fn woken(
        &mut self,
        recorder: &mut Recorder,
        thread: &ThreadState,
        signal: &Finding,
        now_ns: u64,
    ) {
        let row = Finding {
            kind: finding_kind::HANDED_ON,
            thread: thread.id(),
            segment: thread.segment(),
            other_thread: signal.thread,
            other_stack: signal.stack,
            detail: u64::from(signal.segment),
            stack: 0,
            time_ns: now_ns,
            ..*signal
        };
        if recorder.writer.push(row).is_some() {
            self.woken += 1;
        }
    }
}
