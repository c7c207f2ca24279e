//! The core's lock: exclusion, no lost wake-up, and when a holder is given up.

use std::cell::UnsafeCell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Condvar, Mutex};
use std::thread;

use lockwright_engines::core_lock::{CoreLock, Failure, Host, ROUNDS_STALLED};

/// A world whose rounds are over as often as the test says, and whose threads are those that it
/// names.
#[derive(Default)]
struct World {
    /// A thread holds it when it is about to sleep, and when it wakes others. It guards no data: std is not instrumented, and
    /// ThreadSanitizer would not see that it excludes.
    sleepers: Mutex<()>,
    woken: Condvar,
    /// Sleeps are over at once.
    hurries: AtomicBool,
    gone: Mutex<HashSet<u32>>,
    rounds: AtomicU64,
}

impl Host for World {
    fn wait(&self, word: &AtomicU32, value: u32) -> bool {
        let wakes = self.sleepers.lock().unwrap();
        if word.load(SeqCst) != value {
            return false;
        }
        self.rounds.fetch_add(1, Relaxed);
        if self.hurries.load(Relaxed) {
            thread::yield_now();
            return true;
        }
        drop(self.woken.wait(wakes).unwrap());
        false
    }

    fn wake_one(&self, _: &AtomicU32) {
        drop(self.sleepers.lock().unwrap());
        self.woken.notify_one();
    }

    fn wake_all(&self, _: &AtomicU32) {
        drop(self.sleepers.lock().unwrap());
        self.woken.notify_all();
    }

    fn lives(&self, thread: u32) -> bool {
        !self.gone.lock().unwrap().contains(&thread)
    }
}

/// A count that only the lock keeps whole.
#[derive(Default)]
struct Count(UnsafeCell<u64>);

// SAFETY: used with the lock held.
unsafe impl Sync for Count {}

/// Sleeps here end by a wake only: one that is lost hangs the test.
#[test]
fn threads_exclude_each_other_and_no_wake_is_lost() {
    const THREADS: u32 = 16;
    const TIMES: u64 = 20_000;
    let (lock, world, count) = (CoreLock::new(), World::default(), Count::default());
    thread::scope(|scope| {
        let count_up = |me| {
            let (lock, world, count) = (&lock, &world, &count);
            scope.spawn(move || {
                for _ in 0..TIMES {
                    lock.lock(me, world).unwrap();
                    // SAFETY: this thread locked `lock` above, and every thread accesses the count
                    // under it only.
                    let value = unsafe { *count.0.get() };
                    if value % 64 == 0 {
                        thread::yield_now();
                    }
                    // SAFETY: this thread still holds `lock`, under which alone every thread
                    // accesses the count.
                    unsafe { *count.0.get() = value + 1 };
                    lock.unlock(world);
                }
            })
        };
        // Joined by handle, as ThreadSanitizer does not see how a scope waits.
        let threads: Vec<_> = (1..=THREADS).map(count_up).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(count.0.into_inner(), u64::from(THREADS) * TIMES);
}

/// A world in which others take the lock and let it go in each round, and at last leave it free.
struct Busy<'l> {
    lock: &'l CoreLock,
    rounds: AtomicU32,
}

impl Busy<'_> {
    const ROUNDS: u32 = 100 * ROUNDS_STALLED;
}

impl Host for Busy<'_> {
    fn wait(&self, _: &AtomicU32, _: u32) -> bool {
        let round = self.rounds.fetch_add(1, Relaxed) + 1;
        self.lock.unlock(self);
        if round < Self::ROUNDS {
            self.lock.lock(7 + round, self).unwrap();
        }
        true
    }

    fn wake_one(&self, _: &AtomicU32) {}

    fn wake_all(&self, _: &AtomicU32) {
        panic!("somebody gave up");
    }

    fn lives(&self, _: u32) -> bool {
        false
    }
}

#[test]
fn a_waiter_that_loses_every_race_waits_on_as_long_as_the_lock_changes_hands() {
    let lock = CoreLock::new();
    let world = Busy { lock: &lock, rounds: AtomicU32::new(0) };
    lock.lock(7, &world).unwrap();
    assert_eq!(lock.lock(1, &world), Ok(()));
    assert_eq!(world.rounds.load(Relaxed), Busy::ROUNDS);
}

#[test]
fn a_holder_that_is_gone_is_given_up_after_two_rounds_and_one_that_lives_after_thirty() {
    for (is_gone, failure, rounds) in
        [(true, Failure::Gone(7), 2), (false, Failure::Stalled(7), u64::from(ROUNDS_STALLED))]
    {
        let (lock, world) = (CoreLock::new(), World::default());
        world.hurries.store(true, Relaxed);
        lock.lock(7, &world).unwrap();
        if is_gone {
            world.gone.lock().unwrap().insert(7);
        }
        assert_eq!(lock.lock(1, &world), Err(failure));
        assert_eq!(world.rounds.load(Relaxed), rounds);
        assert_eq!(lock.lock(2, &world), Err(Failure::Closed));
        // It has not been gone at all: the lock stays closed.
        lock.unlock(&world);
        assert_eq!(lock.lock(2, &world), Err(Failure::Closed));
        lock.forget();
        lock.lock(3, &world).unwrap();
    }
}

#[test]
fn a_thread_that_jumped_out_with_the_lock_does_not_wait_for_itself() {
    let (lock, world) = (CoreLock::new(), World::default());
    lock.lock(7, &world).unwrap();
    assert_eq!(lock.lock(7, &world), Err(Failure::Gone(7)));
    assert_eq!(world.rounds.load(Relaxed), 0);
}

#[test]
fn who_sleeps_is_woken_when_the_lock_is_given_up() {
    let (lock, world) = (CoreLock::new(), World::default());
    lock.lock(7, &world).unwrap();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| lock.lock(1, &world));
        while world.rounds.load(Relaxed) == 0 {
            thread::yield_now();
        }
        assert_eq!(lock.lock(7, &world), Err(Failure::Gone(7)));
        assert_eq!(sleeper.join().unwrap(), Err(Failure::Closed));
    });
}
