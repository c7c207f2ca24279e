//! Whether a lock excludes, before it is timed: a lock that does not is fast, and its figures say
//! nothing.

use std::cell::Cell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

const THREADS: u64 = 4;
/// Acquisitions of each thread. A semaphore that did not exclude was found in fewer than ten.
const ROUNDS: u64 = 250;

/// A section under a lock.
pub type Section<'a> = &'a (dyn Fn() + Sync);

/// What a lock protects: two numbers that are the same whenever nobody is in a section that writes.
#[derive(Default)]
struct Twins([AtomicU64; 2]);

impl Twins {
    /// In two steps, of which others that are in it meanwhile undo or lose the second.
    fn write(&self, gives_way: bool) {
        // Relaxed: the lock orders them.
        let [first, second] = &self.0;
        let before = [first.load(Relaxed), second.load(Relaxed)];
        first.store(before[0] + 1, Relaxed);
        if gives_way {
            thread::yield_now();
        }
        second.store(before[1] + 1, Relaxed);
    }

    fn differ(&self) -> bool {
        self.0[0].load(Relaxed) != self.0[1].load(Relaxed)
    }
}

/// Whether a thread that takes it by `write` has it alone.
pub fn excludes(write: &(dyn Fn(Section<'_>) + Sync)) -> bool {
    excludes_readers(write, &|_| ())
}

/// Likewise, and whether readers have it without a writer.
pub fn excludes_readers(
    write: &(dyn Fn(Section<'_>) + Sync),
    read: &(dyn Fn(Section<'_>) + Sync),
) -> bool {
    let twins = &Twins::default();
    let torn = &AtomicU64::new(0);
    let start = &Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                for round in 0..ROUNDS {
                    write(&|| twins.write(round.is_multiple_of(8)));
                    read(&|| {
                        torn.fetch_add(u64::from(twins.differ()), Relaxed);
                    });
                }
            });
        }
    });
    let [first, second] = &twins.0;
    [first, second].iter().all(|twin| twin.load(Relaxed) == THREADS * ROUNDS)
        && torn.load(Relaxed) == 0
}

/// Whether a section of one thread cannot begin in another of the same: `tries` is asked within
/// `write`.
pub fn excludes_itself(write: impl FnOnce(&dyn Fn()), tries: impl Fn() -> bool) -> bool {
    let refused = Cell::new(false);
    write(&|| refused.set(!tries()));
    refused.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_excludes_is_passed() {
        let lock = std::sync::RwLock::new(());
        assert!(excludes(&|section| {
            let _guard = lock.write().unwrap();
            section();
        }));
        let write = |section: Section<'_>| {
            let _guard = lock.write().unwrap();
            section();
        };
        let read = |section: Section<'_>| {
            let _guard = lock.read().unwrap();
            section();
        };
        assert!(excludes_readers(&write, &read));
    }

    #[test]
    fn a_lock_that_does_not_exclude_is_found() {
        assert!((0..100).any(|_| !excludes(&|section| section())));
    }

    #[test]
    fn a_lock_that_lets_readers_in_with_a_writer_is_found() {
        let lock = std::sync::Mutex::new(());
        let write = |section: Section<'_>| {
            let _guard = lock.lock().unwrap();
            section();
        };
        assert!((0..100).any(|_| !excludes_readers(&write, &|section| section())));
    }
}
