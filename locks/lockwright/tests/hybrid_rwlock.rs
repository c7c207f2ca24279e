//! The hybrid reader-writer lock with real threads.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::hybrid_rwlock::RawHybridRwLock;
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

/// Two numbers that readers find the same.
struct Pair {
    lock: RawHybridRwLock<Linux>,
    pair: UnsafeCell<(u64, u64)>,
}

// SAFETY: the pair is reached under the lock only.
unsafe impl Sync for Pair {}

impl Pair {
    const fn new() -> Self {
        Self { lock: RawHybridRwLock::new(), pair: UnsafeCell::new((0, 0)) }
    }

    /// With the lock held in any way.
    fn check(&self) -> u64 {
        // SAFETY: this thread holds the lock in some way, so no other thread writes the pair.
        let (left, right) = unsafe { *self.pair.get() };
        assert_eq!(left, right, "read while it was written");
        left
    }

    /// With the lock held to write.
    fn write(&self, round: u64) {
        // SAFETY: this thread holds the lock to write, so no other thread accesses the pair.
        unsafe { (*self.pair.get()).0 += 1 };
        if round % 1024 == 0 {
            // Others come to sleep.
            thread::sleep(Duration::from_micros(100));
        }
        // SAFETY: this thread holds the lock to write, so no other thread accesses the pair.
        unsafe { (*self.pair.get()).1 += 1 };
    }
}

fn after(time: Duration) -> Option<u64> {
    Some(Linux::now() + time.as_nanos() as u64)
}

#[test]
fn it_has_eight_bytes() {
    assert_eq!(size_of::<RawHybridRwLock<Linux>>(), 8);
}

/// One round of a thread, in the way that its number says. Whether it has written.
fn round(shared: &Pair, way: u64, round: u64) -> bool {
    let lock = &shared.lock;
    let brief = || after(Duration::from_micros(50));
    match way % 6 {
        0 => lock.lock_exclusive(),
        1 => while !lock.lock_exclusive_until(brief()) {},
        2 => {
            lock.lock_upgradable();
            let seen = shared.check();
            // SAFETY: this thread took `lock` with `lock_upgradable` above, and an upgrade that
            // fails leaves it that.
            while !unsafe { lock.upgrade_until(brief()) } {}
            assert_eq!(shared.check(), seen, "written between read and write");
        }
        3 => while !lock.lock_shared_until(brief()) {},
        4 => lock.lock_shared(),
        _ => lock.lock_shared_recursive(),
    }
    let writes = way % 6 < 3;
    if writes {
        shared.write(round);
        if round % 2 == 0 {
            // SAFETY: `writes` is true, so this thread took `lock` to write in one of the first
            // three arms.
            unsafe { lock.downgrade() };
            shared.check();
        } else {
            // SAFETY: `writes` is true, so this thread took `lock` to write in one of the first
            // three arms.
            unsafe { lock.unlock_exclusive() };
            return true;
        }
    }
    shared.check();
    // SAFETY: this thread reads: it took `lock` so in an arm above, or `downgrade` made it a
    // reader.
    unsafe { lock.unlock_shared() };
    writes
}

#[test]
fn many_threads_lose_no_section() {
    const ROUNDS: u64 = 6_000;
    let shared = Pair::new();
    let written: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let shared = &shared;
                scope.spawn(move || {
                    (0..ROUNDS).map(|n| u64::from(round(shared, thread + n, n))).sum::<u64>()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(written, 4 * ROUNDS);
    assert_eq!(shared.check(), written);
    assert!(!shared.lock.is_locked() && shared.lock.try_lock_exclusive());
}

/// Readers whose holds overlap without end keep no writer out.
#[test]
fn a_writer_does_not_starve_among_overlapping_readers() {
    let shared = Pair::new();
    let written = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                shared.lock.lock_shared();
                while !written.load(Relaxed) {
                    thread::yield_now();
                    // SAFETY: this thread took `shared.lock` with `lock_shared` above and still
                    // holds it.
                    unsafe { shared.lock.unlock_shared() };
                    shared.lock.lock_shared();
                }
                // SAFETY: this thread took `shared.lock` with `lock_shared` above and still holds
                // it.
                unsafe { shared.lock.unlock_shared() };
            });
        }
        for _ in 0..100 {
            shared.lock.lock_exclusive();
            shared.write(1);
            // SAFETY: this thread took `shared.lock` with `lock_exclusive` above and still holds
            // it.
            unsafe { shared.lock.unlock_exclusive() };
        }
        written.store(true, Relaxed);
    });
    assert_eq!(shared.check(), 100);
}

