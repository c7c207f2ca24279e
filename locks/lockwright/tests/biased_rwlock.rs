//! The biased reader-writer lock with real threads.

use std::cell::{RefCell, UnsafeCell};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::biased_rwlock::RawBiasedRwLock;
use lockwright::locks::{BiasedRwLock, BiasedRwLockReadGuard};
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

/// Two numbers that readers find the same.
struct Pair {
    lock: RawBiasedRwLock<Linux>,
    pair: UnsafeCell<(u64, u64)>,
}

// SAFETY: the pair is reached under the lock only.
unsafe impl Sync for Pair {}

impl Pair {
    const fn new() -> Self {
        Self { lock: RawBiasedRwLock::new(), pair: UnsafeCell::new((0, 0)) }
    }

    /// With the lock held in any way.
    fn check(&self) -> u64 {
        // SAFETY: this thread holds the lock in some way, so no other thread writes the pair.
        let (left, right) = unsafe { *self.pair.get() };
        assert_eq!(left, right, "read while it was written");
        left
    }

    /// With the lock held to write.
    fn write(&self) {
        // SAFETY: this thread holds the lock to write, so no other thread accesses the pair.
        unsafe { (*self.pair.get()).0 += 1 };
        std::hint::spin_loop();
        // SAFETY: this thread holds the lock to write, so no other thread accesses the pair.
        unsafe { (*self.pair.get()).1 += 1 };
    }
}

fn after(time: Duration) -> Option<u64> {
    Some(Linux::now() + time.as_nanos() as u64)
}

/// Makes readers meet, so that the lock is biased.
fn bias(lock: &RawBiasedRwLock<Linux>) {
    let begin = Barrier::new(2);
    // Each sixteenth meeting is enough.
    for _ in 0..16 {
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    lock.lock_shared();
                    begin.wait();
                    // SAFETY: this thread took `lock` with `lock_shared` above and still holds it.
                    unsafe { lock.unlock_shared() };
                });
            }
        });
    }
}

/// One round of a thread, in the way that its number says. Whether it has written.
fn round(shared: &Pair, way: u64) -> bool {
    let lock = &shared.lock;
    let brief = || after(Duration::from_micros(50));
    match way % 64 {
        0 => lock.lock_exclusive(),
        1 => while !lock.lock_exclusive_until(brief()) {},
        2 => {
            while !lock.try_lock_exclusive() {
                thread::yield_now();
            }
        }
        3 => {
            lock.lock_upgradable();
            let seen = shared.check();
            // SAFETY: this thread took `lock` with `lock_upgradable` above and still holds it.
            while !unsafe { lock.upgrade_until(brief()) } {}
            assert_eq!(shared.check(), seen, "written between read and write");
        }
        n if n % 3 == 0 => while !lock.lock_shared_until(brief()) {},
        n if n % 3 == 1 => lock.lock_shared(),
        _ => {
            lock.lock_shared();
            for _ in 0..4 {
                lock.lock_shared_recursive();
            }
            for _ in 0..4 {
                shared.check();
                // SAFETY: this thread reads five times: by `lock_shared` and four times by
                // `lock_shared_recursive`.
                unsafe { lock.unlock_shared() };
            }
        }
    }
    let writes = way % 64 < 4;
    if writes {
        shared.write();
        // SAFETY: held; a reader from then on.
        unsafe { lock.downgrade() };
    }
    shared.check();
    // SAFETY: this thread reads: it took `lock` so in the arm above, or `downgrade` made it a
    // reader.
    unsafe { lock.unlock_shared() };
    writes
}

#[test]
fn many_threads_lose_no_section() {
    const ROUNDS: u64 = 20_000;
    let shared = Pair::new();
    bias(&shared.lock);
    let written: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|thread| {
                let shared = &shared;
                scope.spawn(move || {
                    // 37 has no factor in common with 64: all ways, in another order than 0, 1, 2.
                    (0..ROUNDS).map(|n| u64::from(round(shared, thread * 11 + n * 37))).sum::<u64>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(shared.check(), written);
    assert!(!shared.lock.is_locked() && shared.lock.try_lock_exclusive());
}

/// Readers whose holds overlap without end, each in an entry of its own, keep no writer out.
#[test]
fn a_writer_does_not_starve_among_visible_readers() {
    let shared = Pair::new();
    bias(&shared.lock);
    let written = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !written.load(Relaxed) {
                    shared.lock.lock_shared();
                    shared.check();
                    // SAFETY: this thread took `shared.lock` with `lock_shared` above and still
                    // holds it.
                    unsafe { shared.lock.unlock_shared() };
                }
            });
        }
        for _ in 0..100 {
            shared.lock.lock_exclusive();
            shared.write();
            // SAFETY: this thread took `shared.lock` with `lock_exclusive` above and still holds
            // it.
            unsafe { shared.lock.unlock_exclusive() };
        }
        written.store(true, Relaxed);
    });
}

/// A writer sleeps as long as a reader is inside, and wakes up when it leaves.
#[test]
fn a_writer_that_sleeps_is_woken() {
    let shared = Pair::new();
    bias(&shared.lock);
    shared.lock.lock_shared();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            assert!(!shared.lock.try_lock_exclusive());
            assert!(!shared.lock.lock_exclusive_until(after(Duration::from_millis(2))));
            shared.lock.lock_exclusive();
            shared.write();
            // SAFETY: this thread took `shared.lock` with `lock_exclusive` above and still holds
            // it.
            unsafe { shared.lock.unlock_exclusive() };
        });
        // It spins for less than that, unless it does not run at all.
        thread::sleep(Duration::from_millis(20));
        assert_eq!(shared.check(), 0);
        // SAFETY: this thread took `shared.lock` with `lock_shared` above and still holds it.
        unsafe { shared.lock.unlock_shared() };
        writer.join().unwrap();
    });
    assert_eq!(shared.check(), 1);
}

static KEPT: BiasedRwLock<u32> = BiasedRwLock::new(7);

thread_local! {
    /// Dropped after what the locks keep for the thread, which is made later.
    static GUARD: RefCell<Option<BiasedRwLockReadGuard<'static, u32>>> = const { RefCell::new(None) };
}

/// A guard that a thread's destructors drop is a hold as any other.
#[test]
fn a_guard_may_outlive_its_threads_number() {
    // SAFETY: a reference to the raw lock, to read.
    bias(unsafe { KEPT.raw() });
    for _ in 0..4 {
        thread::spawn(|| GUARD.with(|guard| *guard.borrow_mut() = Some(KEPT.read())))
            .join()
            .unwrap();
    }
    *KEPT.try_write().expect("all readers have left") += 1;
}

/// A guard that is forgotten keeps its lock, and not what is put where that was.
#[test]
fn a_forgotten_guard_locks_nothing_else() {
    let mut place = Box::new(BiasedRwLock::new(0));
    // SAFETY: only the reference to the raw lock is used, to read with it.
    bias(unsafe { place.raw() });
    std::mem::forget(place.read());
    assert!(place.try_write().is_none());
    *place = BiasedRwLock::new(1);
    // SAFETY: only the reference to the raw lock is used, to read with it.
    bias(unsafe { place.raw() });
    *place.try_write().expect("nobody has it") += 1;
}
