//! Misuse that is easily missed: by condition waits, by threads that have ended, in frames that are
//! gone. Each program has a twin that does it as it should be done, of which nothing is said.

use crate::golden::golden;
use crate::harness::{FOUND, Run, check, native, program, thread_names, under};

/// Program, argument, and what is reported of it: kinds with their grades, by certainty and then by
/// place.
pub type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The expected findings.
const TOLD: &[Row] = &[
    ("cond_unlocked.c", "nobody", &[("bad-unlock-balance", "likely")]),
    (
        "cond_unlocked.c",
        "other",
        &[("bad-unlock-balance", "likely"), ("join-with-lock-held", "ordered")],
    ),
    ("cond_unlocked.c", "checked", &[("bad-unlock-balance", "likely")]),
    // The mutex counts as held after the wait, so what is taken then is taken inside.
    (
        "cond_unlocked.c",
        "order",
        &[("bad-unlock-balance", "likely"), ("circular-dependency", "ordered")],
    ),
    ("cond_unlocked.c", "refused", &[]),
    ("cond_unlocked.c", "clean", &[]),
    (
        "unlock_lost.c",
        "ended",
        &[("exit-with-lock-held", "likely"), ("bad-unlock-balance", "likely")],
    ),
    (
        "unlock_lost.c",
        "rwlock",
        &[("exit-with-lock-held", "likely"), ("bad-unlock-balance", "likely")],
    ),
    ("unlock_lost.c", "uninitialised", &[("object-uninitialised", "likely")]),
    ("unlock_lost.c", "clean", &[]),
    ("barrier_never_initialised.c", "", &[("object-uninitialised", "likely")]),
    ("frame_gone.c", "called-again", &[("held-lock-freed", "likely")]),
    ("frame_gone.c", "rwlock", &[("held-lock-freed", "likely")]),
    ("frame_gone.c", "static", &[("held-lock-freed", "likely")]),
    ("frame_gone.c", "ends", &[("held-lock-freed", "likely")]),
    (
        "frame_gone.c",
        "initialised",
        &[("held-lock-freed", "likely"), ("held-lock-initialised", "likely")],
    ),
    ("frame_gone.c", "clean", &[]),
];

/// Grades that the text only counts.
const HARMLESS: [&str; 2] = ["guarded", "ordered"];

/// Runs it in every way that watches, which does not change what the program says.
pub fn is_told(source: &str, how: &str, verdicts: &[(&str, &str)]) -> Run {
    let program = program(source);
    let plain = native(&program).arg(how).run();
    let measured = under("meter", &[] as &[&str], &program).arg(how).run();
    assert_eq!((measured.text(), measured.code()), (plain.text(), plain.code()), "{source} {how}");
    let fails = verdicts.iter().any(|verdict| verdict.1 == "likely");
    let run = check(&program).arg(how).run();
    assert_eq!(run.verdicts(), verdicts, "{source} {how}: {}", run.stderr);
    let both = under("run", &[] as &[&str], &program).arg(how).run();
    for run in [&run, &both] {
        assert_eq!(run.text(), plain.text(), "{source} {how}");
        assert_eq!(run.code(), if fails { FOUND } else { 0 }, "{source} {how}: {}", run.stderr);
        for (kind, grade) in verdicts.iter().filter(|verdict| !HARMLESS.contains(&verdict.1)) {
            let level = if *grade == "likely" { "error" } else { "warning" };
            let line = format!("{level}[{kind}]");
            assert!(run.stderr.contains(&line), "{source} {how}: {line} in {}", run.stderr);
        }
    }
    run
}

#[test]
fn waits_and_unlocks_of_what_is_not_held_and_locks_in_lost_frames() {
    for (source, how, verdicts) in TOLD {
        is_told(source, how, verdicts);
    }
}

#[test]
fn a_condition_wait_names_who_holds_the_mutex() {
    let run = check(program("cond_unlocked.c")).arg("other").run();
    assert_eq!(thread_names(&run.findings()[0]), ["cond_unlocked", "holder"], "{}", run.stderr);
}

#[test]
fn reports_of_missed_misuse_read_well() {
    for (name, source, how) in [
        ("cond-unlocked-nobody", "cond_unlocked.c", "nobody"),
        ("cond-unlocked-other", "cond_unlocked.c", "other"),
        ("unlock-after-end", "unlock_lost.c", "ended"),
        ("unlock-uninitialised", "unlock_lost.c", "uninitialised"),
        ("frame-gone", "frame_gone.c", "called-again"),
    ] {
        golden(name, check(program(source)).arg(how));
    }
}

/// A thread that holds a lock as long as it lives makes a pair of locks of each that it takes: 60 such threads and 100 accounts are
/// more than two classes have.
#[test]
fn accounts_of_more_workers_than_their_classes_have_pairs_for() {
    let program = program("accounts_of_workers.c");
    for workers in ["4", "60"] {
        let run = check(&program).args([workers, "both"]).run();
        assert_eq!(
            run.verdicts(),
            [("circular-dependency", "likely")],
            "{workers}: {}",
            run.stderr
        );
        assert_eq!(run.code(), FOUND, "{workers}: {}", run.stderr);
        let run = check(&program).args([workers, "one"]).run();
        assert!(run.findings().is_empty() && run.code() == 0, "{workers}: {}", run.stderr);
    }
}
