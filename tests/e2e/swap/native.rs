//! Swapped locks do what the C library's do: programs say the same on both.

use std::fs;

use super::locks;
use crate::harness::{Job, Scratch, build, due, native, program, skip, under};

/// The tests of `swap_native.c` that every lock passes.
const ON_ALL: &[&str] = &[
    "kinds",
    "static",
    "forkheld",
    "cancel",
    "async",
    "conddestroy",
    "condany",
    "otherunlock",
    "rw",
    "spin",
    "shm",
];

/// Those that threads which spin in a queue pass, too, but not soon with more threads than processors.
const ON_SLEEPING: &[&str] = &["fork", "destroy", "queue", "turns", "many", "fifo", "sig", "dl"];

/// The locks whose waiters sleep.
const SLEEPING: [&str; 2] = ["hybrid", "mutex"];

/// What the test says, run in a place with the library that it loads.
fn said(place: &Scratch, job: Job, test: &str) -> (i32, String) {
    let run = job.arg(test).current_dir(place.path()).run();
    (run.code(), run.text())
}

fn compare(tests: &[&str], locks: &[String]) {
    let (place, program) = (Scratch::new(), program("swap_native.c"));
    let plugin = build("swap_native_plugin.c", &["-shared", "-fPIC"]);
    fs::copy(plugin, place.join("swap_native_plugin.so")).expect("a library");
    for test in tests {
        let natively = said(&place, native(&program), test);
        assert_eq!(natively.0, 0, "{test}: {}", natively.1);
        for lock in due(locks, 3) {
            let swapped = said(&place, under("swap", &["--lock", lock], &program), test);
            assert_eq!(swapped, natively, "{test} on {lock}");
        }
    }
}

#[test]
fn every_lock_answers_as_the_c_librarys() {
    compare(ON_ALL, &locks());
}

#[test]
fn locks_whose_waiters_sleep_do_whatever_the_c_librarys_do() {
    compare(ON_SLEEPING, &SLEEPING.map(str::to_owned));
}

/// A thread that was cancelled in a lock's queue must leave nothing there.
#[test]
fn asynchronously_cancelled_waiters_leave_every_lock_as_it_was() {
    let program = program("swap_cancelled.c");
    let sorts = ["mutex", "recursive", "timed", "writer", "reader", "spin", "condition"];
    let expected: String = sorts.map(|sort| format!("{sort}: taken 36 times, free\n")).concat();
    for lock in locks() {
        let run = under("swap", &["--lock", &lock], &program).run();
        assert_eq!((run.code(), run.text()), (0, expected.clone()), "{lock}: {}", run.stderr);
    }
}

/// The order of real-time waiters that docs/swap.md has for locks that sleep: which of four priorities,
/// that come as 20, 40, 10, 30, are served.
#[test]
fn real_time_waiters_are_served_in_the_order_that_is_documented() {
    let program = program("swap_priority.c");
    let by_priority = "40 30 20 10 \n";
    let natively = |what: &str| native(&program).arg(what).run().text();
    if natively("mutex").contains("not permitted") {
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "no real-time priorities");
        return skip("this user may have no real-time priorities");
    }
    for (lock, what, expected) in [
        // The first to come is the head.
        ("hybrid", "mutex", "20 40 30 10 \n"),
        ("mutex", "mutex", "20 40 10 30 \n"),
        ("hybrid", "rwlock", by_priority),
        ("hybrid", "condition", "20 40 10 30 \n"),
    ] {
        let swapped = || under("swap", &["--lock", lock], &program).arg(what).run().text();
        // The threads have some milliseconds to begin to wait, and may be kept from it.
        let is_so = |_| natively(what) == by_priority && swapped() == expected;
        assert!((0..20).any(is_so), "{lock}: {what}: {}", swapped());
    }
}
