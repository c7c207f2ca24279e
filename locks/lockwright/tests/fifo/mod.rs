//! Threads of the policy SCHED_FIFO on one CPU, where a preempted thread does not run again before
//! the one that preempted it sleeps. That needs the right to real-time priorities (root).

#[path = "../../../../tests/skip.rs"]
mod skip;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// How long the whole may take, before it is taken for hanging.
const LIMIT: Duration = Duration::from_secs(240);

pub fn pin_to_one_cpu() {
    // SAFETY: zeroes are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: a set of its own.
    unsafe { libc::CPU_SET(0, &mut set) };
    // SAFETY: the kernel only reads `set`, whose size is passed and which lives during the call.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
}

/// Makes the calling thread one of SCHED_FIFO. False: it may not.
fn try_fifo(priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel only reads `parameters`, which lives during the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0 }
}

pub fn fifo(priority: i32) {
    assert!(try_fifo(priority), "it was allowed to another thread");
}

/// Whether threads may be of SCHED_FIFO here. If not the test is skipped, but fails in CI.
pub fn may_be_fifo() -> bool {
    let may = thread::spawn(|| try_fifo(1)).join().unwrap();
    if !may {
        let why = "no right to real-time priorities: run it as root, or with `ulimit -r 99`";
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{why}");
        skip::skip(why);
    }
    may
}

pub fn nap() {
    thread::sleep(Duration::from_micros(200));
}

/// A thread that does without sleeping what a processor does meanwhile.
pub fn compute() {
    (0..20_000).for_each(|i| {
        std::hint::black_box(i);
    });
}

/// Runs `body`; ends this process if that does not end.
pub fn watched(body: impl FnOnce()) {
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
        body();
        done.store(true, SeqCst);
    });
}
