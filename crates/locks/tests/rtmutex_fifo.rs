//! The rtmutex among threads of the policy SCHED_FIFO on one CPU, where who is preempted does not
//! run again before who has preempted it sleeps. Needs the right to real-time priorities (root).

#![cfg(feature = "std")]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;
use lockwright::rtmutex::RawRtMutex;

/// The deboost under the inner locks hung in the first of them.
const ROUNDS: u32 = 12;

/// How long the whole may take, before it is taken for hanging.
const LIMIT: Duration = Duration::from_secs(240);

fn pin_to_one_cpu() {
    // SAFETY: zeroes are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: a set of its own.
    unsafe { libc::CPU_SET(0, &mut set) };
    // SAFETY: reads the set.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
}

/// Makes the calling thread one of SCHED_FIFO. False: it may not.
fn try_fifo(priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: reads the parameters.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0 }
}

fn fifo(priority: i32) {
    assert!(try_fifo(priority), "it was allowed to another thread");
}

/// The policy and priority that the calling thread runs at.
fn runs_at() -> (i32, i32) {
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: writes the parameters.
    unsafe { libc::sched_getparam(0, &mut parameters) };
    // SAFETY: takes no pointers.
    (unsafe { libc::sched_getscheduler(0) }, parameters.sched_priority)
}

/// Whether threads may be of SCHED_FIFO here. If not the test is skipped, but fails in CI.
fn may_be_fifo() -> bool {
    let may = thread::spawn(|| try_fifo(1)).join().unwrap();
    if !may {
        let why = "no right to real-time priorities: run it as root, or with `ulimit -r 99`";
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{why}");
        eprintln!("skipped: {why}");
    }
    may
}

fn nap() {
    thread::sleep(Duration::from_micros(200));
}

/// A thread that does without sleeping what a processor does meanwhile.
fn compute() {
    (0..20_000).for_each(|i| {
        std::hint::black_box(i);
    });
}

static LOCKS: [RawRtMutex<Linux>; 3] = [const { RawRtMutex::new() }; 3];

fn unlock(lock: &RawRtMutex<Linux>) {
    // SAFETY: the threads release what they hold.
    unsafe { lock.unlock() };
}

/// The lowest has the first lock, two wait for it in a chain, the highest waits at the end; and one
/// in between wants to run all the time.
fn a_chain_beside_a_hog(round: u32) {
    let [first, second, third] = &LOCKS;
    let (step, over) = (&AtomicU32::new(0), &AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(move || {
            pin_to_one_cpu();
            fifo(1);
            first.lock();
            step.store(1, SeqCst);
            while step.load(SeqCst) < 4 {
                nap();
            }
            // The hog lets it do so only once it has inherited.
            compute();
            while runs_at().1 < 40 {
                compute();
            }
            unlock(first);
            assert_eq!(runs_at(), (libc::SCHED_FIFO, 1), "what it inherited is not taken back");
        });
        scope.spawn(move || {
            pin_to_one_cpu();
            while step.load(SeqCst) < 1 {
                nap();
            }
            fifo(3);
            second.lock();
            step.store(2, SeqCst);
            first.lock();
            unlock(first);
            unlock(second);
            assert_eq!(runs_at(), (libc::SCHED_FIFO, 3), "what it inherited is not taken back");
        });
        scope.spawn(move || {
            pin_to_one_cpu();
            while step.load(SeqCst) < 2 {
                nap();
            }
            fifo(5);
            third.lock();
            step.store(3, SeqCst);
            if round % 2 == 0 {
                second.lock();
            } else {
                // Its waits end and begin again, and what others inherit by them.
                while second.lock_until(Some(Linux::now() + 700_000)).is_err() {}
            }
            unlock(second);
            unlock(third);
            assert_eq!(runs_at(), (libc::SCHED_FIFO, 5), "what it inherited is not taken back");
        });
        scope.spawn(move || {
            pin_to_one_cpu();
            while step.load(SeqCst) < 4 {
                nap();
            }
            fifo(20);
            while !over.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        scope.spawn(move || {
            pin_to_one_cpu();
            fifo(40);
            while step.load(SeqCst) < 3 {
                nap();
            }
            thread::sleep(Duration::from_millis(3));
            step.store(4, SeqCst);
            third.lock();
            unlock(third);
            over.store(true, SeqCst);
        });
    });
}

#[test]
fn no_wait_depends_on_a_lower_priority_under_sched_fifo() {
    if !may_be_fifo() {
        return;
    }
    let done = &AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // Above all that are tested, or it would not come to tell.
            fifo(90);
            let step = Duration::from_millis(50);
            let mut left = LIMIT;
            while !done.load(SeqCst) {
                thread::sleep(step);
                left = left.saturating_sub(step);
                if left.is_zero() {
                    eprintln!("priority inversion without end: the highest thread waits for one that cannot run");
                    std::process::exit(1);
                }
            }
        });
        (0..ROUNDS).for_each(a_chain_beside_a_hog);
        done.store(true, SeqCst);
    });
}
