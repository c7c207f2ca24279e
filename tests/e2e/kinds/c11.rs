//! Mutexes, condition variables and threads of C11's <threads.h> are watched as those of pthreads
//! are.

use lockwright_analysis::lockmeter::model::WaitKind;

use crate::harness::{
    FOUND, Run, check, check_with, functions, lock_names, native, program, thread_names, under,
};
use crate::meter::run::{EXACT, How, meter};

/// `lockwright run`: both tools at once.
const BOTH: How = How { command: "run", ..EXACT };

fn orders(how: &str) -> Run {
    let run = check(program("c11.c")).arg(how).run();
    assert_eq!(run.text(), "-17 1073741824\n", "what the threads ended with: {}", run.stderr);
    run
}

#[test]
fn both_orders_are_found_where_they_are_taken() {
    for how in ["threads", "wrapped"] {
        let run = orders(how);
        assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{how}: {}", run.stderr);
        let finding = run.finding();
        assert_eq!(lock_names(finding), ["accounts", "journal"]);
        assert_eq!(thread_names(finding).len(), 2, "{finding:#}");
        let functions = functions(finding);
        for name in ["deposit", "balance"] {
            assert!(functions.contains(&name), "{how}: {name} in {functions:?}");
        }
        assert!(!run.stderr.contains("::"), "{how}: only the program's frames: {}", run.stderr);
        assert_eq!(run.count("acquisitions"), 4, "{how}");
        assert_eq!(run.count("threads"), 3, "{how}");
        assert_eq!(run.code(), FOUND);
    }
}

#[test]
fn a_join_orders() {
    let run = orders("ordered");
    assert_eq!(run.verdicts(), [("circular-dependency", "ordered")], "{}", run.stderr);
    assert_eq!(run.code(), 0);
}

#[test]
fn a_join_is_a_wait_for_the_thread() {
    let run = check(program("c11.c")).arg("join").run();
    assert_eq!(run.verdicts(), [("join-with-lock-held", "deadlocked")], "{}", run.stderr);
    assert!(lock_names(run.finding()).contains(&"accounts"), "{:#}", run.finding());
    assert_eq!(run.code(), FOUND);
}

#[test]
fn the_answers_are_the_c_librarys() {
    let program = program("c11.c");
    let natively = native(&program).arg("codes").run();
    assert!(natively.text().contains("\nonce\n") && natively.text().contains("result -2\n"));
    let quiet = ["--exit-code", "0", "--output", "/dev/null"];
    for run in [
        check_with(&["--exit-code", "0"], &program).arg("codes").run(),
        under("meter", &["--output", "/dev/null"], &program).arg("codes").run(),
        under("run", &quiet, &program).arg("codes").run(),
    ] {
        assert_eq!(run.text(), natively.text(), "{}", run.stderr);
        assert_eq!(run.code(), 0, "{}", run.stderr);
    }
}

#[test]
fn misuse_is_found() {
    // What `codes` does on purpose: it unlocks two mutexes that the thread does not hold, and uses
    // a destroyed one.
    let run = check(program("c11.c")).arg("codes").run();
    let mut kinds: Vec<_> = run.verdicts().iter().map(|verdict| verdict.0).collect();
    kinds.dedup();
    assert!(kinds.contains(&"bad-unlock-balance"), "{}", run.stderr);
    assert!(kinds.contains(&"use-after-destroy"), "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn counts_are_exact() {
    for how in [EXACT, BOTH] {
        let run = meter(how, &program("c11.c"), &["counts"]);
        let what = how.command;
        assert_eq!(run.truth("wrong"), 0.0, "{what}: results of C11's functions");
        let counts = |function| {
            let numbers = &run.site(function).numbers;
            (numbers.acquisitions, numbers.hold.count, numbers.rejects, numbers.timeouts)
        };
        assert_eq!(counts("plainly"), (1000, 1000, 0, 0), "{what}");
        assert_eq!(counts("tries"), (3, 3, 20, 0), "{what}");
        assert_eq!(counts("gives_up"), (3, 3, 0, 20), "{what}");
        assert_eq!(run.acquisitions("again"), 30, "{what}: taken again is no acquisition");
        assert_eq!(run.lock("plainly").name, "accounts", "{what}");

        // Its mutex is taken once a round, and back by the wait.
        assert_eq!(run.acquisitions("awaits"), 40, "{what}");
        let condition = run.wait(WaitKind::Condition, "awaits");
        assert_eq!(condition.waits, 20, "{what}");
        let mutex = condition.lock.and_then(|i| run.report.locks.get(i)).expect("its mutex");
        assert_eq!(mutex.name, "journal", "{what}");
        assert_eq!(run.wait(WaitKind::Join, "awaits_the_end").waits, 1, "{what}");
    }
}
