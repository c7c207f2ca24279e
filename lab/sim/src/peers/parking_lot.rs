//! parking_lot's mutex: a byte, and a queue of sleepers in a table that all locks share (after F. Pizlo, *Locking in
//! WebKit*, 2016). Its bucket is its own here, as no other lock is there, and locked as Rust's mutex is.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright::platform::{Atomic, Platform, Word};

use super::Std;
use crate::rng::Rng;

const LOCKED: u32 = 1;
/// Somebody sleeps in the queue, or is about to.
const PARKED: u32 = 2;

/// Before a thread sleeps it pauses for 2, 4 and 8 times as long, and gives way seven times.
const PAUSES: u32 = 3;
const ROUNDS: u32 = 10;

/// A release hands over to the first in the queue where the last one that did is longer ago than a random time, in
/// nanoseconds, of which this is the most.
const FAIR_NS: u64 = 1_000_000;

/// A sleeper, on its stack.
#[repr(align(64))]
struct Parker<P: Platform> {
    /// 1: it sleeps.
    asleep: P::Word,
    /// It was given the lock. Its waker writes this, under the bucket's lock.
    has_lock: UnsafeCell<bool>,
}

/// What is under the bucket's lock, and no event of the simulation.
struct Queue<P: Platform> {
    sleepers: VecDeque<*const Parker<P>>,
    /// When the next release hands over, in nanoseconds.
    fair_at: u64,
    dice: Rng,
}

/// One bucket of the table.
#[repr(align(64))]
struct Bucket<P: Platform> {
    lock: Std<P>,
    queue: UnsafeCell<Queue<P>>,
}

/// The mutex.
pub struct ParkingLot<P: Platform> {
    state: P::Word,
    bucket: Bucket<P>,
}

// SAFETY: the queue is used under the bucket's lock, sleepers stay until they are woken.
unsafe impl<P: Platform> Send for ParkingLot<P> {}
// SAFETY: the bucket's lock protects the queue, and a sleeper stays until it is woken.
unsafe impl<P: Platform> Sync for ParkingLot<P> {}

impl<P: Platform> Bucket<P> {
    fn with<R>(&self, f: impl FnOnce(&mut Queue<P>) -> R) -> R {
        self.lock.lock();
        // SAFETY: this thread took the bucket's lock above, under which alone the queue is
        // accessed.
        let result = f(unsafe { &mut *self.queue.get() });
        // SAFETY: `lock` above took the bucket's lock for this thread.
        unsafe { self.lock.unlock() };
        result
    }
}

impl<P: Platform> ParkingLot<P> {
    /// A free mutex.
    pub fn new_in() -> Self {
        let queue = Queue { sleepers: VecDeque::new(), fair_at: 0, dice: Rng::new(1) };
        let bucket = Bucket { lock: Std::new_in(), queue: UnsafeCell::new(queue) };
        Self { state: P::Word::new(0), bucket }
    }

    /// Takes it.
    pub fn lock(&self) {
        // Acquire, here and below: pairs with the Releases of `unlock`.
        if self.state.compare_exchange(0, LOCKED, Acquire, Relaxed).is_ok() {
            return;
        }
        let mut rounds = 0;
        loop {
            let state = self.state.load(Relaxed);
            if state & LOCKED == 0 {
                if self.state.compare_exchange(state, state | LOCKED, Acquire, Relaxed).is_ok() {
                    return;
                }
                continue;
            }
            if state & PARKED == 0 {
                if rounds < ROUNDS {
                    rounds += 1;
                    give_way::<P>(rounds);
                    continue;
                }
                // Relaxed, both: the bucket's lock orders what follows.
                if self.state.compare_exchange(state, state | PARKED, Relaxed, Relaxed).is_err() {
                    continue;
                }
            }
            if self.park() {
                return;
            }
            rounds = 0;
        }
    }

    /// Sleeps in the queue, if the lock is still one to sleep for. Whether it was handed over.
    fn park(&self) -> bool {
        let parker = Parker::<P> { asleep: P::Word::new(1), has_lock: UnsafeCell::new(false) };
        let sleeps = self.bucket.with(|queue| {
            let sleeps = self.state.load(Relaxed) == LOCKED | PARKED;
            if sleeps {
                queue.sleepers.push_back(&raw const parker);
            }
            sleeps
        });
        if !sleeps {
            return false;
        }
        // Acquire: pairs with the Release in `unlock_slow`.
        while parker.asleep.load(Acquire) == 1 {
            parker.asleep.wait(1, None);
        }
        // SAFETY: who woke us wrote it before, and comes no more.
        unsafe { *parker.has_lock.get() }
    }

    /// Releases it.
    ///
    /// # Safety
    /// The calling thread holds it.
    pub unsafe fn unlock(&self) {
        // Release: pairs with the Acquires of `lock`.
        if self.state.compare_exchange(LOCKED, 0, Release, Relaxed).is_err() {
            self.unlock_slow();
        }
    }

    fn unlock_slow(&self) {
        let woken = self.bucket.with(|queue| {
            let Some(first) = queue.sleepers.pop_front() else {
                // Release: as in `unlock`.
                self.state.store(0, Release);
                return None;
            };
            let others = if queue.sleepers.is_empty() { 0 } else { PARKED };
            let now = P::now();
            let hands_over = now >= queue.fair_at;
            if hands_over {
                queue.fair_at = now + queue.dice.below(FAIR_NS);
                // SAFETY: a sleeper stays until `asleep` is 0.
                unsafe { *(*first).has_lock.get() = true };
            }
            // Release: as in `unlock`; handed over it stays locked.
            self.state.store(others | if hands_over { LOCKED } else { 0 }, Release);
            // SAFETY: the sleeper at `first` stays until `asleep` is 0, and only this waker stores
            // that.
            let asleep = unsafe { &raw const (*first).asleep };
            // SAFETY: the sleeper at `first` stays until `asleep` is 0. Release: pairs with the
            // Acquire in `park`.
            unsafe { (*asleep).store(0, Release) };
            Some(asleep)
        });
        if let Some(asleep) = woken {
            // It may be gone; only its address counts.
            P::Word::wake(asleep, 1);
        }
    }
}

/// The calling thread's round of so many.
fn give_way<P: Platform>(round: u32) {
    if round <= PAUSES {
        (0..1 << round).for_each(|_| P::relax());
    } else {
        P::yield_now();
    }
}
