//! The kernel's tests of ww_mutex (`kernel/locking/test-ww_mutex.c`), under its names, each for
//! both algorithms.

use std::cell::UnsafeCell;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use lockwright::completion::RawCompletion;
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;
use lockwright::ww_mutex::{Algorithm, Refused};

type Mutex = lockwright::ww_mutex::RawWwMutex<Linux>;
type Ctx = lockwright::ww_mutex::AcquireCtx<Linux>;
type Class = lockwright::ww_mutex::Class<Linux>;

const BOTH: [Algorithm; 2] = [Algorithm::WoundWait, Algorithm::WaitDie];

/// How long to look for what must not happen.
const A_WHILE: Duration = Duration::from_millis(20);

/// How long each thread begins new transactions under stress.
const STRESS: Duration = Duration::from_millis(300);

fn lock(mutex: &Mutex, ctx: Option<&Ctx>) -> Result<(), Refused> {
    // SAFETY: each test keeps its contexts until all is unlocked, and has one class.
    unsafe { mutex.lock(ctx) }
}

fn try_lock(mutex: &Mutex, ctx: Option<&Ctx>) -> bool {
    // SAFETY: likewise.
    unsafe { mutex.try_lock(ctx) }
}

fn lock_slow(mutex: &Mutex, ctx: &Ctx) {
    // SAFETY: likewise; asked for after all was unlocked.
    unsafe { mutex.lock_slow(ctx) };
}

fn unlock(mutex: &Mutex) {
    assert!(mutex.is_owned());
    // SAFETY: held.
    unsafe { mutex.unlock() };
}

fn cpus() -> usize {
    thread::available_parallelism().map_or(2, usize::from).clamp(2, 8)
}

/// `spin`: the holder spins meanwhile, or sleeps; `trylock`: the other one tries, or waits;
/// `with_ctx`: the holder has a context.
fn test_mutex(spin: bool, trylock: bool, with_ctx: bool) {
    for algorithm in BOTH {
        let (class, mutex) = (Class::new(algorithm), Mutex::new());
        let (ready, go, done) = (RawCompletion::new(), RawCompletion::new(), RawCompletion::new());
        let ctx = with_ctx.then(|| Ctx::new(&class));
        thread::scope(|scope| {
            scope.spawn(|| {
                ready.complete();
                go.wait();
                if trylock {
                    while !try_lock(&mutex, None) {
                        thread::yield_now();
                    }
                } else {
                    lock(&mutex, None).unwrap();
                }
                done.complete();
                unlock(&mutex);
            });
            ready.wait();
            lock(&mutex, ctx.as_ref()).unwrap();
            go.complete();
            if spin {
                let begin = Instant::now();
                while begin.elapsed() < A_WHILE {
                    assert!(!done.is_done(), "mutual exclusion failure");
                    core::hint::spin_loop();
                }
            } else {
                let deadline = Linux::now() + A_WHILE.as_nanos() as u64;
                assert!(!done.wait_until(Some(deadline)), "mutual exclusion failure");
            }
            unlock(&mutex);
            done.wait();
        });
    }
}

macro_rules! mutex_tests {
    ($($name:ident: $spin:literal $trylock:literal $ctx:literal;)*) => {
        $(
            #[test]
            fn $name() {
                test_mutex($spin, $trylock, $ctx);
            }
        )*
    };
}

mutex_tests! {
    test_mutex_0: false false false;
    test_mutex_1_spin: true false false;
    test_mutex_2_try: false true false;
    test_mutex_3_spin_try: true true false;
    test_mutex_4_ctx: false false true;
    test_mutex_5_spin_ctx: true false true;
    test_mutex_6_try_ctx: false true true;
    test_mutex_7_spin_try_ctx: true true true;
}

