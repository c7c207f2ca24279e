use std::sync::Arc;

use lockwright::condvar::RawCondvar;
use lockwright::exclusive::Exclusive;
use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::mutex::RawMutex;
use loom::thread;

use crate::exclusion::Counter;
use crate::world::{self, Loom};

type Kernel = RawMutex<Loom>;
type Hybrid = RawHybridMutex<Loom>;

struct Shared<M> {
    mutex: M,
    changed: RawCondvar<Loom, M>,
    count: Counter,
}

impl<M: Exclusive + 'static> Shared<M> {
    fn new() -> Arc<Self> {
        let (changed, count) = (RawCondvar::new_in(), Counter::default());
        Arc::new(Self { mutex: M::new(), changed, count })
    }

    fn change(&self) {
        self.mutex.lock();
        self.count.increment();
        // SAFETY: this thread took `self.mutex` with `lock` above and still holds it.
        unsafe { self.mutex.unlock() };
    }

    fn wait(&self) {
        self.mutex.lock();
        while self.count.read() == 0 {
            // SAFETY: this thread locked `mutex` above, and each wait takes it again.
            unsafe { self.changed.wait(&self.mutex) };
        }
        // SAFETY: this thread holds `mutex`: it locked it above, and a wait takes it again.
        unsafe { self.mutex.unlock() };
    }

    /// Whether it was notified.
    fn wait_until_now(&self) -> bool {
        self.mutex.lock();
        let mut notified = false;
        if self.count.read() == 0 {
            // SAFETY: this thread locked `mutex` above, and each wait takes it again.
            notified = unsafe { self.changed.wait_until(&self.mutex, Some(0)) };
            assert!(!notified || self.count.read() == 1);
        }
        assert!(self.mutex.is_locked());
        // SAFETY: this thread holds `mutex`: it locked it above, and a wait takes it again.
        unsafe { self.mutex.unlock() };
        notified
    }
}

fn beside<M: Exclusive + 'static, T: 'static>(
    shared: &Arc<Shared<M>>,
    f: impl FnOnce(&Shared<M>) -> T + 'static,
) -> thread::JoinHandle<T> {
    let shared = Arc::clone(shared);
    thread::spawn(move || f(&shared))
}

/// Nobody misses a change.
fn all_waits_end<M: Exclusive + 'static>(waiters: usize, notify: fn(&RawCondvar<Loom, M>)) {
    world::with_patience(0, || {
        world::check(Some(2), move || {
            let shared = Shared::<M>::new();
            let others: Vec<_> = (0..waiters).map(|_| beside(&shared, Shared::wait)).collect();
            shared.change();
            notify(&shared.changed);
            others.into_iter().for_each(|other| other.join().unwrap());
        });
    });
}

#[test]
fn no_notification_is_missed() {
    all_waits_end::<Kernel>(1, |changed| _ = changed.notify_one());
    all_waits_end::<Hybrid>(1, |changed| _ = changed.notify_one());
}

#[test]
fn notify_all_wakes_everybody() {
    all_waits_end::<Kernel>(2, |changed| _ = changed.notify_all());
    all_waits_end::<Hybrid>(2, |changed| _ = changed.notify_all());
}

/// A thread that waits with a deadline has the mutex afterwards, and takes no notification from a
/// waiter without one. The notifier knows whether it woke that one.
#[test]
fn a_deadline_races_with_a_notification() {
    fn races<M: Exclusive + 'static>() {
        world::check(Some(2), || {
            let shared = Shared::<M>::new();
            let other = beside(&shared, |shared| {
                shared.change();
                shared.changed.notify_one()
            });
            let notified = shared.wait_until_now();
            assert_eq!(other.join().unwrap(), notified);
        });
    }
    world::with_patience(0, || {
        races::<Kernel>();
        races::<Hybrid>();
    });
}

/// One of those who are woken in turn gives up: the one after it is woken all the same.
#[test]
fn who_gives_up_wakes_the_next() {
    world::with_patience(0, || {
        world::check(Some(2), || {
            let shared = Shared::<Hybrid>::new();
            let impatient = beside(&shared, Shared::wait_until_now);
            let patient = beside(&shared, Shared::wait);
            shared.change();
            let woken = shared.changed.notify_all();
            assert!(usize::from(impatient.join().unwrap()) <= woken);
            patient.join().unwrap();
        });
    });
}
