//! The lock around what a process's threads share with the engine: waits as long as its holder
//! makes progress.
//!
//! The program must not hang for us: a waiter gives up where the holder has ended, or jumped out of
//! the engine, and where the lock has not changed hands for half a minute. It does not go by races
//! that it lost: on a busy machine with thousands of threads those are many, and each of them is
//! progress.
//!
//! ```text
//! word:   0 | thread id of the holder | the same + WAITED_FOR | CLOSED
//! ```
//!
//! How often it changed hands is counted by the holder, so a wait that ends with the count
//! unchanged has seen no progress. A waiter that gives up closes the lock, in one step from the
//! word of the holder that it gave up on. If that holder has released the lock meanwhile, the step
//! fails and the waiter goes on. Those who wait
//! are woken, and there is no more waiting.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};

/// Somebody sleeps until the word changes, or is about to.
const WAITED_FOR: u32 = 1 << 31;

/// Somebody gave the lock up. No thread has that id.
const CLOSED: u32 = u32::MAX;

/// Looks at the word before a thread sleeps: most holders are done within some 100 ns.
const SPINS: u32 = 100;

/// Rounds of [`Host::wait`] without progress after which a holder that is not there is given up.
/// Not after the first: the thread may be another process's, that shares the memory for a moment
/// (vfork).
const ROUNDS_GONE: u32 = 2;

/// The same for one that is there: it was stopped, or threads of a higher priority keep it from
/// running.
pub const ROUNDS_STALLED: u32 = 30;

/// A word that the lock is made of: an `AtomicU32`, or one whose accesses a simulator prices.
pub trait Word {
    /// As `AtomicU32::load`.
    fn load(&self, order: Ordering) -> u32;
    /// As `AtomicU32::store`.
    fn store(&self, value: u32, order: Ordering);
    /// As `AtomicU32::compare_exchange`.
    ///
    /// # Errors
    /// The value that is there, if it is not `current`.
    fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32>;
}

impl Word for AtomicU32 {
    #[inline]
    fn load(&self, order: Ordering) -> u32 {
        self.load(order)
    }

    #[inline]
    fn store(&self, value: u32, order: Ordering) {
        self.store(value, order);
    }

    #[inline]
    fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.compare_exchange(current, new, success, failure)
    }
}

/// What the lock asks of the world.
pub trait Host<W = AtomicU32> {
    /// The calling thread is about to look again at what another has.
    fn pause(&self) {
        core::hint::spin_loop();
    }
    /// Sleeps until the word is not `value`, somebody wakes the thread, or a round is over: a
    /// second. True: it is over.
    fn wait(&self, word: &W, value: u32) -> bool;
    /// Wakes one thread that sleeps on the word.
    fn wake_one(&self, word: &W);
    /// Wakes all of them.
    fn wake_all(&self, word: &W);
    /// There is a thread with this id.
    fn lives(&self, thread: u32) -> bool;
}

/// Why the lock could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Its holder, the thread with this id, is not there any more, or is the one that asks.
    Gone(u32),
    /// Its holder, the thread with this id, makes no progress.
    Stalled(u32),
    /// Another thread has given it up.
    Closed,
}

/// The lock.
#[derive(Debug)]
pub struct CoreLock<W = AtomicU32> {
    word: W,
    /// How often it was let go. Written by the holder.
    hand_overs: W,
}

impl Default for CoreLock {
    fn default() -> Self {
        Self::new()
    }
}

impl CoreLock {
    /// A free lock.
    pub const fn new() -> Self {
        Self::of(AtomicU32::new(0), AtomicU32::new(0))
    }
}

impl<W> CoreLock<W> {
    /// A free lock of two words, both 0.
    pub const fn of(word: W, hand_overs: W) -> Self {
        Self { word, hand_overs }
    }
}

impl<W: Word> CoreLock<W> {
    /// Takes the lock for the thread `me`.
    ///
    /// # Errors
    /// If its holder is gone or makes no progress: then nobody gets it any more.
    pub fn lock(&self, me: u32, host: &impl Host<W>) -> Result<(), Failure> {
        for _ in 0..=SPINS {
            if self.try_lock(me) {
                return Ok(());
            }
            host.pause();
        }
        self.lock_slow(me, host)
    }

    fn try_lock(&self, me: u32) -> bool {
        // Acquire pairs with the Release in `unlock`: what it guards is as the last holder left it.
        self.word.load(Relaxed) == 0 && self.word.compare_exchange(0, me, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn lock_slow(&self, me: u32, host: &impl Host<W>) -> Result<(), Failure> {
        let mut progress = self.hand_overs.load(Relaxed);
        let mut rounds = 0;
        loop {
            let mut word = self.word.load(Relaxed);
            match word {
                // Others may sleep, so the next thread to release it has to wake one. Acquire as in
                // `try_lock`.
                0 => match self.word.compare_exchange(0, me | WAITED_FOR, Acquire, Relaxed) {
                    Ok(_) => return Ok(()),
                    Err(_) => continue,
                },
                CLOSED => return Err(Failure::Closed),
                _ => {}
            }
            let holder = word & !WAITED_FOR;
            if holder == me {
                // It has jumped out. Somebody may have given the lock up at this moment.
                return Err(self
                    .close(word, host, Failure::Gone(me))
                    .err()
                    .unwrap_or(Failure::Closed));
            }
            if word & WAITED_FOR == 0 {
                let waited_for = word | WAITED_FOR;
                // Relaxed: the holder takes nothing over from a waiter.
                if self.word.compare_exchange(word, waited_for, Relaxed, Relaxed).is_err() {
                    continue;
                }
                word = waited_for;
            }
            let is_over = host.wait(&self.word, word);
            // Relaxed: a count that is a moment old is a second old at most, and costs another
            // round.
            let now = self.hand_overs.load(Relaxed);
            if now != progress {
                (progress, rounds) = (now, 0);
            } else if is_over {
                rounds += 1;
                let failure = match rounds {
                    ROUNDS_STALLED.. => Some(Failure::Stalled(holder)),
                    ROUNDS_GONE.. if !host.lives(holder) => Some(Failure::Gone(holder)),
                    _ => None,
                };
                if let Some(failure) = failure
                    && let Err(failure) = self.close(word, host, failure)
                {
                    return Err(failure);
                }
            }
        }
    }

    /// Gives the lock up, if its word still is `word`.
    fn close(&self, word: u32, host: &impl Host<W>, failure: Failure) -> Result<(), Failure> {
        // Relaxed: a thread that reads CLOSED uses nothing that the lock guards.
        if self.word.compare_exchange(word, CLOSED, Relaxed, Relaxed).is_err() {
            return Ok(());
        }
        host.wake_all(&self.word);
        Err(failure)
    }

    /// Lets the lock go, which the calling thread holds.
    pub fn unlock(&self, host: &impl Host<W>) {
        // Only the holder writes it.
        self.hand_overs.store(self.hand_overs.load(Relaxed).wrapping_add(1), Relaxed);
        // Relaxed: only whether somebody waits, or has given it up, is learnt from it.
        let mut word = self.word.load(Relaxed);
        while word != CLOSED {
            // Release pairs with the Acquires in `try_lock` and `lock_slow`. What was given up stays
            // so.
            match self.word.compare_exchange(word, 0, Release, Relaxed) {
                Ok(_) if word & WAITED_FOR == 0 => return,
                Ok(_) => return host.wake_one(&self.word),
                Err(now) => word = now,
            }
        }
    }

    /// In a forked child, which has none of the threads that may have held it.
    pub fn forget(&self) {
        self.word.store(0, Relaxed);
    }
}