fn test_aa(trylock: bool) {
    for algorithm in BOTH {
        let (class, mutex) = (Class::new(algorithm), Mutex::new());
        let ctx = Ctx::new(&class);
        if trylock {
            assert!(try_lock(&mutex, Some(&ctx)), "initial trylock failed");
        } else {
            lock(&mutex, Some(&ctx)).unwrap();
        }
        assert!(!try_lock(&mutex, None), "trylocked itself without context");
        assert!(!try_lock(&mutex, Some(&ctx)), "trylocked itself with context");
        assert_eq!(lock(&mutex, Some(&ctx)), Err(Refused::Already), "missed recursion");
        assert_eq!(ctx.acquired(), 1);
        unlock(&mutex);
        assert_eq!(ctx.acquired(), 0);
    }
}

#[test]
fn test_aa_lock() {
    test_aa(false);
}

#[test]
fn test_aa_trylock() {
    test_aa(true);
}

/// Takes `mine`, and `other` when everybody has his. If it is refused and `resolve`s, it begins
/// again. Whether it came to have both.
fn crossing(
    class: &Class,
    mine: &Mutex,
    other: &Mutex,
    everybody: &Barrier,
    trylock: bool,
    resolve: bool,
) -> Result<(), Refused> {
    let ctx = Ctx::new(class);
    if trylock {
        assert!(try_lock(mine, Some(&ctx)), "nobody else has it yet");
    } else {
        lock(mine, Some(&ctx)).unwrap();
    }
    everybody.wait();
    let mut result = lock(other, Some(&ctx));
    if resolve && result == Err(Refused::Deadlock) {
        unlock(mine);
        lock_slow(other, &ctx);
        result = lock(mine, Some(&ctx));
        if result.is_err() {
            unlock(other);
            return result;
        }
    }
    if result.is_ok() {
        unlock(other);
    }
    unlock(mine);
    result
}

fn test_abba(trylock: bool, resolve: bool) {
    for algorithm in BOTH {
        let (class, everybody) = (Class::new(algorithm), Barrier::new(2));
        let [a, b] = [Mutex::new(), Mutex::new()];
        let results = thread::scope(|scope| {
            let other = scope.spawn(|| crossing(&class, &b, &a, &everybody, trylock, resolve));
            [crossing(&class, &a, &b, &everybody, trylock, resolve), other.join().unwrap()]
        });
        if resolve {
            assert_eq!(results, [Ok(()); 2], "ABBA deadlock not resolved");
        } else {
            let refused = results.iter().filter(|it| **it == Err(Refused::Deadlock)).count();
            assert_eq!(refused, 1, "missed ABBA deadlock, or refused both: {results:?}");
        }
        assert!(!a.is_locked() && !b.is_locked());
    }
}

#[test]
fn test_abba_lock() {
    test_abba(false, false);
}

#[test]
fn test_abba_lock_resolve() {
    test_abba(false, true);
}

#[test]
fn test_abba_trylock() {
    test_abba(true, false);
}

#[test]
fn test_abba_trylock_resolve() {
    test_abba(true, true);
}

/// Each has one, and wants that of the next.
#[test]
fn test_cycle() {
    for algorithm in BOTH {
        for count in 2..=cpus() + 2 {
            let (class, everybody) = (Class::new(algorithm), Barrier::new(count));
            let mutexes: Vec<_> = (0..count).map(|_| Mutex::new()).collect();
            thread::scope(|scope| {
                for place in 0..count {
                    let (class, everybody, mutexes) = (&class, &everybody, &mutexes);
                    scope.spawn(move || {
                        let (mine, next) = (&mutexes[place], &mutexes[(place + 1) % count]);
                        let ctx = Ctx::new(class);
                        lock(mine, Some(&ctx)).unwrap();
                        everybody.wait();
                        let mut second = next;
                        let mut first = mine;
                        while lock(second, Some(&ctx)).is_err() {
                            unlock(first);
                            lock_slow(second, &ctx);
                            (first, second) = (second, first);
                        }
                        unlock(mine);
                        unlock(next);
                    });
                }
            });
            assert!(mutexes.iter().all(|mutex| !mutex.is_locked()));
        }
    }
}

/// A lock and what it guards.
#[derive(Default)]
struct Guarded(Mutex, UnsafeCell<u64>);

