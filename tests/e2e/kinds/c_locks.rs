//! Locks of liblockwright (locks/capi) under the tool: it hears of them as of any others, though
//! they are futexes and spins. Each program does the same without the tool.

use std::path::PathBuf;

use crate::c_library::library;
use crate::golden::golden;
use crate::harness::{
    FOUND, Run, build, check, check_with, functions, lock_names, native, tests_dir,
};
use crate::meter::run::{EXACT, meter, sites_in};

/// A program linked with the library.
fn program(source: &str, flags: &[&str]) -> PathBuf {
    let include = tests_dir().join("../include");
    let dir = library().display();
    let linked =
        [format!("-I{}", include.display()), format!("-L{dir}"), format!("-Wl,-rpath,{dir}")];
    let linked = linked.iter().map(String::as_str).chain(["-llockwright"]);
    build(source, &linked.chain(flags.iter().copied()).collect::<Vec<_>>())
}

/// Runs the program under the tool, and without it, with the same result.
fn told(what: &str) -> Run {
    let program = program("c_locks.c", &[]);
    let alone = native(&program).arg(what).run();
    assert_eq!((alone.text(), alone.code()), (format!("{what}: done\n"), 0), "{}", alone.stderr);
    let run = check(program).arg(what).run();
    assert_eq!(run.text(), alone.text(), "{}", run.stderr);
    run
}

fn clean(run: &Run) {
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!(run.code(), 0);
}

const CIRCULAR: (&str, &str) = ("circular-dependency", "likely");

#[test]
fn both_orders_are_found_in_the_programs_own_lines() {
    let run = told("orders");
    assert_eq!(run.verdicts(), [CIRCULAR], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["accounts", "table"]);
    let functions = functions(run.finding());
    for own in ["accounts_then_table", "table_then_accounts"] {
        assert!(functions.contains(&own), "{functions:?}");
    }
    assert!(!functions.iter().any(|name| name.starts_with("lw_")), "{functions:?}");
    assert_eq!(run.code(), FOUND);
}

#[test]
fn what_does_not_wait_does_not_deadlock() {
    for what in ["readers", "try"] {
        clean(&told(what));
    }
}

#[test]
fn what_came_to_nothing_is_over() {
    let run = told("timed");
    // The lock's holder joins it, and backs out.
    assert_eq!(run.verdicts(), [("join-with-lock-held", "possible")], "{}", run.stderr);
    assert_eq!(run.code(), 0);
    assert_eq!(run.count("acquisitions"), 2, "{:#}", run.report()["summary"]);
}

#[test]
fn a_wait_gives_the_mutex_up() {
    let run = told("wait");
    clean(&run);
    assert_eq!(run.count("acquisitions"), 3, "two threads', and that after the wait");
}

#[test]
fn every_lock_tells() {
    let run = told("every");
    clean(&run);
    assert_eq!(run.count("locks"), 13, "{:#}", run.report()["summary"]);
}

#[test]
fn a_lock_that_handlers_take_is_to_be_taken_with_signals_blocked() {
    let program = program("c_irqsave.c", &[]);
    let run = check(&program).arg("plain").run();
    assert_eq!(run.verdicts(), [("inconsistent-state", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["counted"]);
    let run = check(&program).arg("irqsave").run();
    assert_eq!(run.text(), "6\n");
    clean(&run);
}

#[test]
fn an_unlock_too_many_is_found() {
    let run = told("unlock");
    assert_eq!(run.verdicts(), [("bad-unlock-balance", "likely")], "{}", run.stderr);
}

#[test]
fn the_place_of_initialisation_is_the_class() {
    let run = told("heap");
    assert_eq!(run.verdicts(), [CIRCULAR], "{}", run.stderr);
    let finding = run.finding().to_string();
    assert!(finding.contains("make_upper") && finding.contains("make_lower"), "{finding}");
}

#[test]
fn a_held_lock_is_not_to_be_destroyed() {
    let run = told("held");
    assert_eq!(run.verdicts(), [("held-lock-destroyed", "likely")], "{}", run.stderr);
}

#[test]
fn a_completion_is_an_order() {
    let run = told("completion");
    assert_eq!(run.verdicts(), [("circular-dependency", "possible")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["accounts", "done"]);
}

#[test]
fn deadlocks_are_reported_while_they_last() {
    let program = program("c_locks.c", &[]);
    let run = check_with(&["--on-deadlock=kill"], program).arg("deadlock").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn the_meter_measures_them() {
    let run = meter(EXACT, &program("c_locks.c", &[]), &["orders"]);
    for function in ["accounts_then_table", "table_then_accounts"] {
        let sites = run.report.locks.iter().flat_map(|lock| sites_in(lock, function));
        let taken: u64 = sites.map(|(_, site)| site.numbers.acquisitions).sum();
        assert_eq!(taken, 2, "{function}: {:#?}", run.report.locks);
    }
}

#[test]
fn a_lock_that_is_wanted_back_after_a_sleep_is_waited_for() {
    clean(&told("sleep"));
    let run = meter(EXACT, &program("c_locks.c", &[]), &["sleep"]);
    let sites = run.report.locks.iter().flat_map(|lock| sites_in(lock, "sleep_in_kernel"));
    let counts: Vec<_> =
        sites.map(|(_, site)| (site.numbers.acquisitions, site.numbers.contended)).collect();
    assert!(counts.contains(&(1, 0)) && counts.contains(&(1, 1)), "{counts:?}");
}

/// A lock of which a waiting writer holds new readers up is not to be read twice by one thread.
#[test]
fn readers_of_a_fair_lock_wait_behind_writers() {
    let program = program("c_readers.c", &[]);
    for how in ["twice", "recursive", "once", "ahead"] {
        let alone = native(&program).arg(how).run();
        assert_eq!((alone.text().as_str(), alone.code()), ("the end\n", 0), "{how}");
    }
    let run = check(&program).arg("twice").run();
    assert_eq!(run.verdicts(), [("recursive-locking", "likely")], "{}", run.stderr);
    assert_eq!((run.text().as_str(), run.code()), ("the end\n", FOUND));
    for how in ["recursive", "once", "ahead"] {
        let run = check_with(&["--all"], &program).arg(how).run();
        assert_eq!(run.text(), "the end\n", "{how}: {}", run.stderr);
        clean(&run);
    }
    let run = check_with(&["--on-deadlock=kill"], &program).arg("stuck").run();
    let deadlocked = ("circular-dependency", "deadlocked");
    // The report does not mention the reader's function, which has not returned.
    let again = ("recursive-locking", "likely");
    assert_eq!(run.verdicts(), [deadlocked, again], "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
    golden("c-readers", check(&program).arg("twice"));
}
