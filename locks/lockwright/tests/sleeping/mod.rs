//! The checks of sleeping mutexes with real threads.

use std::cell::UnsafeCell;
use std::thread;
use std::time::Duration;

use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

/// A mutex that sleeps and has deadlines.
pub trait Mutex: Sync {
    fn new() -> Self;
    fn lock(&self);
    fn try_lock(&self) -> bool;
    fn lock_until(&self, deadline: Option<u64>) -> bool;
    /// # Safety
    /// The calling thread holds it.
    unsafe fn unlock(&self);
    /// Whether the calling thread holds it, as far as the mutex knows.
    fn is_held(&self) -> bool;
    fn is_locked(&self) -> bool;
}

/// The usual tests of one, whose method `$is_held` says whether the calling thread holds it.
macro_rules! sleeping_mutex {
    ($mutex:ty, $is_held:ident) => {
        impl $crate::sleeping::Mutex for $mutex {
            fn new() -> Self {
                Self::new_in()
            }
            fn lock(&self) {
                self.lock();
            }
            fn try_lock(&self) -> bool {
                self.try_lock()
            }
            fn lock_until(&self, deadline: Option<u64>) -> bool {
                self.lock_until(deadline)
            }
            /// # Safety
            /// The contract is that of `Mutex::unlock`.
            unsafe fn unlock(&self) {
                // SAFETY: by the trait's contract the calling thread holds this mutex.
                unsafe { self.unlock() }
            }
            fn is_held(&self) -> bool {
                self.$is_held()
            }
            fn is_locked(&self) -> bool {
                self.is_locked()
            }
        }

        #[test]
        fn many_threads_lose_no_section() {
            $crate::sleeping::many_threads_lose_no_section::<$mutex>();
        }

        #[test]
        fn a_wait_ends_at_its_deadline() {
            $crate::sleeping::a_wait_ends_at_its_deadline::<$mutex>();
        }
    };
}
pub(crate) use sleeping_mutex;

/// A deadline.
pub fn after(time: Duration) -> Option<u64> {
    Some(Linux::now() + time.as_nanos() as u64)
}

struct Counted<M> {
    mutex: M,
    count: UnsafeCell<u64>,
}

// SAFETY: the count is reached under the mutex only.
unsafe impl<M: Sync> Sync for Counted<M> {}

pub fn many_threads_lose_no_section<M: Mutex>() {
    const ROUNDS: u64 = 20_000;
    let shared = Counted { mutex: M::new(), count: UnsafeCell::new(0) };
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
                    assert!(shared.mutex.is_held());
                    // SAFETY: this thread took the mutex above, under which alone the count is
                    // accessed.
                    unsafe { *shared.count.get() += 1 };
                    if round % 1024 == 0 {
                        // Others come to sleep.
                        thread::sleep(Duration::from_micros(100));
                    }
                    // SAFETY: this thread took the mutex in one of the arms above and still holds
                    // it.
                    unsafe { shared.mutex.unlock() };
                }
            });
        }
    });
    assert_eq!(shared.count.into_inner(), 8 * ROUNDS);
    assert!(!shared.mutex.is_locked());
}

pub fn a_wait_ends_at_its_deadline<M: Mutex>() {
    let mutex = M::new();
    mutex.lock();
    thread::scope(|scope| {
        let waits = || mutex.lock_until(after(Duration::from_millis(5)));
        let waiters = [scope.spawn(waits), scope.spawn(waits), scope.spawn(waits)];
        waiters.into_iter().for_each(|waiter| assert!(!waiter.join().unwrap()));
    });
    assert!(mutex.is_held());
    // SAFETY: this thread took `mutex` with `lock` above, and all other waiters gave up.
    unsafe { mutex.unlock() };
    assert!(mutex.try_lock() && !mutex.try_lock());
}
