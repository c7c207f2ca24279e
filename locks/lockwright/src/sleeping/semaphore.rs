//! The counting semaphore (`kernel/locking/semaphore.c`): a count under a lock, waiters first come,
//! first served.
//!
//! `up` hands what it gives straight to the first waiter: the count stays 0 as long as there are
//! waiters, and no newcomer overtakes one. A thread that returns from `down` may free the
//! semaphore: the thread that called `up` does not touch it any more.

mod guard;

pub use guard::SemaphoreGuard;

use crate::platform::Platform;
use crate::swait::{Queue, Waiter};
use crate::wait_lock::WaitLock;

struct State<P: Platform> {
    /// How many can go down at once; 0 if anybody waits.
    count: u32,
    waiters: Queue<P>,
}

/// A counting semaphore. It has no owner: anyone may go up.
///
/// # Rules
/// - A thread may end between `down` and `up`: another thread may call `up` for it.
/// - The child of a fork must not use a lock that another thread held or waited for at the fork.
///   Its wait list leads to threads that the child does not have.
///
/// # Guarantees
/// - Ordering: a thread that went down sees all that was done before the `up` that let it.
/// - Fairness: first come, first served. No newcomer overtakes a waiter.
/// - Source: `kernel/locking/semaphore.c`.
pub struct RawSemaphore<P: Platform> {
    state: WaitLock<P, State<P>>,
}

impl<P: Platform> RawSemaphore<P> {
    /// A semaphore that `count` can go down at once.
    pub fn new_in(count: u32) -> Self {
        Self { state: WaitLock::new(State { count, waiters: Queue::new() }) }
    }

    /// Goes down, and waits for that as long as it takes.
    ///
    /// - A thread may call this again, but with a count of 1 it then waits until another thread
    ///   calls `up`.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted a change of the semaphore,
    ///   and would wait for ever. The kernel allows `up` in interrupts, as it blocks them
    ///   meanwhile.
    pub fn down(&self) {
        self.down_until(None);
    }

    /// Goes down if that needs no waiting.
    ///
    /// True if it did; the kernel's `down_trylock` returns 0 then.
    ///
    /// - Any thread may call this. It does not wait for an `up`, but it may wait for the few
    ///   instructions in which another thread changes the semaphore.
    /// - A signal handler must not call this: it may have interrupted a change of the semaphore,
    ///   and would wait for ever. The kernel allows `up` in interrupts, as it blocks them
    ///   meanwhile.
    pub fn try_down(&self) -> bool {
        self.state.lock().take()
    }

    /// Goes down, or gives up when `deadline` (nanoseconds of [`Platform::now`]; none: never) has
    /// come. True if it did go down.
    ///
    /// - The rules of [`Self::down`] apply.
    /// - The semaphore is taken if that needs no waiting, even if the deadline has passed.
    pub fn down_until(&self, deadline: Option<u64>) -> bool {
        let mut state = self.state.lock();
        if state.take() {
            return true;
        }
        let waiter = Waiter::new();
        // SAFETY: this thread sleeps with `waiter` below, and `waiter` does not move before that
        // has returned.
        unsafe { state.waiters.push(&waiter) };
        drop(state);
        // SAFETY: `push` above put `waiter` into the queue of `state`.
        unsafe { waiter.sleep(&self.state, |state| &state.waiters, deadline) }
    }

    /// Goes up: the first waiter gets it, or the next one to come.
    ///
    /// - Any thread may call this, also one that did not go down. One call too many lets one thread
    ///   too many go down, and nothing reports it.
    /// - A signal handler must not call this: it may have interrupted a change of the semaphore,
    ///   and would wait for ever. The kernel allows `up` in interrupts, as it blocks them
    ///   meanwhile.
    /// - The caller may free the semaphore afterwards, if no other thread uses it.
    pub fn up(&self) {
        let mut state = self.state.lock();
        let first = state.waiters.take_first();
        state.count += u32::from(first.is_empty());
        drop(state);
        first.wake();
    }
}

impl<P: Platform> State<P> {
    /// Returns early instead of subtracting what a comparison says: rustc 1.95 loses that store
    /// when it optimises (`tests/compiler.rs`).
    fn take(&mut self) -> bool {
        if self.count == 0 {
            return false;
        }
        self.count -= 1;
        true
    }
}

/// A semaphore of one, as an exclusive lock (the kernel's DEFINE_SEMAPHORE with 1, DECLARE_MUTEX
/// before). Any thread may release it.
pub struct RawBinary<P: Platform>(RawSemaphore<P>);

impl<P: Platform> RawBinary<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self(RawSemaphore::new_in(1))
    }

    /// Waits for the lock and takes it.
    ///
    /// - The holder must not call this: it waits until another thread releases the lock.
    ///   [`RawDebug`](crate::debug::RawDebug) returns `Recursion` instead.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted a change of the semaphore,
    ///   and would wait for ever. The kernel allows `up` in interrupts, as it blocks them
    ///   meanwhile.
    pub fn lock(&self) {
        self.0.down();
    }

    /// Takes the lock if it is free.
    ///
    /// - Any thread may call this. The holder gets `false`.
    /// - A signal handler must not call this: it may have interrupted a change of the semaphore,
    ///   and would wait for ever. The kernel allows `up` in interrupts, as it blocks them
    ///   meanwhile.
    pub fn try_lock(&self) -> bool {
        self.0.try_down()
    }

    /// Releases the lock.
    ///
    /// - Any thread may call this for the holder. One call too many lets two threads inside at
    ///   once.
    /// - A signal handler must not call this: it may have interrupted a change of the semaphore,
    ///   and would wait for ever. The kernel allows `up` in interrupts, as it blocks them
    ///   meanwhile.
    ///
    /// # Safety
    /// It is held, and this is its holder's release.
    pub unsafe fn unlock(&self) {
        self.0.up();
    }

    /// Whether it is held now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        self.0.state.lock().count == 0
    }
}

#[cfg(feature = "std")]
impl RawBinary<crate::platform::linux::Linux> {
    /// A free lock, for statics.
    pub const fn new() -> Self {
        Self(RawSemaphore::new(1))
    }
}

#[cfg(feature = "std")]
impl Default for RawBinary<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(feature = "std")]
impl RawSemaphore<crate::platform::linux::Linux> {
    /// A semaphore that `count` can go down at once, for statics.
    pub const fn new(count: u32) -> Self {
        let word = core::sync::atomic::AtomicU32::new(0);
        Self { state: WaitLock::from_word(word, State { count, waiters: Queue::new() }) }
    }
}
