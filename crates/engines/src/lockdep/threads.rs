//! Threads: their lives, the list of those that live, and their segments.

use core::ptr;

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{self, Held, Segment, Thread, segment_kind, thread_state};

use super::Capture;
use super::core::Core;
use super::thread::{Arena, FIRST_HELD, ThreadState};

/// The threads that live, and memory of those that lived.
pub(super) struct Threads {
    /// First of the list of live threads.
    live: u32,
    /// Freed [`Arena`]s, linked by offset through their first word.
    free_arenas: u64,
}

impl Threads {
    pub(super) const fn new() -> Self {
        Self { live: 0, free_arenas: 0 }
    }

    /// Adds a thread, with an arena of its own.
    fn add(&mut self, writer: &mut Writer, thread: Thread) -> Option<*mut ThreadState> {
        let offset = match self.free_arenas {
            0 => writer.alloc(size_of::<Arena>())?,
            offset => {
                let at = writer.at(offset);
                // SAFETY: a freed arena; its first word links to the next.
                unsafe {
                    self.free_arenas = at.cast::<u64>().read();
                    ptr::write_bytes(at, 0, size_of::<Arena>());
                }
                offset
            }
        };
        let arena = writer.at(offset) as u64;
        let held = core::mem::offset_of!(Arena, held) as u64;
        let row = Thread {
            top: arena + held,
            base: arena + held,
            limit: arena + held + (u64::from(FIRST_HELD) - 1) * size_of::<Held>() as u64,
            cache: arena,
            held: offset + held,
            capacity: FIRST_HELD,
            next_live: self.live,
            id: writer.len_of::<Thread>().max(1),
            ..thread
        };
        let id = writer.push_with_state(row, thread_state::LIVE)?;
        let head = core::mem::replace(&mut self.live, id);
        writer.update::<Thread>(head, |row| row.prev_live = id);
        Some(writer.row_ptr::<Thread>(id).cast::<ThreadState>())
    }

    /// Takes a thread out of the list of those that live. What it needed is handed to a later
    /// thread.
    ///
    /// # Safety
    /// Nobody uses `state` afterwards; it came from [`Threads::add`].
    unsafe fn remove(&mut self, writer: &mut Writer, state: *mut ThreadState, now_ns: u64) {
        // SAFETY: the caller's promise.
        let row = unsafe { &mut (*state).row };
        row.end_ns = now_ns;
        row.state = thread_state::EXITED;
        if row.capacity != FIRST_HELD {
            writer.free(row.held, row.capacity as usize * size_of::<Held>());
        }
        row.capacity = 0;
        row.top = row.base;
        let (id, next, prev) = (row.id, row.next_live, row.prev_live);
        let arena = row.cache as *mut u8;
        writer.update::<Thread>(next, |row| row.prev_live = prev);
        writer.update::<Thread>(prev, |row| row.next_live = next);
        if self.live == id {
            self.live = next;
        }
        // SAFETY: the arena's memory is ours again.
        unsafe { arena.cast::<u64>().write(self.free_arenas) };
        self.free_arenas = writer.offset_of(arena);
    }
}

impl Core {
    /// Moves the held array of a thread that holds as many locks as fit to one twice the size.
    /// Returns false where there is no room: the lock then goes unwatched.
    pub fn grow_held(&mut self, thread: &mut ThreadState) -> bool {
        if thread.compact() {
            return true;
        }
        let capacity = thread.row.capacity;
        let bytes = |n: u32| n as usize * size_of::<Held>();
        let Some(offset) = self.writer.alloc(bytes(capacity * 2)) else { return false };
        let new = self.writer.at(offset).cast::<Held>();
        let old_offset = core::mem::replace(&mut thread.row.held, offset);
        // SAFETY: both arrays hold `capacity` elements; they do not overlap.
        unsafe { ptr::copy_nonoverlapping(thread.entry(0), new, capacity as usize) };
        let depth = thread.depth();
        thread.row.capacity = capacity * 2;
        thread.row.base = new as u64;
        thread.row.limit = thread.entry(capacity * 2 - 1) as u64;
        thread.row.top = thread.entry(depth) as u64;
        if capacity != FIRST_HELD {
            // The first array is part of the thread's arena; later ones are ours to reuse.
            self.writer.free(old_offset, bytes(capacity));
        }
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
        // SAFETY: a row just written, which is what a state is; nobody else has it yet.
        self.next_segment(
            unsafe { &mut *state },
            segment_kind::START,
            parent_segment,
            create_stack,
        );
        // SAFETY: as above.
        self.comes_after(unsafe { &mut *state }, parent_segment);
        Some(state)
    }

    /// The thread ends. What it needed while it lived is handed to a later thread.
    ///
    /// # Safety
    /// Nobody uses `state` afterwards.
    pub unsafe fn thread_exit(&mut self, state: *mut ThreadState, now_ns: u64) {
        // SAFETY: the caller's promise; the state came from `thread_start`.
        self.hand_on(unsafe { &mut *state });
        // SAFETY: as above.
        unsafe { self.threads.remove(&mut self.writer, state, now_ns) };
    }

    /// Sets a thread's name (at most 15 bytes are kept, as in the kernel).
    pub fn thread_name(&mut self, id: u32, name: &[u8]) {
        let n = name.iter().position(|&b| b == 0).unwrap_or(name.len()).min(15);
        self.writer.update::<Thread>(id, |row| {
            row.name = [0; 16];
            row.name[..n].copy_from_slice(&name[..n]);
        });
    }

    /// The thread is about to create another. Returns the segment that happens before all the other
    /// will do, and the stack of the call; the creator itself goes on in a new segment.
    pub fn thread_creates(&mut self, thread: &mut ThreadState, capture: Capture<'_>) -> (u32, u32) {
        let stack = self.captured(capture);
        self.hand_on(thread);
        let before = thread.segment();
        self.next_segment(thread, segment_kind::CREATED, 0, stack);
        (before, stack)
    }

    /// A thread begins to wait for the end of `target`, or gives up (`joiner` 0).
    pub fn thread_joins(&mut self, target: u32, joiner: u32) {
        self.writer.update::<Thread>(target, |row| row.joiner = joiner);
    }

    /// The thread of row `by` asks that of row `target` to end (`pthread_cancel`).
    pub fn thread_cancelled(&mut self, target: u32, by: u32) {
        self.writer.update::<Thread>(target, |row| row.cancelled_by = by);
    }

    /// The thread has joined another, whose last segment was `last`.
    pub fn thread_joined(&mut self, thread: &mut ThreadState, last: u32) {
        self.next_segment(thread, segment_kind::JOINED, last, 0);
        self.comes_after(thread, last);
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
        if let Some(id) = self.writer.push(row) {
            thread.set_segment(id);
        }
    }

    /// First of the list of live threads ([`Thread::next_live`]), 0 if there is none.
    pub fn first_live(&self) -> u32 {
        self.threads.live
    }

    /// A live thread: its id, its kernel thread id, and the next in the list.
    pub fn live_thread(&self, id: u32) -> Option<(u32, u32, u32)> {
        self.writer.get::<Thread>(id).map(|thread| (id, thread.tid, thread.next_live))
    }
}

const _: () = assert!(rows::WRITTEN == thread_state::LIVE);
