//! Which node to kick for a lock: the paravirtual spinlock's hash table
//! (`kernel/locking/qspinlock_paravirt.h`). Only locks whose head of the queue sleeps stand in it.
//!
//! Open addressing over four buckets of each CPU, as many as its nodes: a CPU waits for no more
//! locks than that at once, so there is always a free one. The buckets lie with the CPUs
//! ([`crate::platform::PerCpu`]), so that the table grows with them: a search for a lock's entry
//! looks into all of them, as the entry may be in any.
//!
//! A thread that sees *hashed* in a lock's byte finds its entry.

mod buckets;

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::event::Event;
use crate::platform::{Atomic, Platform};
pub(crate) use buckets::Buckets;
use buckets::{BUCKETS, Bucket, FREE};

/// The buckets in the order in which a lock's is looked for; without end.
fn probe<P: Platform>(lock: usize) -> impl Iterator<Item = &'static Bucket<P::Word, P::Long>> {
    // Multiplicative hashing by 2^64 / the golden ratio (Knuth, *The Art of Computer Programming*
    // 3, 6.4).
    let hash = ((lock as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
    (0..).map(move |hop: usize| {
        let bucket = hash.wrapping_add(hop) % (P::cpus() as usize * BUCKETS);
        &P::per_cpu((bucket / BUCKETS) as u32).buckets.0[bucket % BUCKETS]
    })
}

/// Puts a lock, which is not in it, into the table.
pub(crate) fn insert<P: Platform>(lock: *const P::Word, tail: u32) {
    let lock = lock.addr();
    for (hop, bucket) in probe::<P>(lock).enumerate() {
        // Relaxed: a look. Acquire: pairs with the Release in `remove`, which has read the tail
        // before.
        if bucket.lock.load(Relaxed) == FREE
            && bucket.lock.compare_exchange(FREE, lock, Acquire, Relaxed).is_ok()
        {
            // Relaxed: the lock's byte releases it.
            bucket.tail.store(tail, Relaxed);
            P::count(Event::PvHashHops, hop + 1);
            return;
        }
    }
}

/// Takes a lock out that the caller knows to be in the table. Returns its tail.
///
/// # Panics
/// If it is not in it: somebody has unlocked the lock who did not hold it, or has written to it
/// (the kernel's `pv_unhash` stops the machine).
pub(crate) fn remove<P: Platform>(lock: *const P::Word) -> u32 {
    let Some(bucket) = find::<P>(lock.addr()) else { missing(lock.addr()) };
    // Relaxed: as in `find`.
    let tail = bucket.tail.load(Relaxed);
    // Release: pairs with the Acquire in `insert`.
    bucket.lock.store(FREE, Release);
    tail
}

/// The bucket of a lock. None: it is in none of them.
fn find<P: Platform>(lock: usize) -> Option<&'static Bucket<P::Word, P::Long>> {
    loop {
        let cpus = P::cpus();
        // Relaxed: what has told the caller that it is in the table has the ordering.
        let found = probe::<P>(lock)
            .take(cpus as usize * BUCKETS)
            .find(|bucket| bucket.lock.load(Relaxed) == lock);
        // While the table grows, not every bucket is among so many.
        if found.is_some() || P::cpus() == cpus {
            return found;
        }
    }
}

#[cold]
fn missing(lock: usize) -> ! {
    panic!(
        "the pvqspinlock at {lock:#x} is unlocked, but not held: it was unlocked twice, or its memory was overwritten"
    );
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use core::sync::atomic::AtomicU32;

    use super::*;
    use crate::platform::linux::Linux;

    #[test]
    fn a_full_table_finds_all() {
        let locks: [AtomicU32; BUCKETS] = [const { AtomicU32::new(0) }; BUCKETS];
        // Other tests' threads have made more buckets, at most: these fill one CPU's.
        Linux::cpu();
        for (tail, lock) in (1..).zip(&locks) {
            insert::<Linux>(lock, tail);
        }
        for (tail, lock) in (1..).zip(&locks) {
            assert_eq!(remove::<Linux>(lock), tail);
        }
        insert::<Linux>(&locks[0], 7);
        assert_eq!(remove::<Linux>(&locks[0]), 7);
    }

    #[test]
    #[should_panic(expected = "is unlocked, but not held")]
    fn a_lock_that_is_not_in_the_table_is_told_of() {
        Linux::cpu();
        remove::<Linux>(&AtomicU32::new(0));
    }
}
