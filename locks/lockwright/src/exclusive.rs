//! The interface of exclusive locks, for types that are made of any of them.

use crate::hybrid_mutex::RawHybridMutex;
use crate::mcs::RawMcs;
use crate::mutex::{Layout, RawMutex};
use crate::platform::Platform;
use crate::pvqspinlock::{Mode, RawPvQspinlock};
use crate::qspinlock::RawQspinlock;
use crate::rtmutex::RawRtMutex;
use crate::semaphore::RawBinary;
use crate::tas::RawTas;
use crate::ticket::RawTicket;

/// A lock that one thread holds at a time, and not twice.
///
/// `#[track_caller]` lets a lock know its caller, through all layers above it.
///
/// # Safety
/// It is.
pub unsafe trait Exclusive: Send + Sync {
    /// Whether a waiter does not sleep: it is held for short times, and on one CPU.
    const SPINS: bool;

    /// A free lock.
    fn new() -> Self;

    /// Takes the lock, and waits for that as long as it takes.
    #[track_caller]
    fn lock(&self);

    /// Takes the lock if nobody has it. It may refuse a free one for others' sake.
    #[track_caller]
    fn try_lock(&self) -> bool;

    /// Releases the lock.
    ///
    /// # Safety
    /// The calling thread holds it.
    #[track_caller]
    unsafe fn unlock(&self);

    /// Whether anyone holds it now.
    fn is_locked(&self) -> bool;
}

macro_rules! exclusive {
    ($([$($parameter:tt)*] $lock:ty, spins: $spins:literal;)*) => {
        $(
            // SAFETY: `lock` admits one thread at a time until `unlock`; the loom model of this
            // type checks that.
            unsafe impl<$($parameter)*> Exclusive for $lock {
                const SPINS: bool = $spins;

                fn new() -> Self {
                    Self::new_in()
                }
                #[inline]
                fn lock(&self) {
                    self.lock();
                }
                #[inline]
                fn try_lock(&self) -> bool {
                    self.try_lock()
                }
                /// # Safety
                /// The contract is that of `Exclusive::unlock`.
                #[inline]
                unsafe fn unlock(&self) {
                    // SAFETY: by the trait's contract the calling thread holds this lock.
                    unsafe { self.unlock() };
                }
                fn is_locked(&self) -> bool {
                    self.is_locked()
                }
            }
        )*
    };
}

exclusive! {
    [P: Platform] RawTas<P>, spins: true;
    [P: Platform] RawTicket<P>, spins: true;
    [P: Platform] RawMcs<P>, spins: true;
    [P: Platform] RawQspinlock<P>, spins: true;
    [P: Platform, M: Mode] RawPvQspinlock<P, M>, spins: true;
    [P: Platform, L: Layout<P>] RawMutex<P, L>, spins: false;
    [P: Platform] RawHybridMutex<P>, spins: false;
    [P: Platform] RawRtMutex<P>, spins: false;
    [P: Platform] RawBinary<P>, spins: false;
}
