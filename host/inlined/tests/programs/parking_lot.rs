//! A mutex with the names and the shape of `parking_lot`'s: the crate itself is called so.

pub mod raw_mutex {
    use std::sync::atomic::{AtomicU8, Ordering};
    use std::time::{Duration, Instant};

    pub struct RawMutex(AtomicU8);

    impl RawMutex {
        pub const fn new() -> Self {
            Self(AtomicU8::new(0))
        }

        #[inline]
        fn takes(&self) -> bool {
            self.0.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
        }

        #[inline]
        pub fn lock(&self) {
            if !self.takes() {
                self.lock_slow(None);
            }
        }

        #[inline]
        pub fn lock_for(&self, timeout: Duration) -> bool {
            self.takes() || self.lock_slow(Instant::now().checked_add(timeout))
        }

        #[inline]
        pub fn unlock(&self) {
            if self.0.compare_exchange(1, 0, Ordering::Release, Ordering::Relaxed).is_err() {
                self.unlock_slow(false);
            }
        }

        #[cold]
        #[inline(never)]
        fn lock_slow(&self, deadline: Option<Instant>) -> bool {
            while !self.takes() {
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return false;
                }
                std::hint::spin_loop();
            }
            true
        }

        #[cold]
        #[inline(never)]
        fn unlock_slow(&self, _is_fair: bool) {
            self.0.store(0, Ordering::Release);
        }
    }
}

use raw_mutex::RawMutex;
use std::time::Duration;

#[inline(never)]
pub fn locks_plain(mutex: &RawMutex, number: &mut u64) {
    mutex.lock();
    *number += 1;
    mutex.unlock();
}

#[inline(never)]
pub fn locks_timed(mutex: &RawMutex, number: &mut u64) {
    if mutex.lock_for(Duration::from_millis(*number)) {
        *number += 1;
        mutex.unlock();
    }
}

fn main() {
    let mutex = RawMutex::new();
    let mut number = std::env::args().count() as u64;
    locks_plain(&mutex, &mut number);
    locks_timed(&mutex, &mut number);
    println!("{number}");
}
