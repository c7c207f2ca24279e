use std::sync::Arc;

use lockwright::osq::RawOsq;
use loom::cell::UnsafeCell;
use loom::thread;

use crate::world::{self, Loom};

/// The queue, and what it guards.
struct Shared {
    queue: RawOsq<Loom>,
    value: UnsafeCell<u32>,
}

// SAFETY: loom's cell, which checks that it is reached under the lock only.
unsafe impl Sync for Shared {}

impl Shared {
    /// How many of `rounds` had the lock. Spinning ends after two rounds here: in some
    /// interleavings the lock comes first, in others a spinner leaves.
    fn work(&self, rounds: u32) -> u32 {
        let mut had = 0;
        for _ in 0..rounds {
            if self.queue.lock() {
                // SAFETY: this thread has the queue's lock, and loom checks each access to its
                // cell.
                self.value.with_mut(|value| unsafe { *value += 1 });
                // SAFETY: this thread took `self.queue` with `lock` above and still holds it.
                unsafe { self.queue.unlock() };
                had += 1;
            }
        }
        had
    }
}

/// Each thread with its rounds. A thread that gets the lock has it alone, and the queue stays whole
/// whichever thread leaves.
fn excludes(rounds: &'static [u32], preemptions: Option<usize>) {
    world::check(preemptions, move || {
        let shared = Arc::new(Shared { queue: RawOsq::new_in(), value: UnsafeCell::new(0) });
        let others: Vec<_> = rounds[1..]
            .iter()
            .map(|rounds| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.work(*rounds))
            })
            .collect();
        let mine = shared.work(rounds[0]);
        let had: u32 = mine + others.into_iter().map(|other| other.join().unwrap()).sum::<u32>();
        assert!(had > 0, "the first in an empty queue has it");
        assert!(!shared.queue.is_locked());
        assert_eq!(shared.work(1), 1, "refused, though free");
        // SAFETY: all other threads have been joined, so this thread alone accesses the value.
        assert_eq!(shared.value.with(|value| unsafe { *value }), had + 1);
    });
}

#[test]
fn two_threads_exclude_each_other() {
    excludes(&[2, 2], Some(3));
}

#[test]
fn three_threads_exclude_each_other() {
    excludes(&[1, 1, 1], Some(2));
}
