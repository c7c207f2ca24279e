//! The locks by the names that they go by, around the value that they guard: each raw lock of this
//! crate on Linux, as a [`lock_api`] lock. docs/locks.md says which is for what.
//!
//! ```
//! use lockwright::locks::TicketLock;
//!
//! static JOURNAL: TicketLock<Vec<u32>> = TicketLock::new(Vec::new());
//! JOURNAL.lock().push(1);
//! ```
//!
//! These locks have all features of `lock_api`: guards of parts of the value, guards that outlive
//! the borrow (`lock_api`'s feature `arc_lock`), deadlines where the lock has them. Each tells
//! `lockwright check` and `lockwright meter` of itself if it is wrapped:
//! `lock_api::Mutex<Traced<RawTicket<Linux>>, T>`; see [`crate::traced`].

mod fair;
mod reentrant;
mod upgradable;

use core::time::Duration;
use std::time::Instant;

use lock_api::GuardNoSend;

pub use reentrant::{ReentrantMutex, ReentrantMutexGuard, ThreadId};
pub use upgradable::{BiasedRwLockUpgradableReadGuard, HybridRwLockUpgradableReadGuard};

use crate::biased_rwlock::RawBiasedRwLock;
use crate::condvar::RawCondvar;
use crate::exclusive::Exclusive;
use crate::hybrid_mutex::RawHybridMutex;
use crate::hybrid_rwlock::RawHybridRwLock;
use crate::mcs::RawMcs;
use crate::mutex::RawMutex;
use crate::percpu_rwsem::RawPercpuRwSem;
use crate::platform::Platform;
use crate::platform::linux::Linux;
use crate::pvqspinlock::{RawPvQspinlock, SingleSteal, Unfair};
use crate::qrwlock::RawQrwLock;
use crate::qspinlock::RawQspinlock;
use crate::rtmutex::RawRtMutex;
use crate::rwsem::RawRwSem;
use crate::semaphore::RawSemaphore;
use crate::tas::RawTas;
use crate::ticket::RawTicket;

/// Names locks that one thread can have, and implements `lock_api`'s traits for them: the timed
/// ones by the method named last, if the lock has it.
macro_rules! mutex {
    ($($raw:ty, $lock:ident, $guard:ident, $doc:literal $(, $lock_until:ident)?;)*) => { $(
        #[doc = concat!("A value under ", $doc, ".")]
        pub type $lock<T> = lock_api::Mutex<$raw, T>;

        #[doc = concat!("Has a [`", stringify!($lock), "`] locked as long as it lives.")]
        pub type $guard<'a, T> = lock_api::MutexGuard<'a, $raw, T>;

        // SAFETY: the lock excludes, and comments at its operations pair each Acquire with its
        // Release. All state is in the lock: a forgotten guard leaves it locked.
        unsafe impl lock_api::RawMutex for $raw {
            const INIT: Self = Self::new();
            type Guard = GuardNoSend;

            #[inline]
            fn lock(&self) -> GuardNoSend {
                self.lock();
                GuardNoSend::new()
            }

            #[inline]
            fn try_lock(&self) -> Option<GuardNoSend> {
                self.try_lock().then(GuardNoSend::new)
            }

            /// # Safety
            /// The contract is that of `lock_api::RawMutex::unlock`.
            #[inline]
            unsafe fn unlock(&self, _: GuardNoSend) {
                // SAFETY: the caller gives back its acquisition.
                unsafe { self.unlock() };
            }

            fn is_locked(&self) -> bool {
                self.is_locked()
            }
        }

        $(
            // SAFETY: the lock excludes, as for its other acquisitions; an attempt fails once the
            // deadline has come.
            unsafe impl lock_api::RawMutexTimed for $raw {
                type Duration = Duration;
                type Instant = Instant;

                fn try_lock_for(&self, timeout: Duration) -> Option<GuardNoSend> {
                    self.$lock_until(deadline(timeout)).then(GuardNoSend::new)
                }

                fn try_lock_until(&self, timeout: Instant) -> Option<GuardNoSend> {
                    self.try_lock_for(timeout.saturating_duration_since(Instant::now()))
                }
            }
        )?
    )* };
}

/// When a wait of this length that begins now is over: nanoseconds of [`Platform::now`]; none:
/// never.
pub(crate) fn deadline(timeout: Duration) -> Option<u64> {
    u64::try_from(timeout.as_nanos()).ok().and_then(|ns| Linux::now().checked_add(ns))
}

