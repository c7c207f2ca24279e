//! The locks that there are to choose from: one table, and what mutexes make of each.

use core::sync::atomic::{AtomicU16, AtomicU32};

use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::mutex::{Compact, RawMutex};
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use lockwright::qspinlock::RawQspinlock;
use lockwright::tas::RawTas;
use lockwright::ticket::RawTicket;

use crate::exclusive::Exclusive;
use crate::mutex::{Mutex, OfMutex};
use crate::platform::{Guest, Marked, OwnerWord, Plain, Tail};

/// A lock as it can be chosen: its name, what mutexes run on and what spinlocks run on.
pub trait Choice {
    /// The name.
    const NAME: &'static [u8];
    /// The lock for mutexes.
    type Mutex: OfMutex;
    /// The lock for spinlocks. Its word, marked, must never use bits 30 and 31.
    type Spin: Exclusive;
    /// Waiters queue in nodes of theirs, so threads get numbers.
    const NUMBERS: bool;
}

/// A lock that knows no owner, in the word.
impl<L: Exclusive> OfMutex for L {
    #[inline(always)]
    unsafe fn lock(m: *const Mutex) {
        // SAFETY: the caller promises that `m` is a mutex on this sort of locks, which stays.
        unsafe {
            <L as Exclusive>::lock(&raw const (*m).word);
            (*m).set_owner();
        }
    }

    #[inline(always)]
    unsafe fn try_lock(m: *const Mutex) -> bool {
        // SAFETY: the caller promises that `m` is a mutex on this sort of locks, which stays.
        unsafe {
            let taken = <L as Exclusive>::try_lock(&raw const (*m).word);
            if taken {
                (*m).set_owner();
            }
            taken
        }
    }

    unsafe fn lock_until(m: *const Mutex, deadline: u64) -> bool {
        // SAFETY: the caller promises that `m` is a mutex on this sort of locks, which stays.
        unsafe {
            let taken = <L as Exclusive>::lock_until(&raw const (*m).word, deadline);
            if taken {
                (*m).set_owner();
            }
            taken
        }
    }

    #[inline(always)]
    unsafe fn unlock(m: *const Mutex) {
        // SAFETY: the caller promises that it holds `m`, which is a mutex on this sort of locks.
        unsafe {
            (*m).clear_owner();
            <L as Exclusive>::unlock(&raw const (*m).word);
        }
    }
}

/// The kernel's mutex: its parts where a [`Mutex`] has word, owner and tail, with how often a
/// recursive one is taken and the number of users in between.
type KernelsParts = Compact<Guest<Plain>, OwnerWord, Tail, AtomicU32, AtomicU16>;

/// The kernel's mutex, which has an owner itself.
pub struct KernelsMutex;

const _: () = {
    let ([word, owner, tail], [m_word, m_owner, m_tail]) = (KernelsParts::OFFSETS, Mutex::OFFSETS);
    assert!(word == m_word && owner == m_owner && tail == m_tail);
    assert!(size_of::<KernelsParts>() <= size_of::<Mutex>());
};

impl KernelsMutex {
    /// # Safety
    /// `m` is a mutex on this lock.
    #[inline(always)]
    unsafe fn of<'a>(m: *const Mutex) -> &'a RawMutex<Guest<Plain>, KernelsParts> {
        // SAFETY: the caller promises a mutex on this lock. Its parts lie as those of a `Mutex` do,
        // checked above, and all are made of atomics of the same sizes.
        unsafe { &*m.cast() }
    }
}

impl OfMutex for KernelsMutex {
    #[inline(always)]
    unsafe fn lock(m: *const Mutex) {
        // SAFETY: the caller promises that `m` is a mutex on this sort of locks, which stays.
        unsafe { Self::of(m) }.lock();
    }
    #[inline(always)]
    unsafe fn try_lock(m: *const Mutex) -> bool {
        // SAFETY: the caller promises that `m` is a mutex on this sort of locks, which stays.
        unsafe { Self::of(m) }.try_lock()
    }
    unsafe fn lock_until(m: *const Mutex, deadline: u64) -> bool {
        // SAFETY: the caller promises that `m` is a mutex on this sort of locks, which stays.
        unsafe { Self::of(m) }.lock_until(Some(deadline))
    }
    #[inline(always)]
    unsafe fn unlock(m: *const Mutex) {
        // SAFETY: the caller promises that it holds `m`, which is a mutex on this sort of locks.
        unsafe { Self::of(m).unlock() };
    }
}

/// The locks by name; the command has the same list, with words (`cli/src/run/swap/locks.rs`).
macro_rules! choices {
    ($($id:ident $name:literal: $mutex:ty, $spin:ty, $numbers:literal;)*) => {
        $(
            #[doc = concat!("`--lock ", $name, "`.")]
            pub struct $id;

            impl Choice for $id {
                const NAME: &'static [u8] = $name.as_bytes();
                type Mutex = $mutex;
                type Spin = $spin;
                const NUMBERS: bool = $numbers;
            }
        )*

        /// Calls `$with::<L>($arguments)` for each `L: Choice` until one answers true. Whether one
        /// did.
        macro_rules! for_each_choice {
            ($with:ident ($with_name:expr)) => {
                false $(|| $with::<$crate::table::$id>($with_name))*
            };
        }
        pub(crate) use for_each_choice;
    };
}

choices! {
    HybridMutex "hybrid": RawHybridMutex<Guest<Plain>>, RawPvQspinlock<Guest<Marked>, Hybrid>, true;
    KernelMutex "mutex": KernelsMutex, RawQspinlock<Guest<Marked>>, true;
    Qspinlock "qspinlock": RawQspinlock<Guest<Plain>>, RawQspinlock<Guest<Marked>>, true;
    Pvqspinlock "pvqspinlock": RawPvQspinlock<Guest<Plain>, Hybrid>, RawPvQspinlock<Guest<Marked>, Hybrid>, true;
    PvqspinlockSingleSteal "pvqspinlock_single_steal": RawPvQspinlock<Guest<Plain>, SingleSteal>, RawPvQspinlock<Guest<Marked>, SingleSteal>, true;
    PvqspinlockUnfair "pvqspinlock_unfair": RawPvQspinlock<Guest<Plain>, Unfair>, RawPvQspinlock<Guest<Marked>, Unfair>, true;
    Ticket "ticket": RawTicket<Guest<Plain>>, RawQspinlock<Guest<Marked>>, true;
    Tas "tas": RawTas<Guest<Plain>>, RawTas<Guest<Marked>>, false;
}
