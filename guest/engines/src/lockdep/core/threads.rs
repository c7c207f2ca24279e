//! The lives of threads, and the segments that their creation and join begin.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::{Thread, segment_kind};

use super::Core;
use crate::capture::Capture;
use crate::lockdep::reclaim::Removal;
use crate::lockdep::recorded_locks::RecordedLocks;
use crate::lockdep::thread::{Cache, ThreadRow, ThreadState};

impl Core {
    /// Lends memory of the process's own to the first thread: a forked child has it at once, where
    /// it would have to make pages of its ledger. What is in there is of no importance.
    pub fn lend(&mut self, cache: &'static mut Cache) {
        self.recorder.lend(cache);
    }

    /// Notes in `recorded` from now on which locks have rows. So threads may know the contexts of those that have none.
    pub fn note_recorded_in(&mut self, recorded: &'static RecordedLocks) {
        self.recorder.note_recorded_in(recorded);
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
        let state = self.recorder.thread_begins(row)?;
        // SAFETY: `state` was made above, is mapped, and no other reference to it exists.
        let thread = unsafe { &mut *state };
        self.next_segment(thread, segment_kind::START, parent_segment, create_stack);
        self.holds.comes_after(&mut self.recorder, thread, parent_segment);
        if thread.id() > 1 {
            self.monitors.thread_begins();
        }
        self.recorder.creation_is_over(parent_segment);
        Some(state)
    }

    /// The creation of a thread that [`Core::thread_creates`] gave `segment` for has come to an end:
    /// the thread begins, or there will be none.
    pub fn creation_is_over(&mut self, segment: u32) {
        self.recorder.creation_is_over(segment);
    }

    /// Nobody will join the thread of row `id`: somebody has, or its handle is another thread's.
    pub fn thread_settled(&mut self, id: u32) {
        self.recorder.thread_settled(id);
    }

    /// The thread ends. What it needed while it lived is handed to a later thread.
    ///
    /// # Safety
    /// Nobody uses `state` afterwards, which came from [`Core::thread_start`].
    pub unsafe fn thread_exit(&mut self, state: *mut ThreadState, now_ns: u64) {
        // SAFETY: by contract nobody else uses `state`; the state came from `thread_start`.
        let thread = unsafe { &mut *state };
        self.monitors.thread_ends(&mut self.recorder, thread);
        self.holds.hand_on(&mut self.recorder, thread);
        // SAFETY: by our contract nobody uses `state` afterwards, and the reference made above has
        // ended. `thread_start` has it from `thread_begins`.
        unsafe { self.recorder.thread_ends(state, now_ns) };
        self.removal().reclaim_if_due();
    }

    /// Sets a thread's name (at most 15 bytes are kept, as in the kernel).
    pub fn thread_name(&mut self, id: u32, name: &[u8]) {
        self.recorder.thread_name(id, name);
    }

    /// The thread is about to create another. Returns the segment that happens before all the other
    /// will do, and the stack of the call; the creator itself goes on in a new segment.
    pub fn thread_creates(&mut self, thread: &mut ThreadState, capture: Capture<'_>) -> (u32, u32) {
        let stack = self.recorder.captured(capture);
        self.holds.hand_on(&mut self.recorder, thread);
        let before = self.recorder.creation_begins(thread);
        self.next_segment(thread, segment_kind::CREATED, 0, stack);
        (before, stack)
    }

    /// A thread begins to wait for the end of `target`, or gives up (`joiner` 0).
    pub fn thread_joins(&mut self, target: u32, joiner: u32) {
        self.recorder.thread_joins(target, joiner);
    }

    /// The thread of row `by` asks that of row `target` to end (`pthread_cancel`).
    pub fn thread_cancelled(&mut self, target: u32, by: u32) {
        self.recorder.thread_cancelled(target, by);
    }

    /// The thread has joined that of row `target`, which has ended.
    pub fn thread_joined(&mut self, thread: &mut ThreadState, target: u32) {
        // Relaxed: threads change segments with the core's lock held.
        let last = self.thread(target).map_or(0, |thread| thread.segment().load(Relaxed));
        self.next_segment(thread, segment_kind::JOINED, last, 0);
        self.holds.comes_after(&mut self.recorder, thread, last);
        self.recorder.thread_settled(target);
        self.removal().reclaim_if_due();
    }

    /// The thread has taken the robust mutex `inst`, and learned that its last owner had died (EOWNERDEAD).
    pub fn owner_died(&mut self, thread: &mut ThreadState, inst: u32) {
        let Some(last) = self.dead_owners.take(&self.recorder, inst) else { return };
        self.next_segment(thread, segment_kind::OWNER_DIED, last, 0);
        self.holds.comes_after(&mut self.recorder, thread, last);
        self.recorder.unpin_segment(last);
    }

    /// The thread is in another segment, of this kind.
    pub(super) fn next_segment(
        &mut self,
        thread: &mut ThreadState,
        kind: u32,
        peer: u32,
        stack: u32,
    ) {
        self.holds.next_segment(&mut self.recorder, thread, kind, peer, stack);
    }

    /// First of the list of live threads ([`Thread::next_live`]), 0 if there is none.
    pub fn first_live(&self) -> u32 {
        self.recorder.first_live()
    }

    /// A live thread: its id, its kernel thread id, and the next in the list.
    pub fn live_thread(&self, id: u32) -> Option<(u32, u32, u32)> {
        self.recorder.live_thread(id)
    }

    /// The row of thread `id`.
    pub fn thread(&self, id: u32) -> Option<ThreadRow> {
        self.recorder.thread(id)
    }

    /// Has what is not needed removed whenever a thread ends or is joined: for tests that nothing
    /// follows from it.
    pub fn reclaim_eagerly(&mut self) {
        self.reclaim.set_eager(true);
    }

    /// Removes it now.
    pub fn reclaim_now(&mut self) {
        self.removal().reclaim();
    }

    /// Has it removed when there is much again.
    pub fn reclaim_when_due(&mut self) {
        self.reclaim.set_eager(false);
    }

    /// Has each hold removed that has ended, whatever depends on it: a fault that tests must find.
    pub fn remove_holds_too_early(&mut self) {
        self.reclaim.ended_holds.remove_too_early();
    }

    fn removal(&mut self) -> Removal<'_> {
        Removal {
            writer: &mut self.recorder.writer,
            segments: &mut self.recorder.segments,
            holds: &mut self.holds,
            reclaim: &mut self.reclaim,
        }
    }
}
