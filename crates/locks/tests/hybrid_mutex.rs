//! The hybrid mutex with real threads, and across forks.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

struct Counted {
    mutex: RawHybridMutex<Linux>,
    count: UnsafeCell<u64>,
}

// SAFETY: the count is reached under the mutex only.
unsafe impl Sync for Counted {}

fn after(time: Duration) -> Option<u64> {
    Some(Linux::now() + time.as_nanos() as u64)
}

#[test]
fn it_is_a_futex_word() {
    assert_eq!(size_of::<RawHybridMutex<Linux>>(), 4);
}

#[test]
fn many_threads_lose_no_section() {
    const ROUNDS: u64 = 20_000;
    let shared = Counted { mutex: RawHybridMutex::new(), count: UnsafeCell::new(0) };
    thread::scope(|scope| {
        for thread in 0..8 {
            let shared = &shared;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    match (thread + round) % 3 {
                        0 => shared.mutex.lock(),
                        1 => while !shared.mutex.lock_until(after(Duration::from_micros(50))) {},
                        _ => {
                            while !shared.mutex.try_lock() {
                                thread::yield_now();
                            }
                        }
                    }
                    // SAFETY: the mutex is held.
                    unsafe { *shared.count.get() += 1 };
                    if round % 1024 == 0 {
                        // Others come to sleep.
                        thread::sleep(Duration::from_micros(100));
                    }
                    // SAFETY: held.
                    unsafe { shared.mutex.unlock() };
                }
            });
        }
    });
    assert_eq!(shared.count.into_inner(), 8 * ROUNDS);
    assert!(!shared.mutex.is_locked());
}

#[test]
fn a_wait_ends_at_its_deadline() {
    let mutex = RawHybridMutex::new();
    mutex.lock();
    thread::scope(|scope| {
        let waits = || mutex.lock_until(after(Duration::from_millis(5)));
        let waiters = [scope.spawn(waits), scope.spawn(waits), scope.spawn(waits)];
        waiters.into_iter().for_each(|waiter| assert!(!waiter.join().unwrap()));
    });
    assert!(mutex.is_locked());
    // SAFETY: held.
    unsafe { mutex.unlock() };
    assert!(mutex.try_lock() && !mutex.try_lock());
}

/// A thread that has hardly unlocked before it locks again keeps nobody out.
#[test]
fn a_hog_starves_nobody() {
    let mutex = RawHybridMutex::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let hog = scope.spawn(|| {
            while !done.load(Relaxed) {
                mutex.lock();
                // SAFETY: held.
                unsafe { mutex.unlock() };
            }
        });
        let others: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..100 {
                        mutex.lock();
                        thread::yield_now();
                        // SAFETY: held.
                        unsafe { mutex.unlock() };
                    }
                })
            })
            .collect();
        others.into_iter().for_each(|other| other.join().unwrap());
        done.store(true, Relaxed);
        hog.join().unwrap();
    });
}

/// More waiters than the word can count.
#[test]
fn waiters_that_are_not_counted_get_it_too() {
    const COUNTED: u32 = (1 << 12) - 1;
    let word = AtomicU32::new(0);
    // SAFETY: the mutex is this word.
    let mutex = unsafe { &*word.as_ptr().cast::<RawHybridMutex<Linux>>() };
    mutex.lock();
    // As with so many sleepers; and that of the head, who keeps others from being woken.
    let noted = COUNTED << 20 | 1 << 8;
    word.fetch_or(noted, Relaxed);
    thread::scope(|scope| {
        let late = scope.spawn(|| mutex.lock_until(after(Duration::from_millis(5))));
        assert!(!late.join().unwrap());
        let other = scope.spawn(|| {
            mutex.lock();
            // SAFETY: held.
            unsafe { mutex.unlock() };
        });
        thread::sleep(Duration::from_millis(5));
        // SAFETY: held.
        unsafe { mutex.unlock() };
        other.join().unwrap();
    });
    assert_eq!(word.load(Relaxed), noted);
}

/// What runs in the child of a fork of this process, and its end.
fn in_child(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only runs what locks of this crate do, and ends.
    match unsafe { libc::fork() } {
        // SAFETY: ends this process without what `main` would do.
        0 => unsafe { libc::_exit(i32::from(!child())) },
        pid => {
            let mut status = 0;
            // SAFETY: our child.
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
            status == 0
        }
    }
}

/// The parent's waiters do not exist in the child: the lock is as good there as any.
#[test]
fn a_child_does_not_wait_for_its_parents_threads() {
    let word = AtomicU32::new(0);
    // SAFETY: the mutex is this word.
    let mutex = unsafe { &*word.as_ptr().cast::<RawHybridMutex<Linux>>() };
    thread::scope(|scope| {
        mutex.lock();
        for _ in 0..3 {
            scope.spawn(|| {
                mutex.lock();
                // SAFETY: held.
                unsafe { mutex.unlock() };
            });
        }
        // Bits 20 and up count sleepers, bit 9 says that the head sleeps.
        while word.load(Relaxed) >> 20 != 2 || word.load(Relaxed) & 1 << 9 == 0 {
            thread::yield_now();
        }
        let works = in_child(|| {
            // SAFETY: held, by the thread that was forked.
            unsafe { mutex.unlock() };
            let free = word.load(Relaxed) == 0;
            mutex.lock();
            let timed = !mutex.lock_until(after(Duration::from_millis(1)));
            // SAFETY: held.
            unsafe { mutex.unlock() };
            let tried = mutex.try_lock() && !mutex.try_lock();
            // SAFETY: held.
            unsafe { mutex.unlock() };
            free && timed && tried && word.load(Relaxed) == 0
        });
        // SAFETY: held.
        unsafe { mutex.unlock() };
        assert!(works, "in the child the lock is not as it should be");
    });
    assert_eq!(word.load(Relaxed), 0);
}

/// A child whose parent's head had asked for the lock to be kept for it.
#[test]
fn a_child_keeps_nothing_for_its_parents_threads() {
    let word = AtomicU32::new(0);
    // SAFETY: the mutex is this word.
    let mutex = unsafe { &*word.as_ptr().cast::<RawHybridMutex<Linux>>() };
    // A free lock with a head that it is kept for.
    word.store(1 << 8 | 1 << 1, Relaxed);
    assert!(!mutex.try_lock());
    let works = in_child(|| {
        let tried = mutex.try_lock();
        // SAFETY: held.
        unsafe { mutex.unlock() };
        mutex.lock();
        // SAFETY: held.
        unsafe { mutex.unlock() };
        tried && word.load(Relaxed) == 0
    });
    assert!(works, "in the child the lock is not as it should be");
}
