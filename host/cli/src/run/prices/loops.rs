//! `lockwright calibrate`: how long things take in this process, as it was started: natively, or
//! watched.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use libc::{pthread_mutex_t, pthread_rwlock_t};
use lockwright_measure::stats;

use super::Prices;

/// How long each loop runs.
const ROUND: Duration = Duration::from_millis(1);

/// How long each of several loops runs of which one counts.
const SHORT_ROUND: Duration = Duration::from_micros(500);

/// How long the loop over many places runs, each of which is first taken by way of the slow path.
const LONG_ROUND: Duration = Duration::from_millis(4);

/// Batches at the least, however often others take the processor away meanwhile.
const BATCHES: usize = 30;

/// Times round between two looks at the clock, so that the clock is not what is measured.
const BATCH: u32 = 100;

/// Locks that the loop over many places takes.
const LOCKS: usize = 16;

/// Words of memory that the work between locks reads and changes at most: more than the nearest
/// cache has room for.
const WORDS: usize = 65536;

/// What is done between locks.
#[derive(Clone, Copy)]
struct Work {
    steps: u32,
    /// Words of memory, a power of two.
    words: usize,
}

/// Little, in memory that stays in the nearest cache.
const LITTLE: Work = Work { steps: 1, words: 4096 };

/// Much, which displaces what the tool works on.
const MUCH: Work = Work { steps: 8, words: WORDS };

/// An object of the C library that threads share by address.
struct Shared<T>(UnsafeCell<T>);

// SAFETY: used by the functions that are made for that.
unsafe impl<T> Sync for Shared<T> {}

type Mutex = Shared<pthread_mutex_t>;

