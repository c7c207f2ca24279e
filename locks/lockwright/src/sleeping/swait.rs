//! The simple wait queue (`kernel/sched/swait.c`): threads that wait for something under a wait
//! lock.
//!
//! The waker takes waiters out of the queue under the lock, and wakes them after it has released
//! the lock. So a woken thread knows that its waker is done with the queue, and may free it. The
//! waker may wake only the first of many; each of them then wakes the next one, as soon as it is no
//! longer in its way.

use core::cell::Cell;

use crate::platform::Platform;
use crate::sleeper::Sleeper;
use crate::wait_list::{List, Node};
use crate::wait_lock::WaitLock;

struct Entry<P: Platform> {
    sleeper: Sleeper<P>,
    /// Whether somebody has taken it out of the queue, and will tell it. Under the wait lock.
    taken: Cell<bool>,
    /// The waiters that this one has to wake. Written before it is woken, and read after that.
    rest: Cell<List<Self>>,
}

// SAFETY: `taken` is used under the wait lock only. The thread that takes the entry out uses `rest`
// first, then its own thread does; `tell` and `sleep` order the two.
unsafe impl<P: Platform> Sync for Entry<P> {}

/// A thread's place in a queue.
pub(crate) struct Waiter<P: Platform>(Node<Entry<P>>);

impl<P: Platform> Waiter<P> {
    /// In no queue.
    pub fn new() -> Self {
        Self(Node::new(Entry {
            sleeper: Sleeper::new(),
            taken: Cell::new(false),
            rest: Cell::new(List::new()),
        }))
    }

    /// Sleeps until woken, or until `deadline`. Whether it was woken; it is in the queue no more.
    ///
    /// # Safety
    /// It has been inserted into the queue that `queue` finds under `lock`, and has not slept
    /// since.
    pub unsafe fn sleep<T>(
        &self,
        lock: &WaitLock<P, T>,
        queue: impl Fn(&T) -> &Queue<P>,
        deadline: Option<u64>,
    ) -> bool {
        let Self(node) = self;
        if node.value.sleeper.sleep(deadline) {
            return true;
        }
        let guard = lock.lock();
        if !node.value.taken.get() {
            // SAFETY: a thread that takes it out sets `taken` under the lock; none has, so it is in
            // the queue.
            unsafe { queue(&guard).0.remove(node) };
            return false;
        }
        drop(guard);
        // Woken at the deadline: the thread that took us out has yet to wake us.
        node.value.sleeper.sleep(None)
    }

    /// Wakes the next of those that were taken out of the queue with it to be woken in turn.
    pub fn wake_next(&self) {
        Taken(self.0.value.rest.replace(List::new())).wake_in_turn();
    }
}

/// The waiters. Everything here is under the wait lock.
pub(crate) struct Queue<P: Platform>(List<Entry<P>>);

impl<P: Platform> Queue<P> {
    /// Nobody.
    pub const fn new() -> Self {
        Self(List::new())
    }

    /// Inserts a thread at the end.
    ///
    /// # Safety
    /// It sleeps in [`Waiter::sleep`] next, and does not move before that has returned.
    pub unsafe fn push(&self, Waiter(node): &Waiter<P>) {
        // SAFETY: by contract the waiter sleeps next and does not move before a waker has taken it
        // out.
        unsafe { self.0.push_back(node) };
    }

    /// Takes out the longest waiter.
    pub fn take_first(&mut self) -> Taken<P> {
        let taken = List::new();
        if let Some(first) = self.0.first() {
            // SAFETY: it is in the list, hence alive.
            let first = unsafe { first.as_ref() };
            first.value.taken.set(true);
            // SAFETY: it was in the one list, and stays where it is until it is woken.
            unsafe {
                self.0.remove(first);
                taken.push_back(first);
            }
        }
        Taken(taken)
    }

    /// Takes out everybody.
    pub fn take_all(&mut self) -> Taken<P> {
        self.0.iter().for_each(|node| node.value.taken.set(true));
        Taken(core::mem::replace(&mut self.0, List::new()))
    }
}

/// The waiters that were taken out of a queue.
#[must_use = "they sleep until they are woken"]
pub(crate) struct Taken<P: Platform>(List<Entry<P>>);

impl<P: Platform> Taken<P> {
    /// Whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.0.iter().count()
    }

    /// Wakes the first, and leaves the others to it: to be followed by [`Waiter::wake_next`]. As
    /// [`Taken::wake`], without the lock.
    pub fn wake_in_turn(self) {
        let Self(rest) = self;
        let Some(first) = rest.first() else { return };
        // SAFETY: it is in the list, hence alive.
        let first = unsafe { first.as_ref() };
        // SAFETY: `first` is the first node of this list, and the list is ours alone.
        unsafe { rest.remove(first) };
        first.value.rest.set(rest);
        // SAFETY: it sleeps until it is woken, and only we wake it.
        unsafe { Sleeper::tell(&raw const first.value.sleeper) }.send();
    }

    /// Wakes them; without the lock. The object that they waited on may be gone from here on.
    pub fn wake(self) {
        for node in self.0.iter() {
            // SAFETY: it sleeps until it is woken, and only we wake it.
            unsafe { Sleeper::tell(&raw const node.value.sleeper) }.send();
        }
    }
}
