//! The features that the kernel has under CONFIG_DEBUG_LOCKDEP: counters of what happens too often
//! to be counted where speed matters, and checks of lockdep's own data. A library built without the
//! feature `debug-lockdep` has no code of it on any way of a lock.
//!
//! - Acquisitions are counted by thread and class (`class->ops`), in rows that no other thread
//!   writes to. A thread's row has the addresses of those that it used last.
//! - Calls that change a thread's signal mask are counted as the kernel counts interrupts that are
//!   switched on and off.
//! - Each acquisition recomputes the chain key from the locks held, and compares
//!   ([`crate::lockdep::ThreadState::chain_agrees`]). If it is another, or the stack has left its array, lockdep
//!   can be trusted no more, and stops.

use core::ptr;

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{ClassOps, DebugCounts, OPS_CLASSES};

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

/// Counts a call that changed the thread's signal mask, by the signals that were open before and
/// after.
pub(crate) fn count_mask_call(counts: &mut DebugCounts, call: MaskCall, before: u64, now: u64) {
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
///
/// # Safety
/// `counts` is of a thread in this process.
pub(crate) unsafe fn count_acquisition(counts: &mut DebugCounts, class: u32) {
    // SAFETY: by contract; the rows that `ops_of` finds stay mapped.
    if let Some(ops) = unsafe { ops_of(counts, class).as_mut() } {
        ops.ops[class as usize % OPS_CLASSES] += 1;
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

/// Counters for the thread of row `thread`, which has just begun: their address, 0 where there is no
/// room.
pub(crate) fn new_counts(writer: &mut Writer, thread: u32) -> u64 {
    let header = ptr::from_ref(writer.header()) as u64;
    let id = writer.push(DebugCounts { thread, header, ..DebugCounts::default() });
    id.map_or(0, |id| writer.row_ptr::<DebugCounts>(id) as u64)
}

/// The thread of row `thread` is about to acquire a lock of `class` in a chain that is new to it:
/// makes sure that there is a counter.
///
/// # Safety
/// `counts` is that thread's, which is one of this process.
pub(crate) unsafe fn make_room_to_count(
    writer: &mut Writer,
    counts: &mut DebugCounts,
    thread: u32,
    class: u32,
) {
    // SAFETY: by this function's own contract.
    if unsafe { ops_of(counts, class) }.is_null() {
        push_ops(writer, counts, thread, class);
    }
}

fn push_ops(writer: &mut Writer, counts: &mut DebugCounts, thread: u32, class: u32) {
    let first = class - class % OPS_CLASSES as u32;
    let row = ClassOps { thread, first, next: counts.first_ops, ..ClassOps::default() };
    if let Some(id) = writer.push(row) {
        counts.first_ops = writer.row_ptr::<ClassOps>(id) as u64;
    }
}
