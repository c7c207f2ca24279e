//! The hybrid mutex with real threads, and across forks.

mod sleeping;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::platform::linux::Linux;

use sleeping::{after, sleeping_mutex};

sleeping_mutex!(RawHybridMutex<Linux>, is_locked);

/// The word of a mutex without its highest bits, which count releases.
fn but_for_releases(word: &AtomicU32) -> u32 {
    word.load(Relaxed) & !(3 << 30)
}

#[test]
fn it_is_a_futex_word() {
    assert_eq!(size_of::<RawHybridMutex<Linux>>(), 4);
}

/// A thread that has hardly unlocked before it locks again keeps nobody out.
#[test]
fn a_hog_starves_nobody() {
    let mutex = RawHybridMutex::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let hog = scope.spawn(|| {
            while !done.load(Relaxed) {
                mutex.lock();
                // SAFETY: this thread took `mutex` with `lock` above and still holds it.
                unsafe { mutex.unlock() };
            }
        });
        let others: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..100 {
                        mutex.lock();
                        thread::yield_now();
                        // SAFETY: this thread took `mutex` with `lock` above and still holds it.
                        unsafe { mutex.unlock() };
                    }
                })
            })
            .collect();
        others.into_iter().for_each(|other| other.join().unwrap());
        done.store(true, Relaxed);
        hog.join().unwrap();
    });
}

/// More waiters than the word can count.
#[test]
fn waiters_that_are_not_counted_get_it_too() {
    const COUNTED: u32 = (1 << 12) - 1;
    let word = AtomicU32::new(0);
    // SAFETY: the mutex is this word.
    let mutex = unsafe { &*word.as_ptr().cast::<RawHybridMutex<Linux>>() };
    mutex.lock();
    // As with so many sleepers; and that of the head, which keeps others from being woken.
    let noted = COUNTED << 18 | 1 << 2;
    word.fetch_or(noted, Relaxed);
    thread::scope(|scope| {
        let late = scope.spawn(|| mutex.lock_until(after(Duration::from_millis(5))));
        assert!(!late.join().unwrap());
        let other = scope.spawn(|| {
            mutex.lock();
            // SAFETY: this thread took `mutex` with `lock` above and still holds it.
            unsafe { mutex.unlock() };
        });
        thread::sleep(Duration::from_millis(5));
        // SAFETY: this thread took `mutex` with `lock` above and still holds it.
        unsafe { mutex.unlock() };
        other.join().unwrap();
    });
    assert_eq!(but_for_releases(&word), noted);
}

/// What runs in the child of a fork of this process, and its end.
fn in_child(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only runs what locks of this crate do, and ends.
    match unsafe { libc::fork() } {
        // SAFETY: ends this process without what `main` would do.
        0 => unsafe { libc::_exit(i32::from(!child())) },
        pid => {
            let mut status = 0;
            // SAFETY: `pid` is the child forked above, and `status` has room for its result.
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
            status == 0
        }
    }
}

/// The parent's waiters do not exist in the child: the lock is as good there as any.
#[test]
fn a_child_does_not_wait_for_its_parents_threads() {
    let word = AtomicU32::new(0);
    // SAFETY: the mutex is this word.
    let mutex = unsafe { &*word.as_ptr().cast::<RawHybridMutex<Linux>>() };
    thread::scope(|scope| {
        mutex.lock();
        for _ in 0..3 {
            scope.spawn(|| {
                mutex.lock();
                // SAFETY: this thread took `mutex` with `lock` above and still holds it.
                unsafe { mutex.unlock() };
            });
        }
        // Bits 18 to 29 count sleepers, bit 3 says that the head sleeps.
        while word.load(Relaxed) >> 18 & 0xfff != 2 || word.load(Relaxed) & 1 << 3 == 0 {
            thread::yield_now();
        }
        let works = in_child(|| {
            // SAFETY: held, by the thread that was forked.
            unsafe { mutex.unlock() };
            let free = but_for_releases(&word) == 0;
            mutex.lock();
            let timed = !mutex.lock_until(after(Duration::from_millis(1)));
            // SAFETY: the child's thread took `mutex` with `lock` above; the timed attempt took
            // nothing.
            unsafe { mutex.unlock() };
            let tried = mutex.try_lock() && !mutex.try_lock();
            // SAFETY: `try_lock` above took `mutex`, or `tried` is false and the test fails.
            unsafe { mutex.unlock() };
            free && timed && tried && but_for_releases(&word) == 0
        });
        // SAFETY: this thread took `mutex` before the fork and has not released it in this process.
        unsafe { mutex.unlock() };
        assert!(works, "in the child the lock is not as it should be");
    });
    assert_eq!(but_for_releases(&word), 0);
}

/// A child whose parent's head had asked for the lock to be kept for it.
#[test]
fn a_child_keeps_nothing_for_its_parents_threads() {
    let word = AtomicU32::new(0);
    // SAFETY: the mutex is this word.
    let mutex = unsafe { &*word.as_ptr().cast::<RawHybridMutex<Linux>>() };
    // A free lock with a head that it is kept for: SLOW_UNLOCK, KEPT, HEAD, FAIR, LOCKED.
    word.store(0b110_0111, Relaxed);
    assert!(!mutex.try_lock());
    let works = in_child(|| {
        let tried = mutex.try_lock();
        // SAFETY: `try_lock` above took `mutex`, or `tried` is false and the test fails.
        unsafe { mutex.unlock() };
        mutex.lock();
        // SAFETY: this thread took `mutex` with `lock` above and still holds it.
        unsafe { mutex.unlock() };
        tried && but_for_releases(&word) == 0
    });
    assert!(works, "in the child the lock is not as it should be");
}

/// A child whose parent's head was awake: the holder leaves that bit in the word, and the next
/// waiter clears it.
#[test]
fn a_child_waits_for_no_head_of_its_parent() {
    let word = AtomicU32::new(0);
    // SAFETY: the mutex is this word.
    let mutex = unsafe { &*word.as_ptr().cast::<RawHybridMutex<Linux>>() };
    // Held, with a head that spins.
    word.store(1 << 2 | 1, Relaxed);
    let works = in_child(|| {
        // SAFETY: the word says that `mutex` is held, and this thread stands for the holder.
        unsafe { mutex.unlock() };
        mutex.lock();
        let timed = !mutex.lock_until(after(Duration::from_millis(1)));
        // SAFETY: the child's thread took `mutex` with `lock` above; the timed attempt took
        // nothing.
        unsafe { mutex.unlock() };
        timed && but_for_releases(&word) == 0
    });
    assert!(works, "in the child the lock is not as it should be");
}
