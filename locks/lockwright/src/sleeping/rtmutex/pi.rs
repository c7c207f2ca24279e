//! Priority inheritance: a task inherits from the first waiter of each lock that it owns.

use core::cell::Cell;
use core::ptr;

use super::waiter::{Core, Inherited, Prioritized, Waiter, enqueue};
use crate::platform::{Atomic, Word};
use crate::wait_list::{List, Node};

/// A task's part in priority inheritance, under its pi lock.
pub(crate) struct PiState<W: Word, L: Atomic<usize>> {
    /// The first waiters of the locks that it owns, by priority.
    waiters: List<Inherited>,
    /// The record by which it waits itself; null: it does not.
    ///
    /// Invariant: the record is alive, and in the list of its lock.
    pub(super) blocked_on: Cell<*const Node<Waiter<W, L>>>,
    /// Its own priority when it last began to wait.
    pub(super) own: Cell<i32>,
    /// Whether the platform has been told to let it inherit, and what.
    pub(super) told: Cell<(bool, i32)>,
}

// SAFETY: pointers to what is reached under the locks of the task and of the lock that it waits
// for.
unsafe impl<W: Word, L: Atomic<usize>> Send for PiState<W, L> {}

impl<W: Word, L: Atomic<usize>> PiState<W, L> {
    /// That of a task that owns and waits for nothing.
    pub const fn new() -> Self {
        Self {
            waiters: List::new(),
            blocked_on: Cell::new(ptr::null()),
            own: Cell::new(0),
            told: Cell::new((false, 0)),
        }
    }

    /// The priority that it inherits now.
    pub(super) fn inherited(&self) -> Option<i32> {
        // SAFETY: nodes in the list are alive.
        self.waiters.first().map(|first| unsafe { first.as_ref() }.value.priority())
    }

    /// The priority by which it waits.
    pub(super) fn effective(&self) -> i32 {
        self.inherited().map_or(self.own.get(), |inherited| inherited.max(self.own.get()))
    }

    /// Whether a lock's first waiter is the one who decides what it inherits.
    pub(super) fn is_topped_by(&self, place: *const Node<Inherited>) -> bool {
        self.waiters.first().is_some_and(|first| ptr::eq(first.as_ptr(), place))
    }

    /// Inherits from a lock's first waiter, at the priority by which that waits.
    ///
    /// # Safety
    /// It is in no task's list, and leaves this one before it ends.
    pub(super) unsafe fn attach(&self, waiter: &Waiter<W, L>) {
        waiter.in_owner.value.0.set(waiter.priority());
        // SAFETY: by contract the node is in no task's list and leaves this one before it ends.
        unsafe { enqueue(&self.waiters, &waiter.in_owner) }
    }

    /// Inherits from it no more.
    ///
    /// # Safety
    /// It is in this list.
    pub(super) unsafe fn detach(&self, waiter: &Waiter<W, L>) {
        // SAFETY: by this function's contract the node is in this list.
        unsafe { self.waiters.remove(&waiter.in_owner) }
    }

    /// Inherits from `after` instead of `before`.
    ///
    /// # Safety
    /// As for [`Self::detach`] of `before` and then [`Self::attach`] of `after`.
    pub(super) unsafe fn exchange(&self, before: Option<&Waiter<W, L>>, after: &Waiter<W, L>) {
        // SAFETY: by contract `before` is in this list, and `after` is in none and leaves this one
        // before it ends.
        unsafe {
            if let Some(before) = before {
                self.detach(before);
            }
            self.attach(after);
        }
    }

    /// The lock that the task waits for; null: none.
    pub(super) fn blocking_lock(&self) -> *const Core<W, L> {
        // SAFETY: `blocked_on` is null or, by its invariant, a record that is alive.
        unsafe { self.blocked_on.get().as_ref() }.map_or(ptr::null(), |node| node.value.lock)
    }
}
