//! Mutexes of one futex word, which is free, taken, or taken with possible sleepers: the third of U. Drepper, *Futexes
//! are tricky*, 2011. If there may be sleepers, the releaser wakes one thread; any thread may take the lock before that
//! one comes.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright::platform::{Atomic, Platform, Word};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const WAITED_FOR: u32 = 2;

/// Rust's looks at a mutex that is taken, and that nobody sleeps for, before it sleeps itself.
const LOOKS: u32 = 100;

/// glibc's normal mutex: a thread that finds it taken sleeps at once.
pub struct Glibc<P: Platform>(P::Word);

/// Rust's `std::sync::Mutex` on Linux: a thread that finds it taken spins for a while first, unless another one sleeps
/// already.
pub struct Std<P: Platform>(P::Word);

/// Takes one, which the calling thread has not found free; before each sleep it looks at it as `look` does, which tells
/// what it saw last.
fn lock_slow<P: Platform>(word: &P::Word, look: impl Fn() -> u32) {
    // Acquire, here and below: pairs with the Release of `unlock`.
    if look() == FREE && word.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_ok() {
        return;
    }
    loop {
        // Other threads may sleep, and our release has to wake one.
        if word.swap(WAITED_FOR, Acquire) == FREE {
            return;
        }
        word.wait(WAITED_FOR, None);
        look();
    }
}

fn try_lock<P: Platform>(word: &P::Word) -> bool {
    word.compare_exchange(FREE, TAKEN, Acquire, Relaxed).is_ok()
}

fn unlock<P: Platform>(word: &P::Word) {
    // Release: pairs with the Acquires of the next owner.
    if word.swap(FREE, Release) == WAITED_FOR {
        P::Word::wake(word, 1);
    }
}

impl<P: Platform> Glibc<P> {
    /// A free mutex.
    pub fn new_in() -> Self {
        Self(P::Word::new(FREE))
    }

    /// Takes it.
    pub fn lock(&self) {
        if !try_lock::<P>(&self.0) {
            lock_slow::<P>(&self.0, || self.0.load(Relaxed));
        }
    }

    /// Releases it.
    ///
    /// # Safety
    /// The calling thread holds it.
    pub unsafe fn unlock(&self) {
        unlock::<P>(&self.0);
    }
}

impl<P: Platform> Std<P> {
    /// A free mutex.
    pub fn new_in() -> Self {
        Self(P::Word::new(FREE))
    }

    /// Takes it.
    pub fn lock(&self) {
        if !try_lock::<P>(&self.0) {
            lock_slow::<P>(&self.0, || self.look());
        }
    }

    fn look(&self) -> u32 {
        for _ in 0..LOOKS {
            let seen = self.0.load(Relaxed);
            if seen != TAKEN {
                return seen;
            }
            P::relax();
        }
        self.0.load(Relaxed)
    }

    /// Releases it.
    ///
    /// # Safety
    /// The calling thread holds it.
    pub unsafe fn unlock(&self) {
        unlock::<P>(&self.0);
    }
}
