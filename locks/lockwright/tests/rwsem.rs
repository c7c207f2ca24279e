//! The reader-writer semaphore's rules, on Linux with real threads.

#![cfg(feature = "std")]

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lockwright::event::{Counted, Event, Events};
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;
use lockwright::rwsem::RawRwSem;
use lockwright::rwsem::try_read::{AddAndUndo, AssumeFree, LoadFirst};

type Sem = RawRwSem<Counted<Linux>>;

/// Runs a test alone, as lock events are counted for the whole process: all tests run so. Its
/// argument tells how often an event has happened in it.
fn counting(test: impl FnOnce(&dyn Fn(Event) -> usize)) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = Events::of::<Linux>();
    test(&|event| Events::of::<Linux>().since(&before).get(event));
}

/// Waits for what happens sooner or later.
#[track_caller]
fn await_that(condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "does not happen");
        thread::yield_now();
    }
}

fn after(time: Duration) -> Option<u64> {
    Some(Linux::now() + time.as_nanos() as u64)
}

fn up_read(sem: &Sem) {
    // SAFETY: the tests release what they hold.
    unsafe { sem.up_read() };
}

fn up_write(sem: &Sem) {
    // SAFETY: the tests call this only in a thread that holds `sem` to write.
    unsafe { sem.up_write() };
}

/// Much longer than a waiter is patient (4 ms).
const LONG: Duration = Duration::from_millis(50);

#[test]
fn readers_share_and_writers_do_not() {
    counting(|_| {
        let sem = Sem::new_in();
        sem.down_read();
        assert!(sem.try_down_read() && !sem.try_down_write() && !sem.is_locked_by_writer());
        up_read(&sem);
        up_read(&sem);
        assert!(!sem.is_locked());
        sem.down_write();
        assert!(sem.is_locked_by_writer() && !sem.try_down_read() && !sem.try_down_write());
        assert!(!sem.down_read_until(Some(0)) && !sem.down_write_until(Some(0)));
        up_write(&sem);
        assert!(!sem.is_locked() && !sem.is_contended());
    });
}

#[test]
fn trylocks_say_what_they_took() {
    counting(|_| {
        let sem = Sem::new_in();
        let free = [
            sem.try_down_read_by::<LoadFirst>(),
            sem.try_down_read_by::<LoadFirst>(),
            sem.try_down_read_by::<AssumeFree>(),
            sem.try_down_read_by::<AddAndUndo>(),
        ];
        assert!(free.iter().all(|attempt| attempt.taken));
        // The one that assumes a free lock finds readers, and has to look twice.
        assert_eq!(free.map(|attempt| attempt.exchanges), [1, 1, 2, 1]);
        free.iter().for_each(|_| up_read(&sem));
        sem.down_write();
        let held = [
            sem.try_down_read_by::<LoadFirst>(),
            sem.try_down_read_by::<AssumeFree>(),
            sem.try_down_read_by::<AddAndUndo>(),
        ];
        assert!(held.iter().all(|attempt| !attempt.taken));
        assert_eq!(held.map(|attempt| attempt.exchanges), [0, 1, 2]);
        up_write(&sem);
        assert!(!sem.is_locked());
    });
}

/// The lock is held. One waits before `takes` and gives up, which makes the latter look, late: it
/// asks for the hand-off, and has the lock before anybody else. False: the first gave up too early,
/// as the machine is busy.
fn is_handed_off(
    sem: &Sem,
    takes: fn(&Sem),
    releases: fn(&Sem),
    event: impl Fn() -> usize,
) -> bool {
    let before = event();
    let had = &AtomicBool::new(false);
    thread::scope(|scope| {
        let first = scope.spawn(|| sem.down_write_until(after(LONG)));
        await_that(|| sem.is_contended() || first.is_finished());
        let second = scope.spawn(move || {
            takes(sem);
            had.store(true, SeqCst);
            releases(sem);
        });
        assert!(!first.join().unwrap());
        // A little later it would be ours.
        let begin = Instant::now();
        while event() == before && begin.elapsed() < LONG {
            thread::yield_now();
        }
        let asked = event() != before;
        if sem.is_locked_by_writer() {
            up_write(sem);
        } else {
            up_read(sem);
        }
        // A thread that fails does so when there are no waiters any more.
        let overtaken = asked && {
            sem.down_write();
            let overtaken = !had.load(SeqCst);
            up_write(sem);
            overtaken
        };
        second.join().unwrap();
        assert!(!overtaken, "overtaken, though the lock was kept for it");
        asked
    })
}

#[test]
fn rwsem_handoff_to_a_writer() {
    counting(|count| {
        let sem = Sem::new_in();
        let event = || count(Event::RwsemWlockHandoff);
        await_that(|| {
            sem.down_read();
            is_handed_off(&sem, Sem::down_write, up_write, event)
        });
        assert!(count(Event::RwsemWlockFail) > 0);
        assert!(!sem.is_locked() && !sem.is_contended());
    });
}

