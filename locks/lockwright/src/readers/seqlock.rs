//! Sequence counts and sequence locks (`include/linux/seqlock.h`): readers take nothing and never
//! hold a writer up; they read, and read again if a writer was there meanwhile.
//!
//! A sequence count is for writers that exclude each other by other means, a sequence lock brings a
//! spinlock for them.
//!
//! ```text
//!   sequence  even: nobody writes; odd: somebody does. Each write adds 2
//! ```
//!
//! The guarded data may be read while a writer writes it. It must be made of atomics, loaded and
//! stored with Relaxed. A reader must not rely on a value (follow a pointer, use an index) before
//! the value is known to be good. The kernel reads plain memory; to Rust, that is a data race.
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//! use lockwright::{platform::linux::Linux, seqlock::RawSeqLock};
//!
//! static LOCK: RawSeqLock<Linux> = RawSeqLock::new();
//! static SECONDS: AtomicU64 = AtomicU64::new(0);
//! static NANOSECONDS: AtomicU64 = AtomicU64::new(0);
//!
//! LOCK.write_lock();
//! SECONDS.store(1, Relaxed);
//! NANOSECONDS.store(500, Relaxed);
//! // SAFETY: locked above.
//! unsafe { LOCK.write_unlock() };
//!
//! let time = LOCK.read(|| (SECONDS.load(Relaxed), NANOSECONDS.load(Relaxed)));
//! assert_eq!(time, (1, 500));
//! ```
//!
//! A signal handler that waits for the writer it interrupted waits for ever: it calls
//! [`RawSeqCount::try_begin`].

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, await_until};
use crate::qspinlock::RawQspinlock;

const fn is_written(sequence: u32) -> bool {
    sequence & 1 != 0
}

/// The state that a reader began to read in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun(u32);

/// Its number, for those who keep it elsewhere: C.
impl From<Begun> for u32 {
    fn from(begun: Begun) -> Self {
        begun.0
    }
}

/// The state that has this number.
impl From<u32> for Begun {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

/// A sequence count, for one writer at a time. A reader that is overtaken by 2^31 writes takes what
/// it has read for good.
///
/// # Guarantees
/// - Ordering: a reader that need not retry has read what one writer left.
/// - Fairness: a reader never delays a writer. Writers that come without end starve a reader.
/// - Source: `include/linux/seqlock.h`.
pub struct RawSeqCount<P: Platform> {
    sequence: P::Word,
}

impl<P: Platform> RawSeqCount<P> {
    /// The count of what nobody writes.
    pub fn new_in() -> Self {
        Self { sequence: P::Word::new(0) }
    }

    /// Reads: runs `section` until no writer was there meanwhile. It must be without effects but
    /// its result.
    #[inline]
    pub fn read<R>(&self, mut section: impl FnMut() -> R) -> R {
        loop {
            let begun = self.begin();
            let result = section();
            if !self.must_retry(begun) {
                return result;
            }
        }
    }

    /// Begins to read, once nobody writes (`read_seqcount_begin`).
    ///
    /// - The writer must not call this, nor may a signal handler that may have interrupted the
    ///   writer: it would spin for ever. [`Self::try_begin`] does not wait.
    #[inline]
    pub fn begin(&self) -> Begun {
        let mut begun = None;
        await_until::<P>(|| {
            begun = self.try_begin();
            begun.is_some()
        });
        // There is one: that is what was awaited.
        begun.unwrap_or(Begun(0))
    }

    /// Begins to read if nobody writes.
    ///
    /// - Any thread and any signal handler may call this: it does not wait.
    #[inline]
    pub fn try_begin(&self) -> Option<Begun> {
        // Acquire: pairs with the Release in `end_write`: the reads come after it, and see what
        // that writer wrote.
        let sequence = self.sequence.load(Acquire);
        (!is_written(sequence)).then_some(Begun(sequence))
    }

    /// Whether what was read since `begun` is worth nothing (`read_seqcount_retry`).
    ///
    /// - The reader must not use what it has read before this has returned `false`.
    #[inline]
    pub fn must_retry(&self, begun: Begun) -> bool {
        // Acquire: pairs with the fence in `begin_write`: a reader that has seen any of a writer's
        // stores sees its odd number, or a later one.
        P::fence(Acquire);
        self.sequence.load(Relaxed) != begun.0
    }

    /// Begins to write.
    ///
    /// - The caller must exclude all other writers, as by a lock. Two writers at once leave readers
    ///   with mixed data; a debug build of the library panics.
    /// - The writer must not sleep: all readers spin meanwhile.
    ///
    /// # Safety
    /// Nobody else writes until [`RawSeqCount::end_write`].
    #[inline]
    pub unsafe fn begin_write(&self) {
        // Relaxed: only the writer changes it, and we are the writer.
        let sequence = self.sequence.load(Relaxed);
        debug_assert!(!is_written(sequence), "two write at once");
        self.sequence.store(sequence.wrapping_add(1), Relaxed);
        // Release: pairs with the fence in `must_retry`.
        P::fence(Release);
    }

