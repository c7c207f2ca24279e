//! `lockwright calibrate`: how long things take in this process, as it was started: natively, or
//! watched.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use libc::pthread_mutex_t;

use super::prices::Prices;

/// How long each loop runs.
const ROUND: Duration = Duration::from_millis(1);

/// Batches at the least, however often others take the processor away meanwhile.
const BATCHES: usize = 10;

/// Times round between two looks at the clock, so that the clock is not what is measured.
const BATCH: u32 = 200;

/// A mutex that threads share by address.
struct Mutex(UnsafeCell<pthread_mutex_t>);

// SAFETY: used by the functions that are made for that.
unsafe impl Sync for Mutex {}

static OWN: Mutex = Mutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
static TAKEN: Mutex = Mutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));

/// Times of one pair, one wait, and one call, ns.
pub fn measure() -> Prices {
    // Also, with one thread glibc takes locks without atomics, which no watched program can.
    let (taken, is_taken) = mpsc::channel::<()>();
    let (done, wait) = mpsc::channel::<()>();
    let second = std::thread::spawn(move || {
        // SAFETY: a valid mutex, which nobody else gets until this thread gives it back.
        unsafe { libc::pthread_mutex_lock(TAKEN.0.get()) };
        drop(taken);
        let _ = wait.recv();
        // SAFETY: locked above, by this thread.
        unsafe { libc::pthread_mutex_unlock(TAKEN.0.get()) };
    });
    let _ = is_taken.recv();
    let mut value = 1;
    let pair_ns = least(|| {
        // SAFETY: a valid mutex of this thread alone.
        unsafe { libc::pthread_mutex_lock(OWN.0.get()) };
        value = work(value);
        // SAFETY: locked just now.
        unsafe { libc::pthread_mutex_unlock(OWN.0.get()) };
        value = work(value);
    });
    // Before 1970: the C library itself gives up, and no timer makes it sleep.
    let past = libc::timespec { tv_sec: -1, tv_nsec: 0 };
    let wait_ns = least(|| {
        // SAFETY: a valid mutex, and a time that the wait ends at before it has begun.
        unsafe { libc::pthread_mutex_timedlock(TAKEN.0.get(), &raw const past) };
        value = work(value);
    });
    // SAFETY: a valid mutex of this thread alone.
    unsafe { libc::pthread_mutex_lock(OWN.0.get()) };
    let call_ns = least(|| {
        // SAFETY: no file has that number, and nothing is read.
        unsafe { libc::read(-1, std::ptr::null_mut(), 0) };
        value = work(value);
    });
    // SAFETY: locked above.
    unsafe { libc::pthread_mutex_unlock(OWN.0.get()) };
    drop(done);
    let _ = second.join();
    Prices { pair_ns, wait_ns, call_ns }
}

/// Nanoseconds that `once` takes. What disturbs a batch makes it longer, never shorter.
fn least(mut once: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    let begun = Instant::now();
    let mut batches = 0..;
    while batches.next() < Some(BATCHES) || begun.elapsed() < ROUND {
        let batch = Instant::now();
        (0..BATCH).for_each(|_| once());
        least = least.min(batch.elapsed().as_nanos() as f64 / f64::from(BATCH));
    }
    least
}

/// What a program does between its calls: steps that each wait for the one before. Without it the
/// processor would do much of what the tool adds beside the locked instructions, which wait for
/// nothing but memory, and a pair would seem to cost less than it does. Few enough that a build
/// without optimisation still measures locks.
fn work(value: u64) -> u64 {
    let step = |value: u64, _| black_box(value).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..4).fold(value, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_take_time() {
        let Prices { pair_ns, wait_ns, call_ns } = measure();
        for ns in [pair_ns, wait_ns, call_ns] {
            assert!(ns > 0.5 && ns < 1e6, "{ns} ns");
        }
    }
}
