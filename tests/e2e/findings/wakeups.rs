//! Waits for a signal or a post that may never come: with a lock kept that the signaller needs,
//! where the signal can be missed, and where another takes it. Each has twins with nothing wrong.

use crate::findings::missed::{Row, is_told};
use crate::golden::golden;
use crate::harness::{check, check_with, program};

const KEPT: &str = "wait-with-lock-held";

/// The expected findings.
const TOLD: &[Row] = &[
    ("event_kept.c", "signal", &[(KEPT, "likely")]),
    ("event_kept.c", "signal-some", &[(KEPT, "possible")]),
    ("event_kept.c", "signal-after", &[(KEPT, "ordered")]),
    ("event_kept.c", "signal-fixed", &[]),
    ("event_kept.c", "post", &[(KEPT, "likely")]),
    ("event_kept.c", "post-after", &[]),
    ("event_kept.c", "post-fixed", &[]),
    ("lost_wakeup_flag.c", "bare", &[("lost-wakeup", "possible")]),
    ("lost_wakeup_flag.c", "fixed", &[]),
    ("lost_wakeup_flag.c", "jumps", &[]),
    ("lost_wakeup.cc", "bare", &[("lost-wakeup", "possible")]),
    ("lost_wakeup.cc", "fixed", &[]),
    ("lost_wakeup.cc", "after-unlock", &[]),
    ("lost_wakeup.cc", "by-caller", &[]),
    ("lost_wakeup.cc", "beside", &[]),
    ("lost_wakeup.cc", "timed", &[]),
    ("taken_signal.c", "signal", &[("lost-wakeup", "possible")]),
    ("taken_signal.c", "broadcast", &[]),
    ("taken_signal.c", "two", &[]),
    ("taken_signal.c", "passes", &[]),
    ("taken_signal.c", "same", &[]),
];

#[test]
fn what_is_said_of_waits_for_events() {
    for (source, how, verdicts) in TOLD {
        is_told(source, how, verdicts);
    }
}

#[test]
fn a_wait_that_keeps_what_who_signals_takes() {
    golden("event-kept", check(program("event_kept.c")).arg("signal"));
}

#[test]
fn a_wait_for_a_semaphore_that_keeps_what_who_posts_takes() {
    golden("event-kept-semaphore", check(program("event_kept.c")).arg("post"));
}

#[test]
fn a_signal_without_the_mutex() {
    golden("lost-wakeup", check(program("lost_wakeup_flag.c")).arg("bare"));
}

#[test]
fn where_all_waits_are_timed_it_only_costs_time() {
    let program = program("lost_wakeup.cc");
    let run = check_with(&["--all"], &program).arg("timed").run();
    assert!(run.stderr.contains("note[lost-wakeup]: "), "{}", run.stderr);
    assert!(
        run.stderr.contains("sleeps until its timeout, which all waits have"),
        "{}",
        run.stderr
    );
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let fixed = check_with(&["--all"], &program).arg("fixed").run();
    assert!(!fixed.stderr.contains("lost-wakeup"), "{}", fixed.stderr);
}

#[test]
fn a_signal_that_the_wrong_waiter_takes() {
    golden("taken-signal", check(program("taken_signal.c")).arg("signal"));
}