/// Writers that come again at once keep no reader out, nor another writer.
#[test]
fn hogs_starve_nobody() {
    let shared = Pair::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    shared.lock.lock_exclusive();
                    // SAFETY: this thread took `shared.lock` with `lock_exclusive` above and still
                    // holds it.
                    unsafe { shared.lock.unlock_exclusive() };
                }
            });
        }
        let others: Vec<_> = (0..4)
            .map(|way| {
                let shared = &shared;
                // Ways that wait as long as it takes.
                scope.spawn(move || (0..50).for_each(|n| _ = round(shared, 4 * (way % 2), n)))
            })
            .collect();
        others.into_iter().for_each(|other| other.join().unwrap());
        done.store(true, Relaxed);
    });
    assert_eq!(shared.check(), 100);
}

#[test]
fn who_gives_up_leaves_nothing_behind() {
    let word = [AtomicU32::new(0), AtomicU32::new(0)];
    // SAFETY: the lock is two such words.
    let lock = unsafe { &*word.as_ptr().cast::<RawHybridRwLock<Linux>>() };
    let brief = || after(Duration::from_millis(2));
    for readers in [true, false] {
        if readers {
            lock.lock_shared()
        } else {
            lock.lock_exclusive()
        }
        let before = word[0].load(Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| assert!(!lock.lock_exclusive_until(brief())));
            scope.spawn(|| assert!(!lock.lock_exclusive_until(brief())));
            if !readers {
                scope.spawn(|| assert!(!lock.lock_shared_until(brief())));
                scope.spawn(|| assert!(!lock.lock_upgradable_until(brief())));
            }
        });
        assert_eq!(word[0].load(Relaxed), before);
        // SAFETY: this thread took `lock` above, to read if `readers` is true and else to write.
        unsafe { if readers { lock.unlock_shared() } else { lock.unlock_exclusive() } };
        assert_eq!(word[0].load(Relaxed), 0);
        // But for its highest bits, which count releases.
        assert_eq!(word[1].load(Relaxed) & !(3 << 30), 0);
    }
}

/// A thread reads again though a writer waits for it.
#[test]
fn a_recursive_reader_goes_ahead_of_a_writer() {
    let shared = Pair::new();
    shared.lock.lock_shared();
    thread::scope(|scope| {
        scope.spawn(|| {
            shared.lock.lock_exclusive();
            // SAFETY: this thread took `shared.lock` with `lock_exclusive` above and still holds
            // it.
            unsafe { shared.lock.unlock_exclusive() };
        });
        // From then on nobody else may enter.
        while shared.lock.try_lock_shared() {
            // SAFETY: this thread took `shared.lock` with `try_lock_shared` above and still holds
            // it.
            unsafe { shared.lock.unlock_shared() };
            thread::yield_now();
        }
        shared.lock.lock_shared_recursive();
        // SAFETY: this thread took `shared.lock` twice: by `lock_shared` and by
        // `lock_shared_recursive`.
        unsafe {
            shared.lock.unlock_shared();
            shared.lock.unlock_shared();
        }
    });
}

#[test]
#[should_panic(expected = "too many readers")]
fn readers_that_cannot_be_counted_are_refused() {
    let word = [AtomicU32::new(1 << 31), AtomicU32::new(0)];
    // SAFETY: the lock is two such words.
    let lock = unsafe { &*word.as_ptr().cast::<RawHybridRwLock<Linux>>() };
    assert!(!lock.try_lock_shared());
    lock.lock_shared();
}
