//! One thread's sleep, ended by another that knows of it: a word on the sleeper's stack.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::platform::{Atomic, Platform, Word};

const ASLEEP: u32 = 0;
const WOKEN: u32 = 1;

/// A thread that sleeps until it is woken: and for a reason that its waker has written down before.
pub struct Sleeper<P: Platform> {
    word: P::Word,
}

impl<P: Platform> Sleeper<P> {
    /// To be woken.
    pub fn new() -> Self {
        Self { word: P::Word::new(ASLEEP) }
    }

    /// To be woken again. Forgets earlier wake-ups: the caller looks at their reasons after this.
    pub fn arm(&self) {
        // Acquire: pairs with the Release in `tell`: the caller sees why it was woken by the
        // wake-ups that it forgets. A swap, as only that is sure to read the last wake-up.
        self.word.swap(ASLEEP, Acquire);
    }

    /// Sleeps until woken, or until `deadline`. False: the deadline has come. A wake-up may still
    /// come, as long as other threads can find this sleeper.
    pub fn sleep(&self, deadline: Option<u64>) -> bool {
        // Acquire: pairs with the Release in `tell`.
        while self.word.load(Acquire) == ASLEEP {
            if !self.word.wait(ASLEEP, deadline) {
                return false;
            }
        }
        true
    }

    /// Whether it has been woken. The caller holds the lock that wakers hold.
    pub fn is_told(&self) -> bool {
        // Relaxed: the lock orders it.
        self.word.load(Relaxed) != ASLEEP
    }

    /// Tells it that it is woken, for a reason that stands there already; it may be gone from here
    /// on. It runs as soon as the wake is sent, which is better done without the lock (the kernel's
    /// wake_q).
    ///
    /// # Safety
    /// It is there.
    pub unsafe fn tell(this: *const Self) -> Wake<P> {
        // SAFETY: by this function's contract the sleeper at `this` still exists.
        let word = unsafe { &raw const (*this).word };
        // SAFETY: the sleeper still exists; the reference ends with the swap. Release: pairs with
        // the Acquires in `sleep` and `arm`: the sleeper sees the waker's reason.
        let old = unsafe { &*word }.swap(WOKEN, Release);
        Wake { word, asleep: old == ASLEEP }
    }
}

/// A wake to be sent to a sleeper that has been told.
#[must_use = "the sleeper sleeps until it is sent"]
pub struct Wake<P: Platform> {
    word: *const P::Word,
    /// Whether nobody else has told it since it was armed, and sends it a wake.
    asleep: bool,
}

impl<P: Platform> Wake<P> {
    /// Sends it.
    pub fn send(self) {
        if self.asleep {
            P::Word::wake(self.word, 1);
        }
    }
}
