//! The shared cells that locks are made of, and words that threads can wait on.

use core::sync::atomic::Ordering;

/// A shared cell with the operations of `core::sync::atomic`.
///
/// `#[track_caller]` lets a checker know each operation by its place in the source.
pub trait Atomic<T>: Send + Sync + 'static {
    /// A cell that holds `value`.
    fn new(value: T) -> Self;
    /// As `AtomicU32::load`.
    #[track_caller]
    fn load(&self, order: Ordering) -> T;
    /// As `AtomicU32::store`.
    #[track_caller]
    fn store(&self, value: T, order: Ordering);
    /// As `AtomicU32::swap`.
    #[track_caller]
    fn swap(&self, value: T, order: Ordering) -> T;
    /// As `AtomicU32::compare_exchange`.
    ///
    /// # Errors
    /// The value found, if it is not `current`.
    #[track_caller]
    fn compare_exchange(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> Result<T, T>;
    /// As `AtomicU32::fetch_add`.
    #[track_caller]
    fn fetch_add(&self, value: T, order: Ordering) -> T;
    /// As `AtomicU32::fetch_sub`.
    #[track_caller]
    fn fetch_sub(&self, value: T, order: Ordering) -> T;
    /// As `AtomicU32::fetch_and`.
    #[track_caller]
    fn fetch_and(&self, value: T, order: Ordering) -> T;
    /// As `AtomicU32::fetch_or`.
    #[track_caller]
    fn fetch_or(&self, value: T, order: Ordering) -> T;
}

/// A 32-bit word that threads can wait on: a futex, or what takes its place.
pub trait Word: Atomic<u32> {
    /// Sleeps while the word is `expected`, until it is woken or `deadline` (of [`super::Platform::now`],
    /// in nanoseconds) has come. May return early; the caller looks again. Orders no memory.
    ///
    /// No wake is lost between the look at the word and the sleep. False: the deadline has come.
    #[track_caller]
    fn wait(&self, expected: u32, deadline: Option<u64>) -> bool;

    /// Wakes at most `count` threads that wait on the word at this address. Does not read the word,
    /// which may be gone: a thread that is woken by mistake takes it for a spurious wake-up.
    #[track_caller]
    fn wake(word: *const Self, count: u32);

    /// As [`Word::wait`], to be woken by those who wake one of the `bits` that it waits for.
    #[track_caller]
    fn wait_bitset(&self, expected: u32, bits: u32, deadline: Option<u64>) -> Waited {
        let _ = bits;
        if self.wait(expected, deadline) { Waited::Woken } else { Waited::TooLate }
    }

    /// As [`Word::wake`], but only for threads that wait for one of the `bits`; or for all, where
    /// the platform has no bits.
    #[track_caller]
    fn wake_bitset(word: *const Self, count: u32, bits: u32)
    where
        Self: Sized,
    {
        let _ = (count, bits);
        Self::wake(word, u32::MAX);
    }

    /// Stores 0 into the lowest 8 bits and leaves the others as they are, even if other threads
    /// change them meanwhile.
    ///
    /// Like a store, it need not carry on a release sequence.
    #[track_caller]
    fn clear_byte(&self, order: Ordering) {
        self.fetch_and(!0xff, order);
    }

    /// Swaps the lowest 8 bits.
    #[track_caller]
    fn swap_byte(&self, value: u8, order: Ordering) -> u8 {
        let mut word = self.load(Ordering::Relaxed);
        loop {
            let new = (word & !0xff) | u32::from(value);
            match self.compare_exchange(word, new, order, Ordering::Relaxed) {
                Ok(old) => return old as u8,
                Err(seen) => word = seen,
            }
        }
    }

    /// Compares and exchanges the lowest 8 bits. Fails only if they differ from `current`.
    ///
    /// # Errors
    /// The byte found.
    #[track_caller]
    fn compare_exchange_byte(&self, current: u8, new: u8, success: Ordering) -> Result<u8, u8> {
        let mut word = self.load(Ordering::Relaxed);
        loop {
            if word as u8 != current {
                return Err(word as u8);
            }
            let changed = (word & !0xff) | u32::from(new);
            match self.compare_exchange(word, changed, success, Ordering::Relaxed) {
                Ok(old) => return Ok(old as u8),
                Err(seen) => word = seen,
            }
        }
    }
}

/// How a wait on a [`Word`] has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// It was woken, or it returned early.
    Woken,
    /// It did not wait: the word was not what was expected.
    Changed,
    /// The deadline has come.
    TooLate,
}
