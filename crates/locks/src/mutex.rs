//! The mutex (`kernel/locking/mutex.c`): sleeps, has an owner, and spins instead of sleeping as
//! long as that owner runs.
//!
//! Free, it goes to whoever comes first, also before those who sleep. But who has been woken in
//! vain once asks the owner to hand it off (HANDOFF), and is next: nobody starves.
//!
//! ```text
//!   owner    task | PICKUP 4 | HANDOFF 2 | WAITERS 1    (see owner.rs)
//!   waiters  first come, first served, under the wait lock
//! ```
//!
//! Differs from the kernel's in that optimistic spinning ends after some time by itself, and a wait
//! can have a deadline instead of being interrupted by signals. And the mutex may be freed by who
//! has unlocked it last: the kernel's is not to be used for counts of references to what it lies
//! in, POSIX' is, and so is this.

use crate::osq::RawOsq;
use crate::owner::{Owner, Waiting};
use crate::platform::{Atomic, Platform, Task};
use crate::sleeper::Sleeper;
use crate::wait_list::{List, Node};
use crate::wait_lock::WaitLock;

struct Waiter<P: Platform> {
    task: Task,
    sleeper: Sleeper<P>,
}

impl<P: Platform> Waiting<P> for Waiter<P> {
    fn task(&self) -> Task {
        self.task
    }

    fn sleeper(&self) -> &Sleeper<P> {
        &self.sleeper
    }
}

/// A mutex. Not recursive; who locks it unlocks it.
pub struct RawMutex<P: Platform> {
    owner: Owner<P>,
    /// Where those spin one behind the other who have not slept yet.
    osq: RawOsq<P>,
    waiters: WaitLock<P, List<Waiter<P>>>,
}

impl<P: Platform> RawMutex<P> {
    /// A free mutex.
    pub fn new_in() -> Self {
        Self {
            owner: Owner::from_word(P::Long::new(0)),
            osq: RawOsq::new_in(),
            waiters: WaitLock::new(List::new()),
        }
    }

    /// Takes the lock, and waits for that as long as it takes.
    #[inline]
    pub fn lock(&self) {
        if !self.owner.try_lock_fast() {
            self.lock_slow(None);
        }
    }

    /// Takes the lock if nobody has it.
    #[inline]
    pub fn try_lock(&self) -> bool {
        self.owner.try_lock(P::current()).is_ok()
    }

    /// Takes the lock, or gives up when `deadline` (nanoseconds of [`Platform::now`]; none: never)
    /// has come. True if it has the lock.
    #[inline]
    pub fn lock_until(&self, deadline: Option<u64>) -> bool {
        self.owner.try_lock_fast() || self.lock_slow(deadline)
    }

    #[cold]
    fn lock_slow(&self, deadline: Option<u64>) -> bool {
        let me = P::current();
        // Before queueing to spin: a free lock must not be waited for behind a spinner that was
        // preempted.
        if self.owner.try_lock(me).is_ok() || self.spin(me) {
            return true;
        }
        let mut waiters = self.waiters.lock();
        if self.owner.try_lock(me).is_ok() {
            return true;
        }
        let node = Node::new(Waiter { task: me, sleeper: Sleeper::new() });
        // SAFETY: it stays where it is, and is removed below.
        unsafe { waiters.push_back(&node) };
        self.owner.set_waiters();
        let mut expired = false;
        let taken = loop {
            // Under the wait lock: who released the lock before has told us before this, and is to
            // be forgotten; who releases it later tells us later.
            node.value.sleeper.arm();
            if self.owner.try_lock(me).is_ok() {
                break true;
            }
            if expired {
                break false;
            }
            drop(waiters);
            expired = !node.value.sleeper.sleep(deadline);
            // Only the first waiter is woken.
            let taken = !expired
                && (self.owner.try_lock_or_hand_off(me).is_ok() || self.owner.spin(me, || true));
            waiters = self.waiters.lock();
            if taken {
                break true;
            }
        };
        // SAFETY: inserted above; only we remove it.
        unsafe { waiters.remove(&node) };
        if waiters.is_empty() {
            self.owner.clear_flags();
        }
        taken
    }

    /// Takes the lock by optimistic spinning, in the queue of those who do. The first waiter spins
    /// without: it has waited long enough.
    fn spin(&self, me: Task) -> bool {
        // Not to queue in vain.
        if self.owner.task().is_some_and(|owner| !P::is_running(owner)) || !self.osq.lock() {
            return false;
        }
        let taken = self.owner.spin(me, || true);
        // SAFETY: locked above.
        unsafe { self.osq.unlock() };
        taken
    }

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds it.
    #[inline]
    pub unsafe fn unlock(&self) {
        if !self.owner.unlock_fast() {
            self.owner.unlock_slow(&self.waiters);
        }
    }

    /// Whether anyone holds it now.
    pub fn is_locked(&self) -> bool {
        self.owner.task().is_some()
    }

    /// Whether the calling thread holds it.
    pub fn is_owned(&self) -> bool {
        self.owner.task() == Some(P::current())
    }
}

#[cfg(feature = "std")]
impl RawMutex<crate::platform::linux::Linux> {
    /// A free mutex, for statics.
    pub const fn new() -> Self {
        use core::sync::atomic::{AtomicU32, AtomicUsize};
        Self {
            owner: Owner::from_word(AtomicUsize::new(0)),
            osq: RawOsq::new(),
            waiters: WaitLock::from_word(AtomicU32::new(0), List::new()),
        }
    }
}

#[cfg(feature = "std")]
impl Default for RawMutex<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}
