//! The per-CPU reader-writer semaphore, on Linux with real threads.

#![cfg(feature = "std")]

use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;

use lockwright::percpu_rwsem::RawPercpuRwSem;
use lockwright::platform::linux::Linux;

/// Some of the threads have a count of their own, some share one.
type Sem = RawPercpuRwSem<Linux, 3>;

fn up_read(sem: &Sem) {
    // SAFETY: the tests release what they hold.
    unsafe { sem.up_read() };
}

fn up_write(sem: &Sem) {
    // SAFETY: the tests call this only in a thread that holds `sem` to write.
    unsafe { sem.up_write() };
}

#[test]
fn readers_share_and_writers_do_not() {
    let sem = Sem::new();
    sem.down_read();
    assert!(sem.try_down_read() && !sem.try_down_write());
    up_read(&sem);
    up_read(&sem);
    assert!(!sem.is_locked());
    sem.down_write();
    assert!(!sem.try_down_read() && !sem.try_down_write());
    up_write(&sem);
    assert!(!sem.is_locked() && sem.try_down_write());
    up_write(&sem);
}

#[test]
fn a_writer_waits_for_a_reader_that_leaves_in_another_thread() {
    let sem = Sem::new();
    let released = AtomicBool::new(false);
    sem.down_read();
    thread::scope(|scope| {
        scope.spawn(|| {
            sem.down_write();
            assert!(released.load(Relaxed));
            up_write(&sem);
        });
        while !sem.is_blocked() {
            thread::yield_now();
        }
        assert!(!sem.try_down_read());
        scope.spawn(|| {
            released.store(true, Relaxed);
            up_read(&sem);
        });
    });
    assert!(!sem.is_locked());
}

#[test]
fn percpu_rwsem_torture() {
    let sem = Sem::new();
    // What is guarded, read and written as if the lock were the only order there is.
    let words = [const { AtomicUsize::new(0) }; 2];
    let (readers, writers) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let reads = || {
        readers.fetch_add(1, SeqCst);
        assert_eq!(writers.load(SeqCst), 0);
        assert_eq!(words[0].load(Relaxed), words[1].load(Relaxed));
        readers.fetch_sub(1, SeqCst);
        up_read(&sem);
    };
    let writes = || {
        assert_eq!((writers.fetch_add(1, SeqCst), readers.load(SeqCst)), (0, 0));
        words.iter().for_each(|word| word.store(word.load(Relaxed) + 1, Relaxed));
        writers.fetch_sub(1, SeqCst);
        up_write(&sem);
    };
    thread::scope(|scope| {
        for me in 0..5 {
            let (sem, reads, writes) = (&sem, &reads, &writes);
            scope.spawn(move || {
                for round in 0..2_000 {
                    match (round + me) % 16 {
                        0 => {
                            sem.down_write();
                            writes();
                        }
                        1 if sem.try_down_write() => writes(),
                        2 if sem.try_down_read() => reads(),
                        _ => {
                            sem.down_read();
                            reads();
                        }
                    }
                }
            });
        }
    });
    assert!(!sem.is_locked());
    assert!(words[0].load(Relaxed) >= 5 * 2_000 / 16);
}
