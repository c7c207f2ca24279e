//! The lock inside sleeping locks, for the few instructions that change a wait list (the kernel's
//! raw `wait_lock`). Spins as the kernel's does, but only so long: here its holder may have been
//! preempted, and then sleeping is cheaper.
//!
//! ```text
//!   word  0 free, 1 held, 2 held and somebody may sleep
//! ```
//!
//! The word is "Mutex 2" of Ulrich Drepper, *Futexes Are Tricky* (2011).

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, Word};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Takes the lock in a word.
#[inline]
pub(crate) fn lock<P: Platform>(word: &P::Word) {
    // Acquire: pairs with the Release in `unlock`.
    if word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
        lock_slow::<P>(word);
    }
}

#[cold]
fn lock_slow<P: Platform>(word: &P::Word) {
    let mut rounds = 0;
    // Relaxed: looks; the exchanges have the ordering.
    while word.load(Relaxed) == HELD && !P::need_resched(rounds) {
        rounds += 1;
        P::relax();
    }
    // A thread that comes here leaves CONTENDED behind, even if no thread sleeps: it cannot know,
    // and its unlock may wake once in vain. Acquire: pairs with the Release in `unlock`.
    while word.swap(CONTENDED, Acquire) != FREE {
        word.wait(CONTENDED, None);
    }
}

/// Releases the lock in a word. The word may be gone before this returns.
///
/// # Safety
/// The caller holds it.
#[inline]
pub(crate) unsafe fn unlock<W: Word>(word: *const W) {
    // SAFETY: held by the caller, hence there. Release: pairs with the Acquires in `lock` and
    // `lock_slow`. From here on the lock may be gone.
    if unsafe { &*word }.swap(FREE, Release) == CONTENDED {
        W::wake(word, 1);
    }
}

/// A value under a short lock. Not recursive.
pub struct WaitLock<P: Platform, T> {
    word: P::Word,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through the guard only, by one thread at a time.
unsafe impl<P: Platform, T: Send> Sync for WaitLock<P, T> {}

impl<P: Platform, T> WaitLock<P, T> {
    /// Free, around `value`, over a word of 0.
    #[cfg(feature = "std")]
    pub const fn from_word(word: P::Word, value: T) -> Self {
        Self { word, value: UnsafeCell::new(value) }
    }

    /// Free, around `value`.
    pub fn new(value: T) -> Self {
        Self { word: P::Word::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Takes the lock.
    #[inline]
    pub fn lock(&self) -> WaitGuard<'_, P, T> {
        lock::<P>(&self.word);
        WaitGuard(self)
    }
}

/// The lock held; dropped, released.
pub struct WaitGuard<'a, P: Platform, T>(&'a WaitLock<P, T>);

impl<P: Platform, T> Deref for WaitGuard<'_, P, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard exists only while its thread holds the lock, under which alone the
        // value is accessed.
        unsafe { &*self.0.value.get() }
    }
}

impl<P: Platform, T> DerefMut for WaitGuard<'_, P, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and the guard borrowed as a whole.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<P: Platform, T> Drop for WaitGuard<'_, P, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `lock` took the word for this thread when it made this guard.
        unsafe { unlock(&raw const self.0.word) };
    }
}