#[test]
fn rwsem_handoff_to_a_reader() {
    counting(|count| {
        let sem = Sem::new_in();
        let event = || count(Event::RwsemRlockHandoff);
        await_that(|| {
            sem.down_write();
            is_handed_off(&sem, Sem::down_read, up_read, event)
        });
        assert!(!sem.is_locked() && !sem.is_contended());
    });
}

/// Readers that wait have the lock with the writer that goes on as a reader; writers have not.
#[test]
fn rwsem_downgrade_wakes_readers() {
    counting(|count| {
        let sem = Sem::new_in();
        let sem = &sem;
        let (readers, writers) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
        sem.down_write();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    sem.down_read();
                    readers.fetch_add(1, SeqCst);
                    await_that(|| readers.load(SeqCst) == 3);
                    up_read(sem);
                });
            }
            await_that(|| count(Event::RwsemSleepReader) == 3);
            scope.spawn(|| {
                sem.down_write();
                writers.fetch_add(1, SeqCst);
                up_write(sem);
            });
            await_that(|| count(Event::RwsemSleepWriter) == 1);
            // SAFETY: this thread took `sem` with `down_write` above and still holds it.
            unsafe { sem.downgrade_write() };
            // All three, and together.
            await_that(|| readers.load(SeqCst) == 3);
            assert_eq!(writers.load(SeqCst), 0);
            up_read(sem);
        });
        assert_eq!(writers.load(SeqCst), 1);
        assert_eq!(count(Event::RwsemWakeReader), 3);
        assert!(!sem.is_locked() && !sem.is_contended());
    });
}

/// While the writer whose turn it is wakes up, a reader takes the lock.
#[test]
fn rwsem_reader_steals() {
    counting(|count| {
        let sem = Sem::new_in();
        let sem = &sem;
        for _ in 0..10_000 {
            let asleep = count(Event::RwsemSleepWriter);
            sem.down_write();
            thread::scope(|scope| {
                scope.spawn(|| {
                    sem.down_write();
                    up_write(sem);
                });
                await_that(|| count(Event::RwsemSleepWriter) > asleep);
                up_write(sem);
                sem.down_read();
                up_read(sem);
            });
            if count(Event::RwsemRlockSteal) > 0 {
                return;
            }
        }
        panic!("no reader ever stole the lock");
    });
}

/// A turn of the readers passes over the writers that wait among them.
#[test]
fn rwsem_readers_are_woken_over_writers() {
    counting(|count| {
        let sem = Sem::new_in();
        let sem = &sem;
        let together = &AtomicUsize::new(0);
        let read = || {
            sem.down_read();
            together.fetch_add(1, SeqCst);
            await_that(|| together.load(SeqCst) == 2);
            up_read(sem);
        };
        sem.down_write();
        thread::scope(|scope| {
            scope.spawn(read);
            await_that(|| count(Event::RwsemSleepReader) == 1);
            scope.spawn(|| {
                sem.down_write();
                up_write(sem);
            });
            await_that(|| count(Event::RwsemSleepWriter) == 1);
            scope.spawn(read);
            await_that(|| count(Event::RwsemSleepReader) == 2);
            up_write(sem);
        });
        assert_eq!(count(Event::RwsemWakeReader), 2);
    });
}

/// Readers, writers, trylocks, deadlines and downgrades, at one lock.
#[test]
fn rwsem_torture() {
    counting(|_| {
        const THREADS: usize = 4;
        const ROUNDS: usize = 3_000;
        let sem = Sem::new_in();
        let (readers, writers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let reads = || {
            readers.fetch_add(1, SeqCst);
            assert_eq!(writers.load(SeqCst), 0);
            readers.fetch_sub(1, SeqCst);
            up_read(&sem);
        };
        let enters = || {
            assert_eq!((writers.fetch_add(1, SeqCst), readers.load(SeqCst)), (0, 0));
            writers.fetch_sub(1, SeqCst);
        };
        thread::scope(|scope| {
            for me in 0..THREADS {
                let (sem, reads, enters) = (&sem, &reads, &enters);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        match (round + me) % 8 {
                            0 => {
                                sem.down_write();
                                enters();
                                up_write(sem);
                            }
                            1 => {
                                sem.down_write();
                                enters();
                                // SAFETY: this thread took `sem` with `down_write` above and still
                                // holds it.
                                unsafe { sem.downgrade_write() };
                                reads();
                            }
                            2 if sem.down_write_until(after(Duration::from_micros(50))) => {
                                enters();
                                up_write(sem);
                            }
                            3 if sem.down_read_until(after(Duration::from_micros(50))) => reads(),
                            4 if sem.try_down_read_by::<AddAndUndo>().taken => reads(),
                            5 if sem.try_down_write() => {
                                enters();
                                up_write(sem);
                            }
                            _ => {
                                sem.down_read();
                                reads();
                            }
                        }
                    }
                });
            }
        });
        assert!(!sem.is_locked() && !sem.is_contended());
    });
}
