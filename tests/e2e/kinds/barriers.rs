//! Barriers that a thread waits at with what keeps another from coming. Each program that hangs has
//! a twin that does not.

use crate::golden::golden;
use crate::harness::{Job, check, lock_names, program};

fn job(how: &str) -> Job {
    check(program("barrier_lock.c")).arg(how)
}

#[test]
fn who_cannot_come_is_told_while_it_is_waited_for() {
    let run = job("hangs").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    let names = lock_names(run.finding());
    assert!(names.contains(&"ready") && names.contains(&"registry"), "{names:?}");
    let run = job("swapped").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["done", "ready"], "{}", run.stderr);
}

#[test]
fn a_lock_that_is_kept_must_not_be_taken_on_the_way() {
    let run = job("kept").run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["ready", "registry"], "{}", run.stderr);
}

/// The thread that is still to come needs a lock of a third thread, which waits for the kept lock.
#[test]
fn a_chain_of_locks_leads_to_what_is_kept() {
    let run = job("chain").run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["queue", "ready", "registry"], "{}", run.stderr);
    let run = job("chained").run();
    // All threads wait, so the deadlock is certain. The thread that was to come is not known, so
    // the shortest cycle is reported.
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["ready", "registry"], "{}", run.stderr);
}

#[test]
fn who_comes_is_waited_for() {
    for how in ["released", "after", "rounds", "order", "another"] {
        let run = job(how).run();
        assert_eq!(run.text(), "the end\n", "{how}: {}", run.stderr);
        assert!(run.findings().is_empty(), "{how}: {}", run.stderr);
    }
}

#[test]
fn reports_of_barriers_read_well() {
    golden("barrier-hangs", job("hangs"));
    golden("barrier-kept", job("kept"));
    golden("barrier-chain", job("chain"));
}
