//! A task that waits for an rtmutex, its place among others, and what they wait for.

use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;

use super::raw_lock::RawLock;
use crate::platform::{Atomic, Task, Word};
use crate::wait_list::{List, Node};

const ASLEEP: u32 = 0;
const WOKEN: u32 = 1;

/// The key that a list is sorted by.
pub(super) trait Prioritized {
    fn priority(&self) -> i32;
}

/// The part of the lock that is the same on all platforms of the same words: tasks name by it the
/// lock that they wait for.
pub(crate) struct Core<W: Word, L: Atomic<usize>> {
    pub(super) owner: L,
    /// In the order in which they are to be served.
    ///
    /// Invariant: while the lock has an owner, the first of them is among the owner's
    /// [`super::pi::PiState::waiters`].
    pub(super) waiters: RawLock<W, List<Waiter<W, L>>>,
}

/// A waiter's record, on its stack.
pub(crate) struct Waiter<W: Word, L: Atomic<usize>> {
    /// As the lock's list is sorted; under the wait lock.
    priority: Cell<i32>,
    /// Its place in the list of the owner, if it is the first of the lock.
    pub(super) in_owner: Node<Inherited>,
    pub(super) task: Task,
    pub(super) lock: *const Core<W, L>,
    word: W,
}

// SAFETY: the cells are changed under the locks that they name.
unsafe impl<W: Word, L: Atomic<usize>> Sync for Waiter<W, L> {}

/// A priority that an owner inherits; under the owner's pi lock.
pub(crate) struct Inherited(pub(super) Cell<i32>);

// SAFETY: changed under the lock that it names.
unsafe impl Sync for Inherited {}

impl Prioritized for Inherited {
    fn priority(&self) -> i32 {
        self.0.get()
    }
}

impl<W: Word, L: Atomic<usize>> Prioritized for Waiter<W, L> {
    fn priority(&self) -> i32 {
        self.priority.get()
    }
}

impl<W: Word, L: Atomic<usize>> Waiter<W, L> {
    /// A task that is about to wait for a lock.
    pub fn new(task: Task, lock: &Core<W, L>) -> Self {
        Self {
            priority: Cell::new(0),
            in_owner: Node::new(Inherited(Cell::new(0))),
            task,
            lock,
            word: W::new(WOKEN),
        }
    }

    /// Changes the priority, while it is in no list.
    pub fn set_priority(&self, priority: i32) {
        self.priority.set(priority);
    }

    /// Gets ready to sleep, under the wait lock.
    pub fn doze(&self) {
        // Relaxed: as its waker comes through the wait lock.
        self.word.store(ASLEEP, Relaxed);
    }

    /// Sleeps until woken or until `deadline`, or for a shorter time. False: the deadline has come.
    pub fn sleep(&self, deadline: Option<u64>) -> bool {
        self.word.wait(ASLEEP, deadline)
    }

    /// Whether it has been woken.
    pub fn is_woken(&self) -> bool {
        // Relaxed: it looks under the wait lock what for.
        self.word.load(Relaxed) == WOKEN
    }

    /// Tells it that it is woken, under the wait lock. It may be gone when that is released.
    pub fn tell(&self) -> Wake<W> {
        // Relaxed: as above.
        self.word.store(WOKEN, Relaxed);
        Wake(&raw const self.word)
    }
}

/// A wake to be sent to a waiter that has been told, without the wait lock.
#[must_use = "the waiter sleeps until it is sent"]
pub(super) struct Wake<W: Word>(*const W);

impl<W: Word> Wake<W> {
    /// Sends it.
    #[track_caller]
    pub fn send(self) {
        W::wake(self.0, 1);
    }
}

/// Inserts behind all of the same and of higher priority.
///
/// # Safety
/// As for [`List::push_back`].
pub(super) unsafe fn enqueue<T: Prioritized>(list: &List<T>, node: &Node<T>) {
    let priority = node.value.priority();
    // Mostly all are of the same: the end is looked at first.
    // SAFETY: nodes in the list are alive.
    let last = list.last().map(|last| unsafe { last.as_ref() }.value.priority());
    let place = if last.is_none_or(|last| last >= priority) {
        None
    } else {
        list.iter().find(|other| other.value.priority() < priority)
    };
    // SAFETY: by contract the node is in no list and leaves this one before it ends; the place is
    // of this list.
    unsafe { list.insert_before(node, place) }
}
