//! Signal handlers that take locks.

use crate::golden::golden;
use crate::harness::{FOUND, check, program};

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
