//! The queued reader-writer spinlock, on Linux with real threads.

#![cfg(feature = "std")]

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use lockwright::platform::linux::Linux;
use lockwright::qrwlock::RawQrwLock;

static LOCK: RawQrwLock<Linux> = RawQrwLock::new();

#[test]
fn readers_queue_behind_a_waiting_writer() {
    let lock = RawQrwLock::<Linux>::new();
    lock.read_lock();
    assert!(lock.try_read_lock() && !lock.try_write_lock());
    thread::scope(|scope| {
        scope.spawn(|| {
            lock.write_lock();
            // SAFETY: this thread took `lock` with `write_lock` above and still holds it.
            unsafe { lock.write_unlock() };
        });
        // Sooner or later the writer waits, and then no reader gets in.
        while lock.try_read_lock() {
            // SAFETY: this thread took `lock` with `try_read_lock` above and still holds it.
            unsafe { lock.read_unlock() };
            thread::yield_now();
        }
        assert!(lock.is_locked() && lock.is_contended());
        // SAFETY: this thread took `lock` twice to read above: by `read_lock` and by
        // `try_read_lock`.
        unsafe {
            lock.read_unlock();
            lock.read_unlock();
        }
    });
    assert!(!lock.is_locked() && !lock.is_contended());
}

#[test]
fn qrwlock_torture() {
    let (readers, writers) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for me in 0..4 {
            let (readers, writers) = (&readers, &writers);
            scope.spawn(move || {
                let enters = || {
                    assert_eq!((writers.fetch_add(1, SeqCst), readers.load(SeqCst)), (0, 0));
                    writers.fetch_sub(1, SeqCst);
                    // SAFETY: each caller of `enters` has just taken `LOCK` to write in this
                    // thread.
                    unsafe { LOCK.write_unlock() };
                };
                let reads = || {
                    readers.fetch_add(1, SeqCst);
                    assert_eq!(writers.load(SeqCst), 0);
                    readers.fetch_sub(1, SeqCst);
                    // SAFETY: each caller of `reads` has just taken `LOCK` to read in this thread.
                    unsafe { LOCK.read_unlock() };
                };
                for round in 0..3_000 {
                    match (round + me) % 4 {
                        0 => {
                            LOCK.write_lock();
                            enters();
                        }
                        1 if LOCK.try_write_lock() => enters(),
                        2 if LOCK.try_read_lock() => reads(),
                        _ => {
                            LOCK.read_lock();
                            reads();
                        }
                    }
                }
            });
        }
    });
}
