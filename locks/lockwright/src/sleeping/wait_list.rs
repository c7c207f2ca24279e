//! The list of those who wait for a lock: their records lie on their stacks, linked. Everything
//! here is under the wait lock of the lock that the list belongs to.

use core::cell::Cell;
use core::marker::PhantomPinned;
use core::ptr::{self, NonNull};

/// A record in a list. It stays where it is from its insertion to its removal.
pub struct Node<T> {
    next: Cell<*const Node<T>>,
    prev: Cell<*const Node<T>>,
    /// The value that the list's users keep for a waiter.
    pub value: T,
    _pinned: PhantomPinned,
}

impl<T> Node<T> {
    /// In no list.
    pub const fn new(value: T) -> Self {
        Self {
            next: Cell::new(ptr::null()),
            prev: Cell::new(ptr::null()),
            value,
            _pinned: PhantomPinned,
        }
    }
}

/// A list of waiters, in the order in which they are to be served.
///
/// Invariant: all nodes in it are alive. The thread that inserts a node removes it before the
/// node's life ends.
pub struct List<T> {
    first: Cell<*const Node<T>>,
    last: Cell<*const Node<T>>,
}

// SAFETY: pointers to nodes that are reached under the wait lock; their values may be used by any
// thread.
unsafe impl<T: Sync> Send for List<T> {}

impl<T> List<T> {
    /// Nobody.
    pub const fn new() -> Self {
        Self { first: Cell::new(ptr::null()), last: Cell::new(ptr::null()) }
    }

    /// The list of which these are the ends; nobody, if there are none.
    ///
    /// # Safety
    /// They are the ends of a list, which is not used otherwise as long as this one is.
    pub unsafe fn from_ends(ends: Option<[*const Node<T>; 2]>) -> Self {
        let [first, last] = ends.unwrap_or([ptr::null(); 2]);
        Self { first: Cell::new(first), last: Cell::new(last) }
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.first.get().is_null()
    }

    /// The first node.
    pub fn first(&self) -> Option<NonNull<Node<T>>> {
        NonNull::new(self.first.get().cast_mut())
    }

    /// The last node.
    pub fn last(&self) -> Option<NonNull<Node<T>>> {
        NonNull::new(self.last.get().cast_mut())
    }

    /// Inserts at the end.
    ///
    /// # Safety
    /// The node is in no list, and is removed from this one before it moves or ends.
    pub unsafe fn push_back(&self, node: &Node<T>) {
        // SAFETY: by contract the node is in no list and leaves this one before it moves or ends.
        unsafe { self.insert_before(node, None) }
    }

    /// Inserts before `place`, at the end if there is none.
    ///
    /// # Safety
    /// As for [`List::push_back`]; `place` is in this list.
    pub unsafe fn insert_before(&self, node: &Node<T>, place: Option<&Node<T>>) {
        let (next, prev) = match place {
            Some(place) => (ptr::from_ref(place), place.prev.get()),
            None => (ptr::null(), self.last.get()),
        };
        node.next.set(next);
        node.prev.set(prev);
        self.link(prev).set(node);
        self.back_link(next).set(node);
    }

    /// Removes a node.
    ///
    /// # Safety
    /// It is in this list.
    pub unsafe fn remove(&self, node: &Node<T>) {
        self.back_link(node.next.get()).set(node.prev.get());
        self.link(node.prev.get()).set(node.next.get());
    }

    /// The waiters in order. One may be removed after it has been yielded.
    pub fn iter(&self) -> impl Iterator<Item = &Node<T>> {
        let mut next = self.first.get();
        core::iter::from_fn(move || {
            // SAFETY: the list's nodes are alive.
            let node = unsafe { next.as_ref() }?;
            next = node.next.get();
            Some(node)
        })
    }

    /// Where the pointer to what follows `prev` is.
    fn link(&self, prev: *const Node<T>) -> &Cell<*const Node<T>> {
        // SAFETY: the list's nodes are alive.
        unsafe { prev.as_ref() }.map_or(&self.first, |prev| &prev.next)
    }

    /// Where the pointer to what precedes `next` is.
    fn back_link(&self, next: *const Node<T>) -> &Cell<*const Node<T>> {
        // SAFETY: the list's nodes are alive.
        unsafe { next.as_ref() }.map_or(&self.last, |next| &next.prev)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn values(list: &List<u32>) -> Vec<u32> {
        list.iter().map(|node| node.value).collect()
    }

    #[test]
    fn waiters_stand_where_they_are_put() {
        let list = List::new();
        let [one, two, three] = [1, 2, 3].map(Node::new);
        assert!(list.is_empty());
        // SAFETY: the nodes outlive the list's use.
        unsafe {
            list.push_back(&one);
            list.push_back(&three);
            list.insert_before(&two, Some(&three));
        }
        assert_eq!(values(&list), [1, 2, 3]);
        // SAFETY: they are in the list.
        unsafe {
            list.remove(&two);
            assert_eq!(values(&list), [1, 3]);
            list.remove(&one);
            list.remove(&three);
        }
        assert!(list.is_empty() && list.first().is_none());
    }
}
