//! Signals are the interrupt context: which classes are used in a signal's handler, and which with
//! the signal open (handled by the program, not blocked in the thread).
//!
//! It costs the fast path nothing: the open signals and the handler that runs go into the key that
//! a thread's chains begin with, so that each chain is validated once per such context, and usage
//! is recorded then.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::layout::bounded;
use lockwright_ledger::rows::{Class, Usage, class_origin, mode, usage};

use super::acquire::{Acquire, Ident};
use super::bounds::{MOST_LOOKS, MOST_USES, reached};
use super::core::Core;
use super::key::hash;
use super::thread::ThreadState;
use crate::index::Index;

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
pub(super) struct Usages {
    recorded: Index,
    /// By context and thread: acquisitions looked at for that.
    looks: Index,
}

impl Usages {
    pub(super) const fn new() -> Self {
        Self { recorded: Index::new(), looks: Index::new() }
    }
}

impl Core {
    /// Records the uses that acquiring `lock` in context `node` makes of its class. Says whether
    /// the chain may be remembered; else other locks of the class are to be seen in it, too.
    pub(super) fn note_usage(&mut self, thread: &ThreadState, lock: &Acquire, node: u32) -> bool {
        let read = lock.mode & mode::READ != 0;
        // A trylock in a handler cannot wait for the code it interrupted. (But it may be
        // interrupted.)
        if thread.row.in_signal != 0 && lock.mode & mode::TRY == 0 {
            let bits = if read { usage::USED_IN_READ } else { usage::USED_IN };
            self.push_usage(thread, lock, node, thread.row.in_signal, bits);
        }
        self.push_open(thread, lock, node, thread.open_signals());
        self.has_seen_enough(thread, lock, node)
    }

    /// Once a chain of one lock is remembered, any lock of its class is a hit: so it is not
    /// remembered before some locks have been looked at.
    fn has_seen_enough(&mut self, thread: &ThreadState, lock: &Acquire, node: u32) -> bool {
        let class = self.writer.get::<Class>(lock.ident.class());
        // A static lock is the only one of its class.
        if !thread.is_idle() || class.is_none_or(|class| class.origin == class_origin::STATIC) {
            return true;
        }
        let key = hash(&[u64::from(node) << 32 | u64::from(thread.id())]);
        // Threads enough have been looked at.
        if self.usages.looks.len() >= MOST_LOOKS {
            return true;
        }
        let looks = self.usages.looks.get(&self.writer, key).unwrap_or(0) + 1;
        self.usages.looks.insert(&mut self.writer, key, looks);
        looks >= if thread.row.in_signal != 0 { LOOKS_IN_HANDLER } else { LOOKS }
    }

    /// Signals `open` may arrive from here on while the thread holds what it holds (the kernel's
    /// mark_held_locks).
    pub fn note_held_usage(&mut self, thread: &mut ThreadState, open: u64) {
        self.place_held(thread);
        for i in 1..=thread.depth() {
            let held = thread.held_at(i);
            if !held.is_held() {
                continue;
            }
            let lock = Acquire {
                addr: held.addr,
                ident: Ident::new(held.inst, held.class),
                mode: held.mode,
                site: held.site,
            };
            self.push_open(thread, &lock, held.node, open);
        }
    }

    fn push_open(&mut self, thread: &ThreadState, lock: &Acquire, node: u32, mut open: u64) {
        let read = lock.mode & mode::READ != 0;
        let bits = if read { usage::OPEN_READ } else { usage::OPEN };
        while open != 0 {
            let signal = open.trailing_zeros() + 1;
            open &= open - 1;
            self.push_usage(thread, lock, node, signal, bits);
        }
    }

    fn push_usage(
        &mut self,
        thread: &ThreadState,
        lock: &Acquire,
        node: u32,
        signal: u32,
        bits: u32,
    ) {
        let class = lock.ident.class();
        let inst = u64::from(lock.ident.inst());
        let how = u64::from(signal) << 32 | u64::from(bits);
        let all = hash(&[u64::from(class) << 32 | u64::from(thread.id()), how]);
        let key = hash(&[all, inst]);
        let so_far = self.usages.recorded.get(&self.writer, all).unwrap_or(0);
        if so_far == INSTANCES || self.usages.recorded.get(&self.writer, key).is_some() {
            return;
        }
        let of_class = hash(&[u64::from(class), how, 1]);
        let uses = self.usages.recorded.get(&self.writer, of_class).unwrap_or(0);
        if uses >= MOST_USES {
            return reached(&mut self.writer, bounded::USES);
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
        self.lock_row(lock, thread.segment());
        if let Some(id) = self.writer.push(row) {
            self.usages.recorded.insert(&mut self.writer, key, id);
            self.usages.recorded.insert(&mut self.writer, all, so_far + 1);
            self.usages.recorded.insert(&mut self.writer, of_class, uses + 1);
        }
    }

    /// The program begins to handle `signals`: every thread validates its chains again.
    pub fn signals_changed(&mut self, signals: u64) {
        for thread in self.live() {
            // Relaxed: its thread reads the word, and at worst overwrites it, which delays this.
            thread.open_signals().store(thread.open_with(signals), Relaxed);
            thread.set_dirty();
        }
    }
}
