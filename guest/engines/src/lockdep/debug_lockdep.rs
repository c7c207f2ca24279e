//! The features that the kernel has under CONFIG_DEBUG_LOCKDEP: counters of what happens too often
//! to be counted where speed matters, and checks of lockdep's own data. A library built without the
//! feature `debug-lockdep` has no code of it on any way of a lock.
//!
//! - Acquisitions are counted by thread and class (`class->ops`), in rows that no other thread
//!   writes to. A thread's row has the addresses of those that it used last.
//! - Calls that change a thread's signal mask are counted as the kernel counts interrupts that are
//!   switched on and off.
//! - Each acquisition recomputes the chain key from the locks held, and compares
//!   ([`ThreadState::chain_agrees`]). If it is another, or the stack has left its array, lockdep
//!   can be trusted no more, and stops.

use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::layout::stopped;
use lockwright_ledger::rows::{ClassOps, DebugCounts, GIVEN_UP, Held, OPS_CLASSES};
use lockwright_ledger::{Header, Writer};

use super::core::Core;
use super::thread::ThreadState;
use super::{Ident, key};

/// This is a build with the counters and checks.
pub const DEBUG_LOCKDEP: bool = cfg!(feature = "debug-lockdep");

/// What a call that changes a signal mask asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskCall {
    /// Signals are to be blocked, too.
    Block,
    /// Signals are to be blocked no more.
    Unblock,
    /// This is the mask from now on.
    Set,
}

impl ThreadState {
    fn counts(&mut self) -> Option<&mut DebugCounts> {
        // SAFETY: null, or the thread's own row, which stays mapped.
        unsafe { (self.row.debug_counts as *mut DebugCounts).as_mut() }
    }

    /// Counts a call that changed the thread's signal mask, by the signals that were open before
    /// and after.
    pub fn count_mask_call(&mut self, call: MaskCall, before: u64, now: u64) {
        let Some(counts) = self.counts() else { return };
        let (is_on, is_off) = (now & !before != 0, before & !now != 0);
        let asks_on = call == MaskCall::Unblock || call == MaskCall::Set && now != 0;
        counts.hardirqs_on += u64::from(is_on);
        counts.hardirqs_off += u64::from(is_off);
        if !is_on && !is_off {
            counts.redundant_on += u64::from(asks_on);
            counts.redundant_off += u64::from(!asks_on);
        }
    }

    /// A lock of `class` is acquired; its entry is the innermost or further out.
    pub(super) fn count_acquisition(&mut self, class: u32) {
        if let Some(counts) = self.counts()
            // SAFETY: rows of the thread's own, which stay mapped.
            && let Some(ops) = unsafe { ops_of(counts, class).as_mut() }
        {
            ops.ops[class as usize % OPS_CLASSES] += 1;
        }
    }

    /// Checks the held locks, and stops recording if they are not what the chain key is of.
    pub(super) fn check_chain(&mut self) {
        let agrees = self.chain_agrees();
        let tid = self.row.tid;
        let (Some(agrees), Some(counts)) = (agrees, self.counts()) else { return };
        counts.chain_checks += 1;
        if agrees {
            return;
        }
        counts.bad_chains += 1;
        // SAFETY: the ledger's header, all atomics, which stays mapped.
        if let Some(header) = unsafe { (counts.header as *const Header).as_ref() }
            && header.stopped.load(Relaxed) == stopped::NO
        {
            header.stopped_by.store(tid, Relaxed);
            header.stop(stopped::INCONSISTENT);
        }
        // The next acquisition goes the slow way, where the host sees that.
        self.set_dirty();
    }

    /// Whether the locks held, and the one being acquired, have the chain keys that follow from
    /// them, and lie in the thread's array. `None` where that cannot be said: keys are known to be
    /// stale, or an acquisition or a release further out is under way.
    pub fn chain_agrees(&self) -> Option<bool> {
        let words = &self.row.held;
        let bytes = u64::from(words.capacity) * size_of::<Held>() as u64;
        let depth = words.top.wrapping_sub(words.base);
        if depth >= bytes || !depth.is_multiple_of(size_of::<Held>() as u64) {
            return Some(false);
        }
        if self.is_dirty() {
            return None;
        }
        let mut key = self.first_key();
        let outer = self.held().len().saturating_sub(1);
        if self.held().take(outer).any(|held| held.addr <= GIVEN_UP) {
            return None;
        }
        // SAFETY: every array of held locks begins with entry 0, which stands for "nothing held".
        let mut agrees = unsafe { (*self.entry(0)).key } == key;
        for (i, held) in self.held().enumerate() {
            let ident = Ident::new(held.inst, held.class);
            let chain = key::of_lock(key, ident, held.mode, i == 0);
            key = key::nested(key::at_site(chain, held.site), ident);
            agrees &= held.key == key;
        }
        Some(agrees)
    }
}

/// The row in which a thread counts acquisitions of `class`; null if there is none.
///
/// # Safety
/// `counts` is of a thread in this process.
unsafe fn ops_of(counts: &mut DebugCounts, class: u32) -> *mut ClassOps {
    let number = class as usize / OPS_CLASSES;
    let first = (number * OPS_CLASSES) as u32;
    let slot = number % counts.near.len();
    let is_it = |at: *mut ClassOps| {
        // SAFETY: null, or a row of the thread's.
        unsafe { at.as_ref() }.is_some_and(|ops| ops.first == first)
    };
    let mut at = counts.near[slot] as *mut ClassOps;
    if is_it(at) {
        return at;
    }
    at = counts.first_ops as *mut ClassOps;
    while !at.is_null() && !is_it(at) {
        // SAFETY: a row of the list.
        at = unsafe { (*at).next } as *mut ClassOps;
    }
    if !at.is_null() {
        counts.near[slot] = at as u64;
    }
    at
}

impl Core {
    /// Gives a thread that has just begun its counters.
    pub(super) fn add_counts(&mut self, thread: &mut ThreadState) {
        let header = ptr::from_ref(self.writer.header()) as u64;
        let row = DebugCounts { thread: thread.id(), header, ..DebugCounts::default() };
        if let Some(id) = self.writer.push(row) {
            thread.row.debug_counts = self.writer.row_ptr::<DebugCounts>(id) as u64;
        }
    }

    /// The thread is about to acquire a lock of `class` in a chain that is new to it: makes sure
    /// that there is a counter.
    pub(super) fn make_room_to_count(&mut self, thread: &mut ThreadState, class: u32) {
        let id = thread.id();
        let Some(counts) = thread.counts() else { return };
        // SAFETY: the counters belong to `thread`, whose row and lists stay mapped.
        if unsafe { ops_of(counts, class) }.is_null() {
            push_ops(&mut self.writer, counts, id, class);
        }
    }
}

fn push_ops(writer: &mut Writer, counts: &mut DebugCounts, thread: u32, class: u32) {
    let first = class - class % OPS_CLASSES as u32;
    let row = ClassOps { thread, first, next: counts.first_ops, ..ClassOps::default() };
    if let Some(id) = writer.push(row) {
        counts.first_ops = writer.row_ptr::<ClassOps>(id) as u64;
    }
}
