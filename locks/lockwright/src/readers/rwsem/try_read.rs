//! The shapes of `down_read_trylock`. They differ in what they cost where readers come at the same
//! time.
//!
//! An assumption saves a load if it is true and costs an exchange if it is not. The kernel assumed
//! a free lock from 4.20 on, and loads first since 5.17, as with 40 threads at one lock there were
//! 2.05 exchanges for each success with the assumption, 1.02 without.

use core::sync::atomic::Ordering::{Acquire, Relaxed};

use super::{FREE, READER, RawRwSem, is_read_lockable};
use crate::platform::{Atomic, Platform};

/// The outcome of a trylock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Whether the lock is taken.
    pub taken: bool,
    /// Atomic read-modify-writes on the lock's word; a failed trylock may have none.
    pub exchanges: u32,
}

/// A shape of the trylock.
pub trait Shape: sealed::Shape {}

impl<S: sealed::Shape> Shape for S {}

/// Loads, then exchanges. The default.
#[derive(Debug)]
pub struct LoadFirst;

/// Exchanges, as if the lock were free.
#[derive(Debug)]
pub struct AssumeFree;

/// Adds itself, looks, and takes itself off again if need be: always one exchange for a success,
/// whatever others do. Where it fails, it disturbs: until it has taken itself off a writer finds
/// the lock held, and has to queue.
#[derive(Debug)]
pub struct AddAndUndo;

mod sealed {
    use super::{Attempt, Platform, RawRwSem};

    pub trait Shape {
        fn attempt<P: Platform>(lock: &RawRwSem<P>) -> Attempt;
    }
}

/// Adds a reader to a count of which no more is known than what it may be.
#[inline]
fn exchange_from<P: Platform>(lock: &RawRwSem<P>, mut count: usize) -> Attempt {
    let mut exchanges = 0;
    while is_read_lockable(count) {
        exchanges += 1;
        // Acquire: pairs with the Releases in `up_write` and `downgrade_write`.
        match lock.count.compare_exchange(count, count + READER, Acquire, Relaxed) {
            Ok(_) => return Attempt { taken: true, exchanges },
            Err(seen) => count = seen,
        }
    }
    Attempt { taken: false, exchanges }
}

impl sealed::Shape for LoadFirst {
    #[inline]
    fn attempt<P: Platform>(lock: &RawRwSem<P>) -> Attempt {
        exchange_from(lock, lock.count.load(Relaxed))
    }
}

impl sealed::Shape for AssumeFree {
    #[inline]
    fn attempt<P: Platform>(lock: &RawRwSem<P>) -> Attempt {
        exchange_from(lock, FREE)
    }
}

impl sealed::Shape for AddAndUndo {
    #[inline]
    fn attempt<P: Platform>(lock: &RawRwSem<P>) -> Attempt {
        // Acquire: as in `exchange_from`.
        let taken = is_read_lockable(lock.count.fetch_add(READER, Acquire));
        if !taken {
            lock.leave_readers();
        }
        Attempt { taken, exchanges: if taken { 1 } else { 2 } }
    }
}

impl<P: Platform> RawRwSem<P> {
    /// Takes the lock to read if nobody writes and nobody waits.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not sleep. A reader may call
    ///   it again, and must then release the lock once more.
    #[inline]
    pub fn try_down_read(&self) -> bool {
        self.try_down_read_by::<LoadFirst>().taken
    }

    /// [`RawRwSem::try_down_read`] in a shape of the caller's choice, with what it took: for
    /// measurements.
    #[inline]
    pub fn try_down_read_by<S: Shape>(&self) -> Attempt {
        let attempt = S::attempt(self);
        if attempt.taken {
            self.owner.set_reader(P::current());
        }
        attempt
    }
}
