//! Signal handlers that take locks.

use crate::golden::golden;
use crate::harness::{FOUND, check, check_with, program};

const INCONSISTENT: [(&str, &str); 1] = [("inconsistent-state", "likely")];

#[test]
fn a_handler_takes_what_it_may_interrupt() {
    for what in ["same", "opened", "pselect", "sigset", "jumped"] {
        let run = check(program("signals.c")).arg(what).run();
        assert_eq!(run.verdicts(), INCONSISTENT, "{what}: {}", run.stderr);
        assert_eq!(run.code(), FOUND);
    }
    golden("inconsistent-state", check(program("signals.c")).arg("same"));
}

#[test]
fn a_handler_closes_a_cycle() {
    golden("inconsistent-state-order", check(program("signals.c")).arg("order"));
}

#[test]
fn signals_that_are_blocked_or_waited_for_do_no_harm() {
    for what in [
        "blocked",
        "apart",
        "sighold",
        "restored",
        "thread",
        "sigwaitinfo",
        "sigtimedwait",
        "signalfd",
    ] {
        let run = check(program("signals.c")).arg(what).run();
        assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{what}: {}", run.stderr);
    }
}

#[test]
fn a_handler_calls_what_it_may_interrupt() {
    let program = program("handler_calls.c");
    for (how, grade) in [
        (&["open"] as &[&str], "likely"),
        (&["open", "stdio"], "likely"),
        (&["thread"], "likely"),
        (&["sigsuspend"], "guarded"),
        (&["sigsuspend", "stdio"], "guarded"),
        (&["window"], "guarded"),
    ] {
        let run = check_with(&["--all"], &program).args(how).run();
        let verdicts = run.verdicts();
        assert!(!verdicts.is_empty(), "{how:?}: {}", run.stderr);
        for verdict in verdicts {
            assert_eq!(verdict, ("inconsistent-state", grade), "{how:?}: {}", run.stderr);
        }
        assert_eq!(run.code(), if grade == "likely" { FOUND } else { 0 }, "{how:?}");
    }
}

/// A signal that stops each thread takes a lock of that thread. The thread that takes it with the signal open is another one, whose
/// handler would take another lock.
#[test]
fn a_handler_may_take_a_lock_of_its_thread() {
    for (how, grade) in [("own", "possible"), ("shared", "likely"), ("self", "likely")] {
        let run = check_with(&["--no-objects"], program("signalled_owner.c")).arg(how).run();
        assert_eq!(run.verdicts(), [("inconsistent-state", grade)], "{how}: {}", run.stderr);
        assert_eq!(run.code(), if grade == "likely" { FOUND } else { 0 }, "{how}");
        let alone = run.stderr.contains("in that thread alone");
        assert_eq!(alone, how == "own", "{how}: {}", run.stderr);
    }
}
