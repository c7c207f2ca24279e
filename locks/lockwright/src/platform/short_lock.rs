//! A lock in a word, for a few instructions. Spins as the kernel's does, but only so long: here its holder may have been
//! preempted, and then sleeping is cheaper.
//!
//! ```text
//!   word  0 free, 1 held, 2 held and somebody may sleep
//! ```
//!
//! The word is "Mutex 2" of Ulrich Drepper, *Futexes Are Tricky* (2011).

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::word::Word;

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Takes the lock in a word. `spins` spins for a round, or says that after so many the thread should sleep.
#[inline]
pub(crate) fn lock<W: Word>(word: &W, spins: impl Fn(u32) -> bool) {
    // Acquire: pairs with the Release in `unlock`.
    if word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
        lock_slow(word, spins);
    }
}

#[cold]
fn lock_slow<W: Word>(word: &W, spins: impl Fn(u32) -> bool) {
    let mut rounds = 0;
    // Relaxed: looks; the exchanges have the ordering.
    while word.load(Relaxed) == HELD && spins(rounds) {
        rounds += 1;
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