impl Mutex {
    const fn new() -> Self {
        Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    fn lock(&self) {
        // SAFETY: a static mutex, which is initialised and never moves.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
    }

    fn unlock(&self) {
        // SAFETY: a valid mutex, which the calling thread has locked.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }
}

static READ: Shared<pthread_rwlock_t> = Shared(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER));

static OWN: Mutex = Mutex::new();
static TAKEN: Mutex = Mutex::new();
static MANY: [Mutex; LOCKS] = [const { Mutex::new() }; LOCKS];
static MEMORY: [AtomicU32; WORDS] = [const { AtomicU32::new(0) }; WORDS];

/// Times of each thing, ns; and as `load_ns` the CPU time that measuring them took.
pub fn measure() -> Prices {
    let loaded_ns = cpu_ns();
    // Also, with one thread glibc takes locks without atomics, which no watched program can.
    let (taken, is_taken) = mpsc::channel::<()>();
    let (done, wait) = mpsc::channel::<()>();
    let second = std::thread::spawn(move || {
        TAKEN.lock();
        drop(taken);
        let _ = wait.recv();
        TAKEN.unlock();
    });
    let _ = is_taken.recv();
    fill_memory();
    let prices = Prices { load_ns: 0.0, ..waits(pairs(Prices::default())) };
    drop(done);
    let _ = second.join();
    Prices { load_ns: (cpu_ns() - loaded_ns) as f64, ..prices }
}

fn fill_memory() {
    let mut value = 1_u64;
    for word in &MEMORY {
        value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
        word.store((value >> 32) as u32, Relaxed);
    }
}

/// Locks and their unlocks.
fn pairs(others: Prices) -> Prices {
    // Where the code of a loop and its lock lie changes what a pair takes by as much as the tool
    // adds. So there are several.
    let tight_ns =
        stats::median(&[tight::<0>, tight::<1>, tight::<2>, tight::<3>, tight::<4>].map(|f| f()));
    let mut value = 1;
    let mut turn = 0;
    let mut next = |value: u64| {
        turn += 1;
        // One place in four is another than the last time round.
        let is_usual = value >> 62 != 0;
        PLACES[if is_usual { turn } else { (value >> 57) as usize } % PLACES.len()]
    };
    let pair_ns = usual(LONG_ROUND, || value = next(value)(value, LITTLE));
    let sparse_ns = usual(LONG_ROUND, || value = next(value)(value, MUCH));
    let read_ns = usual(ROUND, || {
        // SAFETY: a valid lock, which is unlocked by the thread that has locked it.
        unsafe {
            libc::pthread_rwlock_rdlock(READ.0.get());
            libc::pthread_rwlock_unlock(READ.0.get());
        }
        value = work(value, LITTLE);
    });
    Prices { tight_ns, pair_ns, sparse_ns, read_ns, ..others }
}

/// A lock and unlock, and nothing else.
#[inline(never)]
fn tight<const N: usize>() -> f64 {
    let mutex = &MANY[N];
    usual(SHORT_ROUND, || {
        mutex.lock();
        mutex.unlock();
    })
}

/// Before 1970: the C library itself gives up, and no timer makes it sleep.
static PAST: libc::timespec = libc::timespec { tv_sec: -1, tv_nsec: 0 };

/// Waits, for a lock and in calls. Another thread has `TAKEN`.
fn waits(others: Prices) -> Prices {
    let mut value = 1;
    let wait_ns = usual(ROUND, || {
        // SAFETY: a valid mutex, and a time that the wait ends at before it has begun.
        unsafe { libc::pthread_mutex_timedlock(TAKEN.0.get(), &raw const PAST) };
        value = work(value, LITTLE);
    });
    OWN.lock();
    let call_ns = usual(ROUND, || {
        // SAFETY: no file has that number, and nothing is read.
        unsafe { libc::read(-1, std::ptr::null_mut(), 0) };
        value = work(value, LITTLE);
    });
    OWN.unlock();
    Prices { wait_ns, call_ns, ..others }
}

/// CPU time of this process so far.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds that `once` usually takes: the median of the batches after the first third, which
/// are slower in a watched process, where all is new to the record. The least of them would be one
/// that the processor had luck with.
fn usual(round: Duration, mut once: impl FnMut()) -> f64 {
    let mut batches = Vec::new();
    let begun = Instant::now();
    while batches.len() < BATCHES || begun.elapsed() < round {
        let batch = Instant::now();
        (0..BATCH).for_each(|_| once());
        batches.push(batch.elapsed().as_nanos() as f64 / f64::from(BATCH));
    }
    stats::median(&batches.split_off(batches.len() / 3))
}

/// What a program does between its calls: it reads and changes memory, branches and calls by what
/// it finds there, and each step waits for the one before.
fn work(value: u64, how: Work) -> u64 {
    let words = how.words - 1;
    (0..how.steps).fold(value, |value, _| {
        let word = MEMORY[(value >> 40) as usize & words].load(Relaxed);
        let mixed = match word & 1 {
            0 => value.wrapping_add(word.into()).wrapping_mul(0xff51_afd7_ed55_8ccd),
            _ => call(value, word),
        };
        let changed = word.wrapping_add((mixed >> 50) as u32);
        MEMORY[(mixed >> 30) as usize & words].store(changed, Relaxed);
        mixed ^ mixed >> 33
    })
}

#[inline(never)]
fn call(value: u64, word: u32) -> u64 {
    black_box(value ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// One of the places where locks are taken: each has calls of its own, which the processor and the
/// tool know by their addresses. Half of them lock by way of a function of the program's.
#[inline(never)]
fn place<const N: usize>(value: u64, how: Work) -> u64 {
    let mutex = &MANY[N % LOCKS];
    let value = value.wrapping_add(N as u64);
    if N.is_multiple_of(2) {
        mutex.lock();
        let value = work(value, how);
        mutex.unlock();
        return work(value, how);
    }
    wrapped_lock(mutex);
    let value = work(value, how);
    wrapped_unlock(mutex);
    work(value, how)
}

#[inline(never)]
fn wrapped_lock(mutex: &Mutex) {
    mutex.lock();
    black_box(());
}

#[inline(never)]
fn wrapped_unlock(mutex: &Mutex) {
    mutex.unlock();
    black_box(());
}

macro_rules! places {
    ($($n:literal)*) => { [$(place::<$n> as Place),*] };
}

type Place = fn(u64, Work) -> u64;

static PLACES: [Place; 32] = places!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20
    21 22 23 24 25 26 27 28 29 30 31);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_take_time() {
        let prices = measure();
        assert!(prices.all().iter().all(|&ns| ns > 0.5), "{prices:?}");
    }
}
