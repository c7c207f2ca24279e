//! The mutex with real threads.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::mutex::RawMutex;
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

struct Counted {
    mutex: RawMutex<Linux>,
    count: UnsafeCell<u64>,
}

// SAFETY: the count is reached under the mutex only.
unsafe impl Sync for Counted {}

fn after(time: Duration) -> Option<u64> {
    Some(Linux::now() + time.as_nanos() as u64)
}

#[test]
fn many_threads_lose_no_section() {
    const ROUNDS: u64 = 20_000;
    let shared = Counted { mutex: RawMutex::new(), count: UnsafeCell::new(0) };
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
                    assert!(shared.mutex.is_owned());
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
    let mutex = RawMutex::new();
    mutex.lock();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| mutex.lock_until(after(Duration::from_millis(5))));
        assert!(!waiter.join().unwrap());
    });
    assert!(mutex.is_owned());
    // SAFETY: held.
    unsafe { mutex.unlock() };
    assert!(mutex.try_lock() && !mutex.try_lock());
}

/// Without a hand-off, a thread that has hardly unlocked before it locks again could keep all
/// others out.
#[test]
fn a_hog_starves_nobody() {
    let mutex = RawMutex::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let hog = scope.spawn(|| {
            while !done.load(Relaxed) {
                mutex.lock();
                thread::sleep(Duration::from_micros(200));
                // SAFETY: held.
                unsafe { mutex.unlock() };
            }
        });
        for _ in 0..50 {
            mutex.lock();
            // SAFETY: held.
            unsafe { mutex.unlock() };
        }
        done.store(true, Relaxed);
        hog.join().unwrap();
    });
}
