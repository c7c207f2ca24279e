//! Abseil's mutexes, which are no pthread locks, are seen where they are of the shared library.

use crate::harness::{FOUND, Run, functions, lock_names, told_of_library};
use crate::kinds::annotations::CIRCULAR;

const FLAGS: &[&str] = &["-labsl_synchronization", "-labsl_time"];

const HEADER: &str = "/usr/include/absl/synchronization/mutex.h";

fn told(command: &str, what: &str) -> Option<Run> {
    told_of_library((HEADER, "libabsl-dev"), ("abseil.cc", FLAGS), command, what)
}

/// The locks of the only finding, in both orders.
fn finds(run: &Run, by: &[&str]) {
    assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
    let names = lock_names(run.finding());
    assert!(names[0].ends_with("::first") && names[1].ends_with("::second"), "{names:?}");
    let seen = functions(run.finding());
    for function in by {
        assert!(seen.iter().any(|name| name.ends_with(function)), "{function} in {seen:?}");
    }
}

#[test]
fn mutexes_in_both_orders() {
    let Some(run) = told("check", "mutexes") else { return };
    finds(&run, &["::first_then_second", "::second_then_first"]);
}

#[test]
fn readers_and_writers_in_both_orders() {
    let Some(run) = told("check", "readers") else { return };
    finds(&run, &["::first_then_second", "::read_second_then_first"]);
    // The guards of Abseil's headers are no place.
    assert!(!run.stderr.contains("in absl::"), "{}", run.stderr);
}

#[test]
fn waits_give_the_mutex_up_and_take_it_again() {
    for (what, by) in [("cond", "::wait_then_second"), ("await", "::await_then_second")] {
        let Some(run) = told("check", what) else { return };
        finds(&run, &[by, "::second_then_first"]);
    }
}

#[test]
fn one_order_is_silent() {
    let Some(run) = told("check", "ordered") else { return };
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!(run.code(), 0);
    // The two, and those that are made and gone again.
    assert_eq!(run.count("locks"), 24);
}

#[test]
fn acquisitions_are_measured() {
    let Some(run) = told("meter", "mutexes") else { return };
    let locks = run.report()["locks"].as_array().unwrap();
    assert_eq!(locks.len(), 2, "{}", run.stderr);
    for lock in locks {
        assert_eq!(lock["total"]["acquisitions"], 2, "{}", run.stderr);
    }
}
