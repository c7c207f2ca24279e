use std::sync::Arc;

use lockwright::condvar::RawCondvar;
use lockwright::mutex::RawMutex;
use loom::thread;

use crate::exclusion::{Counter, Exclusive};
use crate::world::{self, Loom};

struct Shared {
    mutex: RawMutex<Loom>,
    changed: RawCondvar<Loom>,
    count: Counter,
}

impl Shared {
    fn new() -> Self {
        Self { mutex: Exclusive::new(), changed: RawCondvar::new_in(), count: Counter::default() }
    }

    fn wait(&self) {
        self.mutex.lock();
        while self.count.read() == 0 {
            // SAFETY: held.
            unsafe { self.changed.wait(&self.mutex) };
        }
        // SAFETY: held.
        unsafe { self.mutex.unlock() };
    }
}

/// Nobody misses a change.
fn all_waits_end(waiters: usize, notify: fn(&RawCondvar<Loom>)) {
    world::with_patience(0, || {
        world::check(Some(2), move || {
            let shared = Arc::new(Shared::new());
            let others: Vec<_> = (0..waiters)
                .map(|_| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || shared.wait())
                })
                .collect();
            shared.mutex.locked(|| shared.count.increment());
            notify(&shared.changed);
            others.into_iter().for_each(|other| other.join().unwrap());
        });
    });
}

#[test]
fn no_notification_is_missed() {
    all_waits_end(1, RawCondvar::notify_one);
}

#[test]
fn notify_all_wakes_everybody() {
    all_waits_end(2, RawCondvar::notify_all);
}

/// Whoever waits with a deadline has the mutex afterwards, and takes no notification from who waits
/// without.
#[test]
fn a_deadline_races_with_a_notification() {
    world::with_patience(0, || {
        world::check(Some(2), || {
            let shared = Arc::new(Shared::new());
            let other = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.mutex.locked(|| shared.count.increment());
                    shared.changed.notify_one();
                })
            };
            shared.mutex.lock();
            if shared.count.read() == 0 {
                // SAFETY: held.
                let notified = unsafe { shared.changed.wait_until(&shared.mutex, Some(0)) };
                assert!(!notified || shared.count.read() == 1);
            }
            assert!(shared.mutex.is_owned());
            // SAFETY: held.
            unsafe { shared.mutex.unlock() };
            other.join().unwrap();
        });
    });
}
