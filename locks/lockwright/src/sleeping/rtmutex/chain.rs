//! The walk along the chain of waits: from an owner to the lock that it waits for, to that lock's
//! owner, and so on. Each waiter moves to the place of its new priority, and each owner inherits
//! it. A walk that meets the task it began with has found a deadlock.
//!
//! One step at a time. The task's stay lock keeps it from leaving its wait, and so keeps the lock
//! alive that it waits for, until that one's wait lock is taken, under which the task may have got
//! the lock or given up meanwhile. Between two steps the world may change; the next step then finds
//! nothing that it should go on with.
//!
//! ```text
//!   task --blocked_on--> waiter --lock--> lock --owner--> task --blocked_on--> ...
//!   |<------------- stay lock ------------------->|
//!   |<- pi lock ->|                |<- wait lock, then pi locks of both ->|
//! ```
//!
//! The kernel tries the wait lock under the pi lock instead, against the order of the locks, and
//! tries again: its holders run. Here a holder may have been preempted, and must inherit the
//! waiter's priority.

use core::ptr;

use super::error::Error;
use super::waiter::{Core, Prioritized, Waiter, enqueue};
use crate::platform::{Platform, Task};
use crate::wait_list::Node;

/// As many steps as the kernel's `max_lock_depth`.
const MAX_DEPTH: u32 = 1024;

/// Whether a wait is looked at for deadlocks to the end of its chain, or only as far as priorities
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    Full,
    Minimal,
}

type CoreOf<P> = Core<<P as Platform>::Word, <P as Platform>::Long>;
pub(super) type WaiterNode<P> = Node<Waiter<<P as Platform>::Word, <P as Platform>::Long>>;

/// Walks from `task`, which is to wait for the lock at `next` still. `from`: the lock that `me`
/// waits for or has waited for at the begin of the chain, by `waiter` if it still does.
pub(super) fn walk<P: Platform>(
    mut task: Task,
    walk: Walk,
    from: Option<&CoreOf<P>>,
    mut next: *const CoreOf<P>,
    waiter: Option<&WaiterNode<P>>,
    me: Task,
) -> Result<(), Error> {
    // The place that the last step's change has in `task`'s list, if it was the first of its lock.
    let mut top = waiter.map_or(ptr::null(), |waiter| &raw const waiter.value.in_owner);
    let mut depth = 0;
    loop {
        if depth == MAX_DEPTH {
            return Err(Error::Deadlock);
        }
        let Some(storage) = P::per_task(task) else { return Ok(()) };
        let _stay = storage.stay.lock::<P>();
        if !ptr::eq(storage.pi.lock::<P>().blocking_lock(), next) {
            return Ok(());
        }
        // SAFETY: alive, as a task waits for it that cannot return from that without its stay lock.
        let lock = unsafe { &*next };
        let waiters = lock.waiters.lock::<P>();
        let pi = storage.pi.lock::<P>();
        // SAFETY: alive by its invariant, as long as we hold the pi lock or the wait lock of its
        // lock. None: it has got the lock meanwhile, or given up.
        let Some(node) = (unsafe { pi.blocked_on.get().as_ref() }) else { return Ok(()) };
        if waiter.is_some() && from.is_some_and(|from| from.owner().is_none()) {
            // Released meanwhile: we need not wait at all.
            return Ok(());
        }
        if !top.is_null() && pi.inherited().is_none() {
            // Nobody waits for the task any more.
            return Ok(());
        }
        // Nothing to change from here on; a search for a deadlock goes on.
        let settled =
            (!top.is_null() && !pi.is_topped_by(top)) || node.value.priority() == pi.effective();
        if settled && walk == Walk::Minimal {
            return Ok(());
        }
        depth += 1;
        if from.is_some_and(|from| ptr::eq(from, lock)) || lock.owner() == Some(me) {
            return Err(Error::Deadlock);
        }
        let before = waiters.first();
        if !settled {
            // SAFETY: in the list by its invariant; back in it at once.
            unsafe {
                waiters.remove(node);
                node.value.set_priority(pi.effective());
                enqueue(&waiters, node);
            }
        }
        drop(pi);
        let first = waiters.first();
        let Some(owner) = lock.owner() else {
            // The new first waiter does not know that it is, and the old one has been woken in
            // vain. SAFETY: nodes in the list are alive.
            let wake = first
                .filter(|_| first != before)
                .map(|first| unsafe { first.as_ref() }.value.tell());
            drop(waiters);
            if let Some(wake) = wake {
                wake.send();
            }
            return Ok(());
        };
        task = owner;
        let Some(storage) = P::per_task(task) else { return Ok(()) };
        let pi = storage.pi.lock::<P>();
        let is_node = |other: Option<ptr::NonNull<WaiterNode<P>>>| {
            other.is_some_and(|other| ptr::eq(other.as_ptr(), node))
        };
        let changed = !settled && (is_node(before) || is_node(first));
        if let (true, Some(before), Some(first)) = (changed, before, first) {
            // SAFETY: by the invariant of `waiters`.
            unsafe { pi.exchange(Some(&before.as_ref().value), &first.as_ref().value) };
            pi.tell::<P>(task);
        }
        next = pi.blocking_lock();
        // SAFETY: nodes in the list are alive.
        top = first
            .map_or(ptr::null(), |first| unsafe { &raw const (*first.as_ptr()).value.in_owner });
        if next.is_null() || (walk == Walk::Minimal && !changed) {
            return Ok(());
        }
    }
}
