//! The lives of what is neither a lock of pthreads nor a condition variable: timers, attributes,
//! C11's objects.

use crate::golden::golden;
use crate::harness::{FOUND, Run, check, check_with, program};

fn run(source: &str, how: &str) -> Run {
    check(program(source)).arg(how).run()
}

/// A run whose only finding is of that kind, and that fails for it.
fn finds(source: &str, how: &str, kind: &str, type_: &str) -> Run {
    let run = run(source, how);
    assert_eq!(run.verdicts(), [(kind, "likely")], "{source} {how}: {}", run.stderr);
    let finding = run.finding();
    assert_eq!(finding["locks"][0]["kind"], type_, "{source} {how}: {finding:#}");
    for step in finding["steps"].as_array().expect("steps") {
        let file = step["stack"][0]["file"].as_str().unwrap_or_default();
        assert!(file.ends_with(source), "{source} {how}: the program's own place: {step:#}");
    }
    assert_eq!(run.code(), FOUND, "{source} {how}");
    run
}

/// A run without findings, those among them that only `--all` shows.
fn is_clean(source: &str, how: &str) {
    let run = check_with(&["--all"], program(source)).arg(how).run();
    assert_eq!(run.verdicts(), [], "{source} {how}: {}", run.stderr);
    assert!(run.untidy().is_empty(), "{source} {how}: {}", run.stderr);
    assert_eq!(run.code(), 0, "{source} {how}: {}", run.stderr);
}

/// A run whose findings are objects that nobody destroyed: they are shown if asked for.
fn leaves(source: &str, how: &str, types: &[&str]) {
    let quiet = run(source, how);
    assert!(!quiet.stderr.contains("object-never-destroyed"), "{source} {how}: {}", quiet.stderr);
    assert!(quiet.stderr.contains("never destroyed not shown: --all"), "{}", quiet.stderr);
    assert_eq!(quiet.code(), 0, "{source} {how}");
    let all = check_with(&["--all"], program(source)).arg(how).run();
    assert_eq!(all.verdicts(), [], "{source} {how}: {}", all.stderr);
    let mut found: Vec<_> = all
        .untidy()
        .iter()
        .map(|finding| {
            assert_eq!(finding["kind"], "object-never-destroyed", "{source} {how}: {finding:#}");
            finding["locks"][0]["kind"].as_str().expect("kind")
        })
        .collect();
    found.sort_unstable();
    assert_eq!(found, types, "{source} {how}: {}", all.stderr);
    assert_eq!(all.code(), 0, "{source} {how}");
}

#[test]
fn timers_that_are_gone_or_never_were() {
    for (how, kind) in [
        ("read", "use-after-destroy"),
        ("armed", "use-after-destroy"),
        ("thread", "use-after-destroy"),
        ("twice", "use-after-destroy"),
        ("never", "object-uninitialised"),
        ("inherited", "object-uninitialised"),
    ] {
        finds("timers.c", how, kind, "timer");
    }
}

#[test]
fn timers_in_order() {
    is_clean("timers.c", "clean");
    leaves("timers.c", "left", &["timer"]);
    leaves("timers.c", "expired", &["timer"]);
}

/// Types of attributes as they are called in C and in reports.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("attr", "thread attributes object"),
    ("mutexattr", "mutex attributes object"),
    ("rwlockattr", "rwlock attributes object"),
    ("condattr", "condition variable attributes object"),
    ("barrierattr", "barrier attributes object"),
];

#[test]
fn attributes_that_are_gone_or_never_were() {
    for (name, type_) in ATTRIBUTES {
        for (case, kind) in [
            ("destroyed", "use-after-destroy"),
            ("twice", "use-after-destroy"),
            ("garbage", "object-uninitialised"),
        ] {
            finds("attributes.c", &format!("{name}-{case}"), kind, type_);
        }
    }
}

#[test]
fn attributes_in_order_copied_and_forgotten() {
    let run = run("attributes.c", "clean");
    assert_eq!(run.verdicts(), [], "{}", run.stderr);
    assert_eq!(run.code(), 0);
    leaves("attributes.c", "left", &["thread attributes object"]);
}

#[test]
fn objects_of_c11() {
    is_clean("c11_lives.c", "clean");
    finds("c11_lives.c", "held", "held-lock-destroyed", "mutex");
    finds("c11_lives.c", "used", "use-after-destroy", "mutex");
    let mutex = "mtx_t";
    let condition = "cnd_t";
    finds("c11_lives.c", "mtx-twice", "use-after-destroy", mutex);
    // Without an init function it is a mutex like any other.
    finds("c11_lives.c", "mtx-garbage", "object-uninitialised", "mutex");
    finds("c11_lives.c", "waited", "object-destroyed-active", condition);
    finds("c11_lives.c", "cnd-twice", "use-after-destroy", condition);
    finds("c11_lives.c", "once-garbage", "object-uninitialised", "once control");
    leaves("c11_lives.c", "left", &[condition, mutex]);
}

#[test]
fn what_is_initialised_twice() {
    for how in ["mtx-again", "cnd-again"] {
        let run = run("c11_lives.c", how);
        let expected = [("object-initialised-twice", "possible")];
        assert_eq!(run.verdicts(), expected, "{how}: {}", run.stderr);
    }
}

#[test]
fn reports_read_well() {
    golden("timer-deleted", check(program("timers.c")).arg("read"));
    golden("timer-left", check_with(&["--all"], program("timers.c")).arg("left"));
    golden("attribute-destroyed", check(program("attributes.c")).arg("attr-destroyed"));
    golden("attribute-uninitialised", check(program("attributes.c")).arg("mutexattr-garbage"));
}
