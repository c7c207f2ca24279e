//! The rtmutex among threads of the policy SCHED_FIFO on one CPU.

#![cfg(feature = "std")]

mod fifo;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;
use lockwright::rtmutex::RawRtMutex;

use crate::fifo::{compute, fifo, nap, pin_to_one_cpu};

/// The deboost under the inner locks hung in the first of them.
const ROUNDS: u32 = 12;

/// The policy and priority that the calling thread runs at.
fn runs_at() -> (i32, i32) {
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel writes `parameters`, which lives during the call.
    unsafe { libc::sched_getparam(0, &mut parameters) };
    // SAFETY: `sched_getscheduler` takes an id only, and no pointer.
    (unsafe { libc::sched_getscheduler(0) }, parameters.sched_priority)
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
    if !fifo::may_be_fifo() {
        return;
    }
    fifo::watched(|| (0..ROUNDS).for_each(a_chain_beside_a_hog));
}