    /// Ends to write.
    ///
    /// - The writer must call this once for each [`Self::begin_write`]. Until then all readers
    ///   spin.
    ///
    /// # Safety
    /// The caller has begun.
    #[inline]
    pub unsafe fn end_write(&self) {
        // Relaxed: as above.
        let sequence = self.sequence.load(Relaxed);
        // Release: pairs with the Acquire in `try_begin`.
        self.sequence.store(sequence.wrapping_add(1), Release);
    }
}

/// A sequence lock. Not recursive.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork must not take a lock that another thread held at the fork: it would spin
///   for ever.
///
/// # Guarantees
/// - Fairness: writers are served first come, first served. Writers that come without end starve a
///   reader, unless it calls [`Self::read_or_lock`].
/// - Source: `include/linux/seqlock.h`.
pub struct RawSeqLock<P: Platform> {
    count: RawSeqCount<P>,
    lock: RawQspinlock<P>,
}

impl<P: Platform> RawSeqLock<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        Self { count: RawSeqCount::new_in(), lock: RawQspinlock::new_in() }
    }

    /// The count, for readers that do more than [`RawSeqLock::read`].
    ///
    /// - The caller must not write by the count itself: only [`Self::write_lock`] excludes other
    ///   writers.
    #[inline]
    pub fn count(&self) -> &RawSeqCount<P> {
        &self.count
    }

    /// Reads: runs `section` until no writer was there meanwhile. It must be without effects but
    /// its result.
    #[inline]
    pub fn read<R>(&self, section: impl FnMut() -> R) -> R {
        self.count.read(section)
    }

    /// Reads: runs `section`, and if a writer was there meanwhile, once more with all writers
    /// locked out (`read_seqbegin_or_lock`). For long sections, and many writers.
    ///
    /// - The caller must not hold the lock already: it would spin for ever.
    /// - `section` must not rely on values in its first run: a writer may be changing them.
    #[inline]
    pub fn read_or_lock<R>(&self, mut section: impl FnMut() -> R) -> R {
        let begun = self.count.begin();
        let result = section();
        if !self.count.must_retry(begun) {
            return result;
        }
        self.read_lock_exclusive();
        let result = section();
        // SAFETY: `read_lock_exclusive` above locked it for this thread.
        unsafe { self.read_unlock_exclusive() };
        result
    }

    /// Locks writers and other such readers out (`read_seqlock_excl`). Readers that take nothing go
    /// on.
    ///
    /// - The caller must not hold the lock already: it would spin for ever.
    /// - A signal handler may call this only if every other user takes the lock with signals
    ///   blocked (`lock_irqsave`). Otherwise it spins for ever if it has interrupted the holder.
    #[inline]
    pub fn read_lock_exclusive(&self) {
        self.lock.lock();
    }

    /// Ends [`RawSeqLock::read_lock_exclusive`].
    ///
    /// - The thread that called [`Self::read_lock_exclusive`] must call this, once.
    ///
    /// # Safety
    /// The caller has it locked so.
    #[inline]
    pub unsafe fn read_unlock_exclusive(&self) {
        // SAFETY: by contract the caller locked it with `read_lock_exclusive`, which took
        // `self.lock`.
        unsafe { self.lock.unlock() };
    }

    /// Takes the lock to write.
    ///
    /// - The caller must not hold the lock already, or be inside [`Self::read`]: it would spin for
    ///   ever, or read for ever.
    /// - A signal handler may call this only if every other user takes the lock with signals
    ///   blocked (`lock_irqsave`). Otherwise it spins for ever if it has interrupted the holder.
    /// - The writer must not sleep: all readers spin meanwhile.
    #[inline]
    pub fn write_lock(&self) {
        self.lock.lock();
        // SAFETY: this thread took `self.lock` above, so it is the only writer.
        unsafe { self.count.begin_write() };
    }

    /// Takes the lock to write if nobody has it.
    ///
    /// - Any thread may call this: it does not wait. After `true` the rules of [`Self::write_lock`]
    ///   apply.
    #[inline]
    pub fn try_write_lock(&self) -> bool {
        let taken = self.lock.try_lock();
        if taken {
            // SAFETY: `try_lock` above took `self.lock` for this thread, so it is the only writer.
            unsafe { self.count.begin_write() };
        }
        taken
    }

    /// Releases the lock of the writer.
    ///
    /// - The writer must release the lock, once. After any other call two writers can be inside at
    ///   once.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn write_unlock(&self) {
        // SAFETY: begun when it was locked.
        unsafe { self.count.end_write() };
        // SAFETY: by this function's contract the caller is the writer, which holds `self.lock`.
        unsafe { self.lock.unlock() };
    }

    /// Whether a writer, or a reader that locks, holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }
}

#[cfg(feature = "std")]
mod linux {
    use super::{RawQspinlock, RawSeqCount, RawSeqLock};
    use crate::platform::linux::Linux;

    impl RawSeqCount<Linux> {
        /// The count of what nobody writes, for statics.
        pub const fn new() -> Self {
            Self { sequence: core::sync::atomic::AtomicU32::new(0) }
        }
    }

    impl Default for RawSeqCount<Linux> {
        fn default() -> Self {
            Self::new()
        }
    }

    impl RawSeqLock<Linux> {
        /// A free lock, for statics.
        pub const fn new() -> Self {
            Self { count: RawSeqCount::new(), lock: RawQspinlock::new() }
        }
    }

    impl Default for RawSeqLock<Linux> {
        fn default() -> Self {
            Self::new()
        }
    }
}