mutex! {
    RawTas<Linux>, TasLock, TasLockGuard, "a test-and-set lock: [`crate::tas`]";
    RawTicket<Linux>, TicketLock, TicketLockGuard, "a ticket lock: [`crate::ticket`]";
    RawQspinlock<Linux>, SpinLock, SpinLockGuard, "the kernel's queued spinlock: [`crate::qspinlock`]";
    RawPvQspinlock<Linux>, PvSpinLock, PvSpinLockGuard, "the queued spinlock whose waiters sleep: [`crate::pvqspinlock`]";
    RawPvQspinlock<Linux, SingleSteal>, SingleStealSpinLock, SingleStealSpinLockGuard, "the same, stolen at most once: [`crate::pvqspinlock::SingleSteal`]";
    RawPvQspinlock<Linux, Unfair>, UnfairSpinLock, UnfairSpinLockGuard, "the same without a queue: [`crate::pvqspinlock::Unfair`]";
    RawMcs<Linux>, McsLock, McsLockGuard, "an MCS lock: [`crate::mcs`]";
    RawHybridMutex<Linux>, HybridMutex, HybridMutexGuard, "a mutex of 4 bytes for more threads than CPUs: [`crate::hybrid_mutex`]", lock_until;
    RawMutex<Linux>, Mutex, MutexGuard, "a sleeping mutex that spins on its running owner: [`crate::mutex`]", lock_until;
    RawRtMutex<Linux>, RtMutex, RtMutexGuard, "a mutex with priority inheritance: [`crate::rtmutex`]";
}

/// Names reader-writer locks, and implements `lock_api`'s traits for them by the methods that are
/// named.
macro_rules! rwlock {
    ($($raw:ty, $lock:ident, $read:ident, $write:ident, $doc:literal {
        read: $lock_shared:ident $try_lock_shared:ident $unlock_shared:ident;
        write: $lock_exclusive:ident $try_lock_exclusive:ident $unlock_exclusive:ident;
        is: $is_locked:ident $is_locked_exclusive:ident;
        $(downgrade: $downgrade:ident;)?
        $(timed: $lock_shared_until:ident $lock_exclusive_until:ident;)?
    })*) => { $(
        #[doc = concat!("A value under ", $doc, ".")]
        pub type $lock<T> = lock_api::RwLock<$raw, T>;

        #[doc = concat!("Has a [`", stringify!($lock), "`] locked to read as long as it lives.")]
        pub type $read<'a, T> = lock_api::RwLockReadGuard<'a, $raw, T>;

        #[doc = concat!("Has a [`", stringify!($lock), "`] locked to write as long as it lives.")]
        pub type $write<'a, T> = lock_api::RwLockWriteGuard<'a, $raw, T>;

        // SAFETY: the lock excludes, and comments at its operations pair each Acquire with its
        // Release; readers exclude writers, and writers all.
        unsafe impl lock_api::RawRwLock for $raw {
            const INIT: Self = Self::new();
            type SharedGuard = GuardNoSend;
            type ExclusiveGuard = GuardNoSend;

            #[inline]
            fn lock_shared(&self) -> GuardNoSend {
                self.$lock_shared();
                GuardNoSend::new()
            }

            #[inline]
            fn try_lock_shared(&self) -> Option<GuardNoSend> {
                self.$try_lock_shared().then(GuardNoSend::new)
            }

            /// # Safety
            /// The contract is that of `lock_api::RawRwLock::unlock_shared`.
            #[inline]
            unsafe fn unlock_shared(&self, _: GuardNoSend) {
                // SAFETY: the caller gives back its acquisition.
                unsafe { self.$unlock_shared() };
            }

            #[inline]
            fn lock_exclusive(&self) -> GuardNoSend {
                self.$lock_exclusive();
                GuardNoSend::new()
            }

            #[inline]
            fn try_lock_exclusive(&self) -> Option<GuardNoSend> {
                self.$try_lock_exclusive().then(GuardNoSend::new)
            }

            /// # Safety
            /// The contract is that of `lock_api::RawRwLock::unlock_exclusive`.
            #[inline]
            unsafe fn unlock_exclusive(&self, _: GuardNoSend) {
                // SAFETY: the caller gives back its acquisition.
                unsafe { self.$unlock_exclusive() };
            }

            fn is_locked(&self) -> bool {
                self.$is_locked()
            }

            fn is_locked_exclusive(&self) -> bool {
                self.$is_locked_exclusive()
            }
        }

        $(
            // SAFETY: the lock excludes; no writer comes in between.
            unsafe impl lock_api::RawRwLockDowngrade for $raw {
                /// # Safety
                /// The contract is that of `lock_api::RawRwLockDowngrade::downgrade`.
                #[inline]
                unsafe fn downgrade(&self, guard: GuardNoSend) -> GuardNoSend {
                    // SAFETY: the caller gives back its acquisition.
                    unsafe { self.$downgrade() };
                    guard
                }
            }
        )?

        $(
            // SAFETY: the lock excludes, as for its other acquisitions; an attempt fails once the
            // deadline has come.
            unsafe impl lock_api::RawRwLockTimed for $raw {
                type Duration = Duration;
                type Instant = Instant;

                fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardNoSend> {
                    self.$lock_shared_until(deadline(timeout)).then(GuardNoSend::new)
                }

                fn try_lock_shared_until(&self, timeout: Instant) -> Option<GuardNoSend> {
                    self.try_lock_shared_for(timeout.saturating_duration_since(Instant::now()))
                }

                fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardNoSend> {
                    self.$lock_exclusive_until(deadline(timeout)).then(GuardNoSend::new)
                }

                fn try_lock_exclusive_until(&self, timeout: Instant) -> Option<GuardNoSend> {
                    self.try_lock_exclusive_for(timeout.saturating_duration_since(Instant::now()))
                }
            }
        )?
    )* };
}

