//! The hybrid mutex among threads of the policy SCHED_FIFO on one CPU: a waiter that spins keeps the
//! owner from running, and must go to sleep.

#![cfg(feature = "std")]

mod fifo;

use std::thread;

use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

use crate::fifo::{compute, nap, pin_to_one_cpu};

const ROUNDS: u32 = 300;

/// Sections by a thread of each priority: one that is preempted in them, by those above it.
fn sections(mutex: &RawHybridMutex<Linux>, priority: i32) {
    pin_to_one_cpu();
    fifo::fifo(priority);
    for round in 0..ROUNDS {
        match round % 3 {
            0 => mutex.lock(),
            1 => while !mutex.lock_until(Some(Linux::now() + 300_000)) {},
            _ => {
                // Who only tries must let others run.
                while !mutex.try_lock() {
                    nap();
                }
            }
        }
        compute();
        if round % 2 == 0 {
            // Others come, and find it locked.
            nap();
        }
        // SAFETY: this thread took `mutex` above, in one of the three ways, and still holds it.
        unsafe { mutex.unlock() };
        if round % 5 == 0 {
            nap();
        }
    }
}

#[test]
fn threads_of_several_priorities_all_get_it_under_sched_fifo() {
    if !fifo::may_be_fifo() {
        return;
    }
    fifo::watched(|| {
        let mutex = &RawHybridMutex::new();
        thread::scope(|scope| {
            for priority in [1, 1, 3, 5, 40] {
                scope.spawn(move || sections(mutex, priority));
            }
        });
        assert!(!mutex.is_locked());
    });
}
