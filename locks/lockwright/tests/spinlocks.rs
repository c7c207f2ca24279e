//! Spinlocks on Linux: as many threads as there are, and more than CPUs, and every section is
//! counted.

use std::cell::UnsafeCell;
use std::thread;

use lockwright::mcs::{Mcs, Node, RawMcs};
use lockwright::platform::linux::Linux;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use lockwright::qspinlock::RawQspinlock;

/// A lock, and what it guards.
struct Shared<L> {
    lock: L,
    value: UnsafeCell<usize>,
}

// SAFETY: that the value is reached under the lock only is what is tested.
unsafe impl<L: Sync> Sync for Shared<L> {}

const THREADS: usize = 4;
const ROUNDS: usize = 250;

/// `locked` runs a section with the lock held.
fn all_sections_count<L: Sync>(lock: L, locked: impl Fn(&L, &dyn Fn()) + Sync) {
    let shared = Shared { lock, value: UnsafeCell::new(0) };
    let shared = &shared;
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    locked(&shared.lock, &|| {
                        // SAFETY: `locked` runs this section with the lock held, under which alone
                        // the value is accessed.
                        let value = unsafe { &mut *shared.value.get() };
                        let before = *value;
                        if round % 64 == 0 {
                            // A holder that does not run is what others must wait for.
                            thread::yield_now();
                        }
                        *value = before + 1;
                    });
                }
            });
        }
    });
    // SAFETY: the scope has joined all threads, so this thread alone accesses the value.
    assert_eq!(unsafe { *shared.value.get() }, THREADS * ROUNDS);
}

/// One test for each lock with `lock`, `try_lock`, `unlock` and `is_locked`.
macro_rules! rows {
    ($($name:ident: $lock:ty,)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn excludes() {
                all_sections_count(<$lock>::new(), |lock, section| {
                    lock.lock();
                    section();
                    // SAFETY: this thread took `lock` with `lock` above and still holds it.
                    unsafe { lock.unlock() };
                });
            }

            #[test]
            fn trylock_takes_what_is_free() {
                let lock = <$lock>::new();
                assert!(lock.try_lock());
                assert!(lock.is_locked());
                thread::scope(|scope| scope.spawn(|| assert!(!lock.try_lock())).join().unwrap());
                // SAFETY: this thread took `lock` with `try_lock` above and still holds it.
                unsafe { lock.unlock() };
                assert!(!lock.is_locked());
            }
        }
    )*};
}

rows! {
    raw_mcs: RawMcs<Linux>,
    qspinlock: RawQspinlock<Linux>,
    pvqspinlock_hybrid: RawPvQspinlock<Linux, Hybrid>,
    pvqspinlock_single_steal: RawPvQspinlock<Linux, SingleSteal>,
    pvqspinlock_unfair: RawPvQspinlock<Linux, Unfair>,
}

#[test]
fn mcs_excludes() {
    all_sections_count(Mcs::<Linux>::new(), |lock, section| {
        let node = Node::new();
        // SAFETY: it stays here until the unlock.
        unsafe { lock.lock(&node) };
        section();
        // SAFETY: this thread took `lock` with `lock` above and still holds it.
        unsafe { lock.unlock(&node) };
    });
}
