//! The lives of threads: how they begin, are joined and end.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::{Thread, thread_state};

use super::{Makers, Recorder, Sharing, threads};
use crate::lockdep::recorded_locks::RecordedLocks;
use crate::lockdep::thread::debug_lockdep::{DEBUG_LOCKDEP, new_counts};
use crate::lockdep::thread::{Cache, ThreadRow, ThreadState};

impl Recorder {
    /// See [`crate::lockdep::Core::lend`].
    pub(crate) fn lend(&mut self, cache: &'static mut Cache) {
        self.threads.lend(cache);
    }

    /// See [`crate::lockdep::Core::note_recorded_in`].
    pub(crate) fn note_recorded_in(&mut self, recorded: &'static RecordedLocks) {
        self.classes.recorded = Some(recorded);
    }

    /// See [`crate::lockdep::Core::shared_by`].
    pub(crate) fn shared_by(&mut self, sharing: Sharing) {
        self.classes.sharing = Some(sharing);
    }

    /// See [`crate::lockdep::Core::made_by`].
    pub(crate) fn made_by(&mut self, makers: Makers) {
        self.classes.makers = Some(makers);
    }

    /// Makes room in the held array of a thread, which is moved to a larger one if it is full.
    /// It need not be: another thread may have shut it since the calling one looked up the chain.
    /// Returns false where there is no room: the lock then goes unwatched.
    pub(crate) fn grow_held(&mut self, thread: &mut ThreadState) -> bool {
        thread.compact()
            || thread.shared().has_room()
            || self.threads.grow_held(&mut self.writer, thread)
    }

    /// A thread begins, in no segment yet. `None` where there is no room: the thread then goes
    /// unwatched.
    pub(crate) fn thread_begins(&mut self, thread: Thread) -> Option<*mut ThreadState> {
        let state = self.threads.add(&mut self.writer, thread)?;
        if DEBUG_LOCKDEP {
            // SAFETY: a row just written, which is what a state is; nobody else has it yet.
            let thread = unsafe { &mut *state };
            thread.row.debug_counts = new_counts(&mut self.writer, thread.id());
        }
        Some(state)
    }

    /// The thread of row `creator` is about to create another. Returns its segment, which happens before
    /// all that the other will do, and stays until [`Recorder::creation_is_over`].
    pub(crate) fn creation_begins(&mut self, creator: &ThreadState) -> u32 {
        let before = creator.segment();
        self.threads.unborn += 1;
        self.pin_segment(before);
        before
    }

    /// The creation of a thread that [`Recorder::creation_begins`] gave `segment` for has come to an
    /// end: the thread begins, or there will be none.
    pub(crate) fn creation_is_over(&mut self, segment: u32) {
        if segment != 0 {
            self.threads.unborn = self.threads.unborn.saturating_sub(1);
            self.unpin_segment(segment);
        }
    }

    /// A thread was created and has not begun.
    pub(crate) fn awaits_threads(&self) -> bool {
        self.threads.unborn != 0
    }

    /// Nobody will join the thread of row `id`: somebody has, or its handle is another thread's.
    pub(crate) fn thread_settled(&mut self, id: u32) {
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
    /// Nobody uses `state` afterwards, which came from [`Recorder::thread_begins`].
    pub(crate) unsafe fn thread_ends(&mut self, state: *mut ThreadState, now_ns: u64) {
        // SAFETY: by contract `state` came from `thread_begins`, so from `Threads::add`, and nobody uses
        // it afterwards.
        unsafe { self.threads.remove(&mut self.writer, state, now_ns) };
    }

    /// Sets a thread's name (at most 15 bytes are kept, as in the kernel).
    pub(crate) fn thread_name(&mut self, id: u32, name: &[u8]) {
        if let Some(thread) = self.thread(id) {
            thread.set_name(name);
        }
    }

    /// A thread begins to wait for the end of `target`, or gives up (`joiner` 0).
    pub(crate) fn thread_joins(&mut self, target: u32, joiner: u32) {
        if let Some(thread) = self.thread(target) {
            // Relaxed: whoever waits next looks at all threads, with the core's lock held.
            thread.joiner().store(joiner, Relaxed);
        }
    }

    /// The thread of row `by` asks that of row `target` to end (`pthread_cancel`).
    pub(crate) fn thread_cancelled(&mut self, target: u32, by: u32) {
        if let Some(thread) = self.thread(target) {
            // Relaxed: no thread reads it.
            thread.cancelled_by().store(by, Relaxed);
        }
    }

    /// First of the list of live threads ([`Thread::next_live`]), 0 if there is none.
    pub(crate) fn first_live(&self) -> u32 {
        self.threads.first_live()
    }

    /// A live thread: its id, its kernel thread id, and the next in the list.
    pub(crate) fn live_thread(&self, id: u32) -> Option<(u32, u32, u32)> {
        // Relaxed: the list is the core's lock's.
        self.thread(id).map(|it| (id, it.kernel_id(), it.next_live().load(Relaxed)))
    }

    /// The row of thread `id`.
    pub(crate) fn thread(&self, id: u32) -> Option<ThreadRow> {
        threads::row(&self.writer, id)
    }

    /// The live threads.
    pub(crate) fn live(&self) -> impl Iterator<Item = ThreadRow> {
        let mut next = self.first_live();
        core::iter::from_fn(move || {
            let thread = self.thread(next)?;
            // Relaxed: the list is the core's lock's.
            next = thread.next_live().load(Relaxed);
            Some(thread)
        })
    }
}
