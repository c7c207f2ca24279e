//! Idioms of careful programs that a simple tool would report: no failure, and no warning.

use crate::harness::{Run, check, program};

fn run(source: &str, how: &str) -> Run {
    let run = check(program(source)).arg(how).run();
    assert_eq!(run.text(), "the end\n", "{source} {how}: {}", run.stderr);
    assert_eq!(run.code(), 0, "{source} {how}: {}", run.stderr);
    run
}

#[test]
fn nothing_at_all() {
    for (source, how) in [
        ("idioms.c", "hand-over-hand"),
        ("idioms.c", "back-off"),
        ("idioms.c", "address"),
        ("idioms.c", "once"),
        ("idioms.c", "construction"),
        ("idioms.cc", "scoped"),
        ("idioms.cc", "lock"),
        ("idioms.cc", "swap"),
        ("idioms.cc", "static"),
        ("idioms.cc", "try"),
        ("idioms.cc", "shared"),
    ] {
        let run = run(source, how);
        assert!(run.findings().is_empty(), "{source} {how}: {}", run.stderr);
        assert!(run.count("acquisitions") >= 800, "{source} {how}: it was watched");
    }
}

#[test]
fn what_keeps_threads_apart_is_only_counted() {
    for (how, grade) in [("gate", "guarded"), ("joined", "ordered")] {
        let run = run("idioms.c", how);
        assert_eq!(run.verdicts(), [("circular-dependency", grade)], "{how}: {}", run.stderr);
    }
}
