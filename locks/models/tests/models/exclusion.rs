//! The checks of every exclusive lock; a lock's model supplies how it is made, taken and
//! released.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use crate::world;

/// An exclusive lock of this world.
pub trait Exclusive: Send + Sync + 'static {
    /// A free one.
    fn new() -> Self;
    /// Runs `section` with the lock held.
    fn locked(&self, section: impl FnOnce());
    /// Runs `section` with the lock held if it is free. False: it is not free, or the lock cannot
    /// tell.
    fn try_locked(&self, section: impl FnOnce()) -> bool;
}

/// A counter that is only safe under a lock: loom sees two threads at it at once, and one that has
/// not seen what the other did.
#[derive(Default)]
pub struct Counter(UnsafeCell<usize>);

// SAFETY: loom's cell; that it is reached under the lock only is what is checked.
unsafe impl Sync for Counter {}

impl Counter {
    /// Counts one more.
    pub fn increment(&self) {
        // SAFETY: loom checks each access to its cell, and stops the model if two threads meet in
        // it.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    /// How many there are.
    pub fn read(&self) -> usize {
        // SAFETY: loom checks each access to its cell, and stops the model if two threads meet in
        // it.
        self.0.with(|value| unsafe { *value })
    }
}

/// `threads` threads, `rounds` sections each, all counted in the end.
pub fn excludes<L: Exclusive>(threads: usize, rounds: usize, preemptions: Option<usize>) {
    world::check(preemptions, move || {
        let shared = Arc::new((L::new(), Counter(UnsafeCell::new(0))));
        let work = move |shared: &(L, Counter)| {
            for _ in 0..rounds {
                shared.0.locked(|| shared.1.increment());
            }
        };
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || work(&shared))
            })
            .collect();
        work(&shared);
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.1.read(), threads * rounds, "a section was lost");
    });
}

/// A trylock against a lock: it excludes as well, and succeeds on a free lock.
pub fn tries<L: Exclusive>(preemptions: Option<usize>) {
    world::check(preemptions, || {
        let shared = Arc::new((L::new(), Counter(UnsafeCell::new(0))));
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.0.locked(|| shared.1.increment()))
        };
        shared.0.try_locked(|| shared.1.increment());
        other.join().unwrap();
        assert!(shared.0.try_locked(|| shared.1.increment()), "refused, though free");
    });
}

/// A count of references in the object that the lock lies in: the thread that drops the last
/// reference frees it, as soon as it has unlocked.
pub fn who_unlocks_last_may_free_it<L: Exclusive>() {
    let two_leave = || {
        let shared = &*Box::leak(Box::new((L::new(), Counter::default())));
        let leave = || {
            let mut last = false;
            shared.0.locked(|| {
                shared.1.increment();
                last = shared.1.read() == 2;
            });
            if last {
                world::free(&shared.0);
            }
        };
        let other = thread::spawn(leave);
        leave();
        other.join().unwrap();
    };
    for patience in [0, 2] {
        world::with_patience(patience, || world::check(Some(3), two_leave));
    }
}

/// The usual checks of an exclusive lock: two threads twice, three threads once, trylock. Most
/// faults need two preemptions or fewer (Musuvathi and Qadeer, *Iterative Context Bounding*, PLDI
/// 2007); more than three take minutes for locks that sleep.
macro_rules! exclusion_models {
    ($lock:ty) => {
        #[test]
        fn two_threads_exclude_each_other() {
            $crate::exclusion::excludes::<$lock>(2, 2, Some(3));
        }
        #[test]
        fn three_threads_exclude_each_other() {
            $crate::exclusion::excludes::<$lock>(3, 1, Some(2));
        }
        #[test]
        fn trylock_excludes() {
            $crate::exclusion::tries::<$lock>(Some(3));
        }
    };
}
pub(crate) use exclusion_models;

/// The same for a lock of the crate's own `Exclusive`.
macro_rules! exclusive_models {
    ($lock:ty) => {
        impl $crate::exclusion::Exclusive for $lock {
            fn new() -> Self {
                lockwright::exclusive::Exclusive::new()
            }

            fn locked(&self, section: impl FnOnce()) {
                self.lock();
                section();
                // SAFETY: this thread took `self` above and still holds it.
                unsafe { self.unlock() };
            }

            fn try_locked(&self, section: impl FnOnce()) -> bool {
                let taken = self.try_lock();
                if taken {
                    section();
                    // SAFETY: this thread took `self` above and still holds it.
                    unsafe { self.unlock() };
                }
                taken
            }
        }

        $crate::exclusion::exclusion_models!($lock);
    };
}
pub(crate) use exclusive_models;
