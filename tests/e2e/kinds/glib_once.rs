//! One-time initialisation by GLib's GOnce or a gate: it is held while that is done, and others wait for it.

use crate::golden::golden_findings;
use crate::harness::{FOUND, check, lock_names, under};
use crate::kinds::glib::{glib_program, told_by};

const SOURCE: &str = "glib_once.c";

/// A thread that waits holds what the other has taken on the way.
const LIKELY: (&str, &str) = ("circular-dependency", "likely");

#[test]
fn what_a_routine_takes_must_not_be_held_by_who_waits() {
    for (what, fixed, lock) in [("once", "once_fixed", "once"), ("gate", "gate_fixed", "gate")] {
        let Some(run) = told_by(SOURCE, what) else { return };
        assert_eq!((run.verdicts(), run.code()), (vec![LIKELY], FOUND), "{what}: {}", run.stderr);
        let names = lock_names(run.finding());
        assert!(names.contains(&lock) && names.contains(&"registry"), "{names:?}");
        let run = told_by(SOURCE, fixed).expect("as above");
        assert!(run.findings().is_empty(), "{fixed}: {}", run.stderr);
        // Not silent because nothing was seen.
        assert_eq!((run.count("locks"), run.code()), (2, 0), "{fixed}: {}", run.stderr);
    }
}

/// Nobody waits for what is done, or for what was at the address before.
#[test]
fn what_is_done_is_waited_for_by_nobody() {
    for (what, locks) in [("late", 3), ("heap", 3)] {
        let Some(run) = told_by(SOURCE, what) else { return };
        assert!(run.findings().is_empty(), "{what}: {}", run.stderr);
        assert_eq!((run.count("locks"), run.code()), (locks, 0), "{what}: {}", run.stderr);
    }
}

#[test]
fn who_waits_for_a_routine_that_waits_is_told_while_it_hangs() {
    let Some(program) = glib_program(SOURCE, &[]) else { return };
    for (what, kind) in [("hangs", "circular-dependency"), ("itself", "recursive-locking")] {
        let run = check(&program).arg(what).run();
        assert_eq!(run.verdicts(), [(kind, "deadlocked")], "{what}: {}", run.stderr);
        assert!(lock_names(run.finding()).contains(&"once"), "{}", run.stderr);
    }
}

#[test]
fn waits_are_measured_and_blamed() {
    let Some(program) = glib_program(SOURCE, &[]) else { return };
    for name in ["once", "gate"] {
        let run = under("meter", &[] as &[&str], &program).arg(name).run();
        assert_eq!(run.text(), format!("{name}: done\n"), "{}", run.stderr);
        let locks = run.report()["locks"].as_array().unwrap();
        let lock = locks.iter().find(|lock| lock["name"] == name).expect("it is measured");
        let total = &lock["total"];
        let counts = (&total["acquisitions"], &total["contended"]);
        assert_eq!(counts, (&2.into(), &1.into()), "{lock:#}");
        assert!(total["wait"]["total_ns"].as_f64() > Some(0.0), "{lock:#}");
        assert!(run.stderr.contains("BLAME of `"), "{}", run.stderr);
    }
}

#[test]
fn both_engines_see_them() {
    let Some(program) = glib_program(SOURCE, &[]) else { return };
    let run = under("run", &[] as &[&str], program).arg("once").run();
    assert_eq!((run.text().as_str(), run.verdicts()), ("once: done\n", vec![LIKELY]));
}

#[test]
fn a_report_of_a_routine_reads_well() {
    let Some(program) = glib_program(SOURCE, &[]) else { return };
    golden_findings("glib-once", check(program).arg("once"));
}
