//! Exclusive locks of the crate `lockwright` as operations on a word in the program's memory.

use core::sync::atomic::AtomicU32;

use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use lockwright::qspinlock::RawQspinlock;
use lockwright::tas::RawTas;
use lockwright::ticket::RawTicket;

use crate::os;
use crate::platform::{Guest, Marked, Plain};

/// An exclusive lock of 4 bytes, of which 0 is the free one: [`Plain`], as mutexes need it, or
/// [`Marked`].
pub trait Exclusive {
    /// Takes the lock.
    ///
    /// # Safety
    /// `word` is a lock of this sort, which stays.
    unsafe fn lock(word: *const AtomicU32);
    /// Takes the lock if it is free.
    ///
    /// # Safety
    /// As for [`Exclusive::lock`].
    unsafe fn try_lock(word: *const AtomicU32) -> bool;
    /// Takes the lock, or gives up at `deadline`, in nanoseconds of CLOCK_MONOTONIC. True if it is
    /// taken.
    ///
    /// # Safety
    /// As for [`Exclusive::lock`].
    unsafe fn lock_until(word: *const AtomicU32, deadline: u64) -> bool;
    /// Releases the lock. The word may be gone before this returns.
    ///
    /// # Safety
    /// The caller holds it.
    unsafe fn unlock(word: *const AtomicU32);
}

/// Implements [`Exclusive`] over a lock of the crate `lockwright`. `timed` if it has its own
/// `lock_until`; else it is tried for until the deadline.
macro_rules! exclusive {
    ($($raw:ty: $until:ident;)*) => { $(
        const _: () = assert!(size_of::<$raw>() == 4 && align_of::<$raw>() == 4);

        impl Exclusive for $raw {
            #[inline(always)]
            unsafe fn lock(word: *const AtomicU32) {
                // SAFETY: the caller promises a lock of this sort at `word`, of whose size there is
                // nothing but the word.
                unsafe { &*word.cast::<$raw>() }.lock();
            }
            #[inline(always)]
            unsafe fn try_lock(word: *const AtomicU32) -> bool {
                // SAFETY: the caller promises a lock of this sort at `word`, of whose size there is
                // nothing but the word.
                unsafe { &*word.cast::<$raw>() }.try_lock()
            }
            unsafe fn lock_until(word: *const AtomicU32, deadline: u64) -> bool {
                // SAFETY: the caller promises a lock of this sort at `word`, of whose size there is
                // nothing but the word.
                $until!(unsafe { &*word.cast::<$raw>() }, deadline)
            }
            #[inline(always)]
            unsafe fn unlock(word: *const AtomicU32) {
                // SAFETY: the caller promises that it holds the lock of this sort at `word`.
                unsafe { (*word.cast::<$raw>()).unlock() };
            }
        }
    )* };
}

macro_rules! timed {
    ($lock:expr, $deadline:expr) => {
        $lock.lock_until(Some($deadline))
    };
}

macro_rules! tried {
    ($lock:expr, $deadline:expr) => {{
        let lock = $lock;
        loop {
            if lock.try_lock() {
                break true;
            }
            if os::now() >= $deadline {
                break false;
            }
            os::sched_yield();
        }
    }};
}

exclusive! {
    RawHybridMutex<Guest<Plain>>: timed;
    RawQspinlock<Guest<Plain>>: tried;
    RawQspinlock<Guest<Marked>>: tried;
    RawPvQspinlock<Guest<Plain>, Hybrid>: tried;
    RawPvQspinlock<Guest<Marked>, Hybrid>: tried;
    RawPvQspinlock<Guest<Plain>, SingleSteal>: tried;
    RawPvQspinlock<Guest<Marked>, SingleSteal>: tried;
    RawPvQspinlock<Guest<Plain>, Unfair>: tried;
    RawPvQspinlock<Guest<Marked>, Unfair>: tried;
    RawTicket<Guest<Plain>>: tried;
    RawTas<Guest<Plain>>: tried;
    RawTas<Guest<Marked>>: tried;
}