// SAFETY: the count is reached under the mutex only.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn count(&self) {
        assert!(self.0.is_owned());
        // SAFETY: the mutex is held.
        unsafe { *self.1.get() += 1 };
    }
}

/// Numbers that look random (Steele and others, *Fast Splittable Pseudorandom Number Generators*,
/// 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<_> = (0..count).collect();
        (1..count).rev().for_each(|last| order.swap(last, self.below(last + 1)));
        order
    }
}

/// Takes all locks in its order. What is refused is taken first in the next attempt, at its place
/// in the order.
fn stress_inorder(class: &Class, locks: &[Guarded], order: &[usize]) {
    let ctx = Ctx::new(class);
    let mut contended = None;
    loop {
        let refused = order.iter().enumerate().position(|(place, &index)| {
            if contended == Some(place) {
                return false;
            }
            let result = lock(&locks[index].0, Some(&ctx));
            assert!(matches!(result, Ok(()) | Err(Refused::Deadlock)), "{result:?}");
            result.is_err()
        });
        let Some(refused) = refused else { break };
        for (place, &index) in order.iter().enumerate() {
            if place < refused || contended == Some(place) {
                unlock(&locks[index].0);
            }
        }
        lock_slow(&locks[order[refused]].0, &ctx);
        contended = Some(refused);
    }
    for &index in order {
        locks[index].count();
        unlock(&locks[index].0);
    }
}

/// Takes all locks. What is refused comes to the front of the order, for good.
fn stress_reorder(class: &Class, locks: &[Guarded], order: &mut [usize]) {
    let ctx = Ctx::new(class);
    let mut place = 0;
    while place < order.len() {
        let result = lock(&locks[order[place]].0, Some(&ctx));
        if result.is_ok() {
            place += 1;
            continue;
        }
        assert_eq!(result, Err(Refused::Deadlock));
        order[..place].iter().for_each(|&index| unlock(&locks[index].0));
        lock_slow(&locks[order[place]].0, &ctx);
        order[..=place].rotate_right(1);
        place = 1;
    }
    for &index in order.iter() {
        locks[index].count();
        unlock(&locks[index].0);
    }
}

#[derive(Clone, Copy)]
enum Worker {
    Inorder,
    Reorder,
    /// Takes one lock at a time, without a context.
    One,
}

fn stress(locks: usize, workers: &[Worker]) {
    for algorithm in BOTH {
        let class = Class::new(algorithm);
        let locks: Vec<_> = (0..locks).map(|_| Guarded::default()).collect();
        let counted: u64 = thread::scope(|scope| {
            let threads: Vec<_> = workers
                .iter()
                .zip(1..)
                .map(|(worker, seed)| {
                    let (class, locks) = (&class, &locks);
                    scope.spawn(move || {
                        let mut random = Random(seed);
                        let mut order = random.order(locks.len());
                        let (begin, mut counted) = (Instant::now(), 0);
                        while counted == 0 || begin.elapsed() < STRESS {
                            match worker {
                                Worker::Inorder => stress_inorder(class, locks, &order),
                                Worker::Reorder => stress_reorder(class, locks, &mut order),
                                Worker::One => {
                                    let one = &locks[random.below(locks.len())];
                                    lock(&one.0, None).unwrap();
                                    one.count();
                                    unlock(&one.0);
                                    counted += 1;
                                    continue;
                                }
                            }
                            counted += locks.len() as u64;
                        }
                        counted
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let found: u64 = locks.into_iter().map(|lock| lock.1.into_inner()).sum();
        assert_eq!(found, counted, "a section was lost");
    }
}

#[test]
fn stress_inorder_16() {
    stress(16, &vec![Worker::Inorder; 2 * cpus()]);
}

#[test]
fn stress_reorder_16() {
    stress(16, &vec![Worker::Reorder; 2 * cpus()]);
}

#[test]
fn stress_all_4095() {
    stress(4095, &[Worker::Inorder, Worker::Reorder, Worker::One].repeat(cpus()));
}
