//! `std::sync::Barrier`.
//!
//! It is not annotated: what it locks it holds for some instructions, and it is left by all or by
//! none.

use core::fmt;

use lock_api::{Condvar, Mutex};

use crate::condvar::RawCondvar;
use crate::hybrid_mutex::RawHybridMutex;
use crate::platform::linux::Linux;

/// As [`std::sync::Barrier`].
pub struct Barrier {
    threads: usize,
    round: Mutex<RawHybridMutex<Linux>, Round>,
    over: Condvar<RawCondvar<Linux, RawHybridMutex<Linux>>>,
}

#[derive(Clone, Copy)]
struct Round {
    number: usize,
    arrived: usize,
}

/// As [`std::sync::BarrierWaitResult`].
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for one thread of each round.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// For so many threads.
    pub const fn new(threads: usize) -> Self {
        let round = Round { number: 0, arrived: 0 };
        Self { threads, round: Mutex::new(round), over: Condvar::new() }
    }

    /// Waits until all have come.
    ///
    /// - As many threads as the barrier is for must call this in each round: with fewer they wait
    ///   for ever.
    /// - The caller must not hold a lock that another thread of the round needs before it arrives:
    ///   the two would wait for each other.
    /// - A signal handler must not call this.
    pub fn wait(&self) -> BarrierWaitResult {
        let mut round = self.round.lock();
        let mine = round.number;
        round.arrived += 1;
        if round.arrived >= self.threads {
            *round = Round { number: mine.wrapping_add(1), arrived: 0 };
            self.over.notify_all();
            return BarrierWaitResult(true);
        }
        while round.number == mine {
            self.over.wait(&mut round);
        }
        BarrierWaitResult(false)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

// As std's.
impl std::panic::UnwindSafe for Barrier {}
impl std::panic::RefUnwindSafe for Barrier {}
