//! The table of threads: the list of those that live, and the memory of those that lived.

use core::sync::atomic::Ordering::{Relaxed, Release};

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{self, Held, Thread, thread_state};

use super::memory::{FIRST_HELD, Memory, next_capacity};
use crate::held::HeldStack;
use crate::lockdep::thread::{Cache, ThreadRow, ThreadState};

/// The threads that live, and memory of those that lived.
pub(super) struct Threads {
    /// First of the list of live threads.
    live: u32,
    /// Threads that were created and have not begun; and those that could not be.
    pub(super) unborn: u32,
    memory: Memory,
}

impl Threads {
    pub(super) const fn new() -> Self {
        Self { live: 0, unborn: 0, memory: Memory::new() }
    }

    /// See [`crate::lockdep::Core::lend`].
    pub(super) fn lend(&mut self, cache: &'static mut Cache) {
        self.memory.lend(cache);
    }

    /// First of the list of live threads ([`Thread::next_live`]), 0 if there is none.
    pub(super) fn first_live(&self) -> u32 {
        self.live
    }

    /// Moves the held array of a thread to a larger one. Returns false where there is no room.
    pub(super) fn grow_held(&mut self, writer: &mut Writer, thread: &mut ThreadState) -> bool {
        let capacity = next_capacity(thread.row.held.capacity);
        let Some(old) = thread.stack_mut().grow(writer, capacity) else { return false };
        // SAFETY: `grow` moved the thread to a larger array, so nobody uses the old one.
        unsafe { self.memory.give_array(writer, old.offset, old.capacity) };
        true
    }

    /// Adds a thread, with a cache and an array of held locks.
    pub(super) fn add(&mut self, writer: &mut Writer, thread: Thread) -> Option<*mut ThreadState> {
        let held = self.memory.array(writer)?;
        let cache = self.memory.cache(writer)?;
        let thread = Thread {
            held: HeldStack::<Held>::begin(writer, held, FIRST_HELD),
            cache,
            next_live: self.live,
            ..thread
        };
        let id = writer.push_with_state(thread, thread_state::LIVE)?;
        let head = core::mem::replace(&mut self.live, id);
        if let Some(next) = row(writer, head) {
            next.prev_live().store(id, Relaxed);
        }
        Some(writer.row_ptr::<Thread>(id).cast::<ThreadState>())
    }

    /// Takes a thread out of the list of those that live. What it needed is handed to a later
    /// thread.
    ///
    /// # Safety
    /// Nobody uses `state` afterwards; it came from [`Threads::add`].
    pub(super) unsafe fn remove(
        &mut self,
        writer: &mut Writer,
        state: *mut ThreadState,
        now_ns: u64,
    ) {
        // SAFETY: by this function's contract `state` is a thread's mapped state that nobody else
        // uses.
        let thread = unsafe { &mut *state };
        thread.row.end_ns = now_ns;
        // Where the creation was not seen, no join is seen either.
        let ended = match thread.row.parent_segment {
            0 => thread_state::SETTLED,
            _ => thread_state::EXITED,
        };
        let held = thread.stack_mut().end();
        let shared = thread.shared();
        // Release pairs with the Acquire in `ThreadRow::is_live`.
        shared.state().store(ended, Release);
        // Relaxed, here and below: the links are the core's lock's.
        let [next, prev] = [shared.next_live(), shared.prev_live()].map(|link| link.load(Relaxed));
        if let Some(next) = row(writer, next) {
            next.prev_live().store(prev, Relaxed);
        }
        if let Some(prev) = row(writer, prev) {
            prev.next_live().store(next, Relaxed);
        }
        if self.live == shared.id() {
            self.live = next;
        }
        // SAFETY: it was the thread's, which uses it no more.
        unsafe {
            self.memory.give_cache(shared.cache().swap(0, Relaxed));
            self.memory.give_array(writer, held.offset, held.capacity);
        }
    }
}

/// The row of thread `id`; none if there is no such row.
pub(crate) fn row(writer: &Writer, id: u32) -> Option<ThreadRow> {
    let row = writer.row_ptr::<Thread>(id);
    // SAFETY: a row of the ledger, which stays mapped.
    (!row.is_null()).then(|| unsafe { ThreadRow::new(row) })
}

/// Calls `f` for each thread whose row was not removed. The core's lock is held, so all accesses to what only
/// changes with it may be relaxed.
pub(crate) fn each(writer: &mut Writer, mut f: impl FnMut(&mut Writer, ThreadRow)) {
    for place in 1..writer.len_of::<Thread>() {
        // SAFETY: a place below the table's length, which stays mapped.
        let thread = unsafe { ThreadRow::new(writer.place_ptr::<Thread>(place)) };
        if thread.state().load(Relaxed) != 0 {
            f(writer, thread);
        }
    }
}

const _: () = assert!(rows::WRITTEN == thread_state::LIVE);
