//! The condition variable with real threads.

use std::cell::UnsafeCell;
use std::thread;

use lockwright::condvar::RawCondvar;
use lockwright::mutex::RawMutex;
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

/// A queue of at most one number between producers and consumers.
struct Slot {
    mutex: RawMutex<Linux>,
    changed: RawCondvar<Linux>,
    value: UnsafeCell<Option<u64>>,
}

// SAFETY: the value is reached under the mutex only.
unsafe impl Sync for Slot {}

impl Slot {
    /// Waits until `change` has changed the value, and tells the others.
    fn change<R>(&self, mut change: impl FnMut(&mut Option<u64>) -> Option<R>) -> R {
        self.mutex.lock();
        let result = loop {
            // SAFETY: this thread locked `mutex` above, under which alone the value is accessed.
            if let Some(result) = change(unsafe { &mut *self.value.get() }) {
                break result;
            }
            // SAFETY: this thread holds `mutex`, as `wait` demands.
            unsafe { self.changed.wait(&self.mutex) };
        };
        // SAFETY: this thread holds `mutex`: it locked it above, and each wait took it again.
        unsafe { self.mutex.unlock() };
        self.changed.notify_all();
        result
    }
}

#[test]
fn producers_and_consumers_lose_nothing() {
    const EACH: u64 = 2_000;
    let slot =
        Slot { mutex: RawMutex::new(), changed: RawCondvar::new(), value: UnsafeCell::new(None) };
    let sum = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for number in 1..=EACH {
                    slot.change(|value| value.is_none().then(|| *value = Some(number)));
                }
            });
        }
        let consumers: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| (0..EACH).map(|_| slot.change(Option::take)).sum::<u64>()))
            .collect();
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).sum::<u64>()
    });
    assert_eq!(sum, 3 * EACH * (EACH + 1) / 2);
}

/// By `lock_api`: a notifier gets the number of threads it has woken, and each of them returns.
#[test]
fn notifications_are_counted() {
    use lockwright::locks::{HybridCondvar, HybridMutex};

    const WAITERS: usize = 16;
    let (waiting, turn) = (HybridMutex::new(0), HybridCondvar::new());
    assert_eq!((turn.notify_one(), turn.notify_all()), (false, 0));
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..WAITERS)
            .map(|_| {
                scope.spawn(|| {
                    let mut guard = waiting.lock();
                    *guard += 1;
                    turn.wait(&mut guard);
                    *guard -= 1;
                })
            })
            .collect();
        // A thread that has counted itself and released the mutex waits.
        while *waiting.lock() != WAITERS {
            thread::yield_now();
        }
        assert!(turn.notify_one());
        assert_eq!(turn.notify_all(), WAITERS - 1);
        assert_eq!(turn.notify_all(), 0);
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
    assert_eq!(waiting.into_inner(), 0);
}

#[test]
fn a_wait_ends_at_its_deadline_with_the_mutex_held() {
    let (mutex, condvar) = (RawMutex::new(), RawCondvar::new());
    condvar.notify_one();
    mutex.lock();
    // SAFETY: this thread locked `mutex` above and still holds it.
    let notified = unsafe { condvar.wait_until(&mutex, Some(Linux::now() + 1_000_000)) };
    assert!(!notified && mutex.is_owned());
    // SAFETY: `wait_until` took `mutex` again for this thread before it returned.
    unsafe { mutex.unlock() };
}