rwlock! {
    RawHybridRwLock<Linux>, HybridRwLock, HybridRwLockReadGuard, HybridRwLockWriteGuard,
    "a reader-writer lock of 8 bytes for more threads than CPUs: [`crate::hybrid_rwlock`]" {
        read: lock_shared try_lock_shared unlock_shared;
        write: lock_exclusive try_lock_exclusive unlock_exclusive;
        is: is_locked is_locked_exclusive;
        downgrade: downgrade;
        timed: lock_shared_until lock_exclusive_until;
    }
    RawBiasedRwLock<Linux>, BiasedRwLock, BiasedRwLockReadGuard, BiasedRwLockWriteGuard,
    "a reader-writer lock whose readers write to lines of their own: [`crate::biased_rwlock`]" {
        read: lock_shared try_lock_shared unlock_shared;
        write: lock_exclusive try_lock_exclusive unlock_exclusive;
        is: is_locked is_locked_exclusive;
        downgrade: downgrade;
        timed: lock_shared_until lock_exclusive_until;
    }
    RawRwSem<Linux>, RwSemaphore, RwSemaphoreReadGuard, RwSemaphoreWriteGuard,
    "a sleeping reader-writer lock, the kernel's rwsem: [`crate::rwsem`]" {
        read: down_read try_down_read up_read;
        write: down_write try_down_write up_write;
        is: is_locked is_locked_by_writer;
        downgrade: downgrade_write;
        timed: down_read_until down_write_until;
    }
    RawQrwLock<Linux>, RwLock, RwLockReadGuard, RwLockWriteGuard,
    "the kernel's queued reader-writer spinlock: [`crate::qrwlock`]" {
        read: read_lock try_read_lock read_unlock;
        write: write_lock try_write_lock write_unlock;
        is: is_locked is_locked_by_writer;
    }
    RawPercpuRwSem<Linux>, PercpuRwSemaphore, PercpuRwSemaphoreReadGuard, PercpuRwSemaphoreWriteGuard,
    "a reader-writer lock whose readers write nothing that they share: [`crate::percpu_rwsem`]" {
        read: down_read try_down_read up_read;
        write: down_write try_down_write up_write;
        is: is_locked is_blocked;
    }
}

/// A condition variable of a [`Mutex`]: [`crate::condvar`].
pub type Condvar = lock_api::Condvar<RawCondvar<Linux>>;

/// A condition variable of a [`HybridMutex`]: [`crate::condvar`].
pub type HybridCondvar = lock_api::Condvar<RawCondvar<Linux, RawHybridMutex<Linux>>>;

/// No wake comes without a notification.
// SAFETY: the waiter is in the queue before it releases the mutex, and takes the mutex again before
// it returns; neither step panics.
unsafe impl<M: Exclusive + lock_api::RawMutex> lock_api::RawCondvar for RawCondvar<Linux, M> {
    const INIT: Self = Self::new();
    type RawMutex = M;

    /// # Safety
    /// The contract is that of `lock_api::RawCondvar::wait`.
    unsafe fn wait(&self, mutex: &M, _: &mut M::Guard) {
        // SAFETY: by the trait's contract the calling thread holds `mutex`, whose guard it passes.
        unsafe { self.wait(mutex) };
    }

    fn notify_one(&self) -> bool {
        self.notify_one()
    }

    fn notify_all(&self) -> usize {
        self.notify_all()
    }
}

// SAFETY: the timed wait queues the waiter first and takes the mutex again at its end; no step
// panics.
unsafe impl<M> lock_api::RawCondvarTimed for RawCondvar<Linux, M>
where
    M: Exclusive + lock_api::RawMutexTimed<Duration = Duration, Instant = Instant>,
{
    fn checked_duration_to_instant(timeout: &Duration) -> Option<Instant> {
        Instant::now().checked_add(*timeout)
    }

    /// # Safety
    /// The contract is that of `lock_api::RawCondvarTimed::wait_until`.
    unsafe fn wait_until(&self, mutex: &M, _: &mut M::Guard, timeout: &Instant) -> bool {
        let left = timeout.saturating_duration_since(Instant::now());
        // SAFETY: by the trait's contract the calling thread holds `mutex`, whose guard it passes.
        !unsafe { self.wait_until(mutex, deadline(left)) }
    }
}

/// A counting semaphore: [`crate::semaphore`]. It guards no value.
pub type Semaphore = RawSemaphore<Linux>;

/// Has gone down at a [`Semaphore`] as long as it lives.
pub type SemaphoreGuard<'a> = crate::semaphore::SemaphoreGuard<'a, Linux>;
