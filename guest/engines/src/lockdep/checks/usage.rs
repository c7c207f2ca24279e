//! Signals are the interrupt context: which classes are used in a signal's handler, and which with
//! the signal open (handled by the program, not blocked in the thread).
//!
//! It costs the fast path nothing: the open signals and the handler that runs go into the key that
//! a thread's chains begin with, so that each chain is validated once per such context, and usage
//! is recorded then.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::layout::bounded;
use lockwright_ledger::rows::{Class, Usage, class_origin, mode, usage};

use crate::index::{Index, hash};
use crate::lockdep::acquire::Acquire;
use crate::lockdep::bounds::{MOST_LOOKS, MOST_USES, reached};
use crate::lockdep::recorder::Recorder;
use crate::lockdep::thread::ThreadState;

/// The most recorded locks of a class for one thread and one use. Several, since which lock a
/// handler takes and which it may interrupt the holder of are what decides.
const INSTANCES: u32 = 8;

/// Acquisitions in one context that are looked at with a signal open, where others of the class may
/// follow: little enough to cost nothing where programs handle signals and take every lock with
/// them open.
const LOOKS: u32 = 8;
/// The same in a handler.
const LOOKS_IN_HANDLER: u32 = 64;

/// In which ways locks are used in or with signals.
pub(crate) struct Usages {
    recorded: Index,
    /// By context and thread: acquisitions looked at for that.
    looks: Index,
}

impl Usages {
    pub(crate) const fn new() -> Self {
        Self { recorded: Index::new(), looks: Index::new() }
    }
}

impl Usages {
    /// Records the uses that acquiring `lock` in context `node` makes of its class. Says whether
    /// the chain may be remembered; else other locks of the class are to be seen in it, too.
    pub(crate) fn note(
        &mut self,
        recorder: &mut Recorder,
        thread: &ThreadState,
        lock: &Acquire,
        node: u32,
    ) -> bool {
        let read = lock.mode & mode::READ != 0;
        // A trylock in a handler cannot wait for the code it interrupted. (But it may be
        // interrupted.)
        if thread.row.in_signal != 0 && lock.mode & mode::TRY == 0 {
            let bits = if read { usage::USED_IN_READ } else { usage::USED_IN };
            self.push_usage(recorder, thread, lock, node, thread.row.in_signal, bits);
        }
        self.push_open(recorder, thread, lock, node, thread.open_signals());
        self.has_seen_enough(recorder, thread, lock, node)
    }

    /// Once a chain of one lock is remembered, any lock of its class is a hit: so it is not
    /// remembered before some locks have been looked at.
    fn has_seen_enough(
        &mut self,
        recorder: &mut Recorder,
        thread: &ThreadState,
        lock: &Acquire,
        node: u32,
    ) -> bool {
        let class = recorder.writer.get::<Class>(lock.ident.class());
        // A static lock is the only one of its class.
        if !thread.is_idle() || class.is_none_or(|class| class.origin == class_origin::STATIC) {
            return true;
        }
        let key = hash(&[u64::from(node) << 32 | u64::from(thread.id())]);
        // Threads enough have been looked at.
        if self.looks.len() >= MOST_LOOKS {
            return true;
        }
        let looks = self.looks.get(&recorder.writer, key).unwrap_or(0) + 1;
        self.looks.insert(&mut recorder.writer, key, looks);
        looks >= if thread.row.in_signal != 0 { LOOKS_IN_HANDLER } else { LOOKS }
    }

    /// So many locks of the class are recorded in all uses that the thread makes of it that no other lock of it will be.
    pub(crate) fn has_all(
        &self,
        recorder: &Recorder,
        thread: &ThreadState,
        lock: &Acquire,
    ) -> bool {
        let bits = if lock.mode & mode::READ == 0 { usage::OPEN } else { usage::OPEN_READ };
        let mut open = thread.open_signals();
        while open != 0 {
            let signal = open.trailing_zeros() + 1;
            open &= open - 1;
            let key = uses_by(thread, lock, signal, bits);
            if self.recorded.get(&recorder.writer, key) != Some(INSTANCES) {
                return false;
            }
        }
        thread.row.in_signal == 0
    }

    /// Signals `open` may arrive from here on while the thread holds what it holds (the kernel's
    /// mark_held_locks).
    pub(crate) fn note_held(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        open: u64,
    ) {
        recorder.place_held(thread);
        for i in 1..=thread.depth() {
            let held = thread.held_at(i);
            if !held.is_held() {
                continue;
            }
            self.push_open(recorder, thread, &Acquire::of(&held), held.node, open);
        }
    }

    fn push_open(
        &mut self,
        recorder: &mut Recorder,
        thread: &ThreadState,
        lock: &Acquire,
        node: u32,
        mut open: u64,
    ) {
        let read = lock.mode & mode::READ != 0;
        let bits = if read { usage::OPEN_READ } else { usage::OPEN };
        while open != 0 {
            let signal = open.trailing_zeros() + 1;
            open &= open - 1;
            self.push_usage(recorder, thread, lock, node, signal, bits);
        }
    }

    fn push_usage(
        &mut self,
        recorder: &mut Recorder,
        thread: &ThreadState,
        lock: &Acquire,
        node: u32,
        signal: u32,
        bits: u32,
    ) {
        let class = lock.ident.class();
        let inst = u64::from(lock.ident.inst());
        let how = how(signal, bits);
        let all = uses_by(thread, lock, signal, bits);
        let key = hash(&[all, inst]);
        let so_far = self.recorded.get(&recorder.writer, all).unwrap_or(0);
        if so_far == INSTANCES || self.recorded.get(&recorder.writer, key).is_some() {
            return;
        }
        let of_class = hash(&[u64::from(class), how, 1]);
        let uses = self.recorded.get(&recorder.writer, of_class).unwrap_or(0);
        if uses >= MOST_USES {
            return reached(&mut recorder.writer, bounded::USES);
        }
        let row = Usage {
            class,
            signal,
            bits,
            node,
            segment: thread.segment(),
            inst: lock.ident.inst(),
            ..Usage::default()
        };
        // The report shows its address, also if it never was nested.
        recorder.lock_row(lock, thread.segment());
        if let Some(id) = recorder.writer.push(row) {
            self.recorded.insert(&mut recorder.writer, key, id);
            self.recorded.insert(&mut recorder.writer, all, so_far + 1);
            self.recorded.insert(&mut recorder.writer, of_class, uses + 1);
        }
    }
}

fn how(signal: u32, bits: u32) -> u64 {
    u64::from(signal) << 32 | u64::from(bits)
}

/// The key of how many locks of the class are recorded for the thread in that use.
fn uses_by(thread: &ThreadState, lock: &Acquire, signal: u32, bits: u32) -> u64 {
    let class = lock.ident.class();
    hash(&[u64::from(class) << 32 | u64::from(thread.id()), how(signal, bits)])
}

/// The program begins to handle `signals`: every thread validates its chains again.
pub(crate) fn signals_changed(recorder: &Recorder, signals: u64) {
    for thread in recorder.live() {
        // Relaxed: its thread reads the word, and at worst overwrites it, which delays this.
        thread.open_signals().store(thread.open_with(signals), Relaxed);
        thread.set_dirty();
    }
}
