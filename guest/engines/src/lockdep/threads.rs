//! Threads: their lives, the list of those that live, and their segments.

use core::sync::atomic::Ordering::{Relaxed, Release};

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{self, Held, Segment, Thread, segment_kind, thread_state};

use super::Capture;
use super::core::Core;
use super::memory::{FIRST_HELD, Memory, next_capacity};
use super::thread::Cache;
use super::thread::ThreadRow;
use super::thread::ThreadState;
use super::thread::debug_lockdep::{DEBUG_LOCKDEP, new_counts};
use crate::held::HeldStack;

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

    /// Adds a thread, with a cache and an array of held locks.
    fn add(&mut self, writer: &mut Writer, thread: Thread) -> Option<*mut ThreadState> {
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
    unsafe fn remove(&mut self, writer: &mut Writer, state: *mut ThreadState, now_ns: u64) {
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
pub(super) fn row(writer: &Writer, id: u32) -> Option<ThreadRow> {
    let row = writer.row_ptr::<Thread>(id);
    // SAFETY: a row of the ledger, which stays mapped.
    (!row.is_null()).then(|| unsafe { ThreadRow::new(row) })
}

impl Core {
    /// Lends memory of the process's own to the first thread: a forked child has it at once, where
    /// it would have to make pages of its ledger. What is in there is of no importance.
    pub fn lend(&mut self, cache: &'static mut Cache) {
        self.threads.memory.lend(cache);
    }

    /// Moves the held array of a thread that holds as many locks as fit to a larger one.
    /// Returns false where there is no room: the lock then goes unwatched.
    pub fn grow_held(&mut self, thread: &mut ThreadState) -> bool {
        if thread.compact() {
            return true;
        }
        let capacity = next_capacity(thread.row.held.capacity);
        let Some(old) = thread.stack_mut().grow(&mut self.writer, capacity) else { return false };
        // SAFETY: `grow` moved the thread to a larger array, so nobody uses the old one.
        unsafe { self.threads.memory.give_array(&mut self.writer, old.offset, old.capacity) };
        true
    }

    /// A thread begins. Its state stays valid until [`Core::thread_exit`]. `None` where there is no
    /// room: the thread then goes unwatched.
    pub fn thread_start(
        &mut self,
        tid: u32,
        now_ns: u64,
        parent_segment: u32,
        create_stack: u32,
    ) -> Option<*mut ThreadState> {
        let row =
            Thread { tid, parent_segment, create_stack, start_ns: now_ns, ..Thread::default() };
        let state = self.threads.add(&mut self.writer, row)?;
        if DEBUG_LOCKDEP {
            // SAFETY: a row just written, which is what a state is; nobody else has it yet.
            let thread = unsafe { &mut *state };
            thread.row.debug_counts = new_counts(&mut self.writer, thread.id());
        }
        // SAFETY: a row just written, which is what a state is; nobody else has it yet.
        self.next_segment(
            unsafe { &mut *state },
            segment_kind::START,
            parent_segment,
            create_stack,
        );
        // SAFETY: `state` was made above, is mapped, and no other reference to it exists.
        self.comes_after(unsafe { &mut *state }, parent_segment);
        self.creation_is_over(parent_segment);
        Some(state)
    }

    /// The creation of a thread that [`Core::thread_creates`] gave `segment` for has come to an end:
    /// the thread begins, or there will be none.
    pub fn creation_is_over(&mut self, segment: u32) {
        if segment != 0 {
            self.threads.unborn = self.threads.unborn.saturating_sub(1);
            self.writer.update::<Segment>(segment, |row| row.pins = row.pins.saturating_sub(1));
        }
    }

    /// Nobody will join the thread of row `id`: somebody has, or its handle is another thread's.
    pub fn thread_settled(&mut self, id: u32) {
        if let Some(thread) = self.thread(id)
            // Relaxed: all that changes the state does so with the core's lock held.
            && thread.state().load(Relaxed) == thread_state::EXITED
        {
            thread.state().store(thread_state::SETTLED, Relaxed);
        }
    }

    /// The thread ends. What it needed while it lived is handed to a later thread.
    ///
    /// # Safety
    /// Nobody uses `state` afterwards.
    pub unsafe fn thread_exit(&mut self, state: *mut ThreadState, now_ns: u64) {
        // SAFETY: by contract nobody else uses `state`; the state came from `thread_start`.
        self.hand_on(unsafe { &mut *state });
        // SAFETY: by our contract nobody uses `state` afterwards, and the reference made above has
        // ended.
        unsafe { self.threads.remove(&mut self.writer, state, now_ns) };
        self.reclaim_if_due();
    }

    /// Sets a thread's name (at most 15 bytes are kept, as in the kernel).
    pub fn thread_name(&mut self, id: u32, name: &[u8]) {
        if let Some(thread) = self.thread(id) {
            thread.set_name(name);
        }
    }

    /// The thread is about to create another. Returns the segment that happens before all the other
    /// will do, and the stack of the call; the creator itself goes on in a new segment.
    pub fn thread_creates(&mut self, thread: &mut ThreadState, capture: Capture<'_>) -> (u32, u32) {
        let stack = self.captured(capture);
        self.hand_on(thread);
        let before = thread.segment();
        self.threads.unborn += 1;
        self.writer.update::<Segment>(before, |row| row.pins += 1);
        self.next_segment(thread, segment_kind::CREATED, 0, stack);
        (before, stack)
    }

    /// A thread begins to wait for the end of `target`, or gives up (`joiner` 0).
    pub fn thread_joins(&mut self, target: u32, joiner: u32) {
        if let Some(thread) = self.thread(target) {
            // Relaxed: whoever waits next looks at all threads, with the core's lock held.
            thread.joiner().store(joiner, Relaxed);
        }
    }

    /// The thread of row `by` asks that of row `target` to end (`pthread_cancel`).
    pub fn thread_cancelled(&mut self, target: u32, by: u32) {
        if let Some(thread) = self.thread(target) {
            // Relaxed: no thread reads it.
            thread.cancelled_by().store(by, Relaxed);
        }
    }

    /// The thread has joined that of row `target`, which has ended.
    pub fn thread_joined(&mut self, thread: &mut ThreadState, target: u32) {
        let last = self.thread(target).map_or(0, |thread| thread.segment().load(Relaxed));
        self.next_segment(thread, segment_kind::JOINED, last, 0);
        self.comes_after(thread, last);
        self.thread_settled(target);
        self.reclaim_if_due();
    }

    pub(super) fn next_segment(
        &mut self,
        thread: &mut ThreadState,
        kind: u32,
        peer: u32,
        stack: u32,
    ) {
        self.next_segment_of(thread, kind, peer, stack, 0);
    }

    pub(super) fn next_segment_of(
        &mut self,
        thread: &mut ThreadState,
        kind: u32,
        peer: u32,
        stack: u32,
        sync: u32,
    ) {
        self.pass_held(thread);
        let row = Segment {
            thread: thread.id(),
            kind,
            prev: thread.segment(),
            peer,
            stack,
            sync,
            ..Segment::default()
        };
        let told_before = thread.row.told_before;
        if let Some(id) = self.push_segment(row) {
            thread.set_segment(id);
            // These are about locks: the thread has told nobody anything.
            if matches!(kind, segment_kind::PASSED | segment_kind::RELEASED) {
                thread.row.told_before = told_before;
            }
        }
    }

    /// Records a segment, the newest.
    pub(super) fn push_segment(&mut self, row: Segment) -> Option<u32> {
        let id = self.writer.push(row)?;
        self.reclaim.made(&mut self.writer, id);
        Some(id)
    }

    /// First of the list of live threads ([`Thread::next_live`]), 0 if there is none.
    pub fn first_live(&self) -> u32 {
        self.threads.live
    }

    /// A live thread: its id, its kernel thread id, and the next in the list.
    pub fn live_thread(&self, id: u32) -> Option<(u32, u32, u32)> {
        // Relaxed: the list is the core's lock's.
        self.thread(id).map(|it| (id, it.kernel_id(), it.next_live().load(Relaxed)))
    }

    /// The row of thread `id`.
    pub fn thread(&self, id: u32) -> Option<ThreadRow> {
        row(&self.writer, id)
    }

    /// The live threads.
    pub(super) fn live(&self) -> impl Iterator<Item = ThreadRow> {
        let mut next = self.first_live();
        core::iter::from_fn(move || {
            let thread = self.thread(next)?;
            // Relaxed: the list is the core's lock's.
            next = thread.next_live().load(Relaxed);
            Some(thread)
        })
    }
}

const _: () = assert!(rows::WRITTEN == thread_state::LIVE);
