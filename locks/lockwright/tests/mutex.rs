//! The mutex with real threads.

mod sleeping;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::mutex::{Compact, RawMutex};
use lockwright::platform::linux::Linux;

use sleeping::sleeping_mutex;

sleeping_mutex!(RawMutex<Linux>, is_owned);

mod compact {
    use super::*;

    sleeping_mutex!(RawMutex<Linux, Compact<Linux>>, is_owned);
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
                // SAFETY: this thread took `mutex` with `lock` above and still holds it.
                unsafe { mutex.unlock() };
            }
        });
        for _ in 0..50 {
            mutex.lock();
            // SAFETY: this thread took `mutex` with `lock` above and still holds it.
            unsafe { mutex.unlock() };
        }
        done.store(true, Relaxed);
        hog.join().unwrap();
    });
}
