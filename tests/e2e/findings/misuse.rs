//! Locks used in ways that are wrong by themselves, whatever the order: reported with both sides.
//! And what looks like it but is as it should be: not reported.

use serde_json::Value;

use crate::golden::golden;
use crate::harness::{FOUND, Run, check, functions, lock_names, program, thread_names};

/// A misuse: program, argument, kind, and the threads of its steps.
const CERTAIN: &[(&str, &str, &str, &[&str])] = &[
    ("bad_unlock.c", "other", "bad-unlock-balance", &["porter", "guest"]),
    ("bad_unlock.c", "twice", "bad-unlock-balance", &["bad_unlock"]),
    ("bad_unlock.c", "never", "bad-unlock-balance", &["bad_unlock"]),
    ("bad_unlock.c", "reader", "bad-unlock-balance", &["bad_unlock"]),
    ("bad_unlock.c", "writer", "bad-unlock-balance", &["porter", "guest"]),
    ("bad_unlock.c", "checked", "bad-unlock-balance", &["bad_unlock"]),
    ("bad_unlock.c", "owner", "bad-unlock-balance", &["porter", "guest"]),
    ("bad_unlock.c", "child", "bad-unlock-balance", &["bad_unlock"]),
    ("bad_unlock.c", "deeper", "bad-unlock-balance", &["bad_unlock"]),
    ("bad_unlock.c", "spin", "bad-unlock-balance", &["bad_unlock"]),
    ("bad_unlock.c", "destroyed", "use-after-destroy", &["bad_unlock", "bad_unlock"]),
    ("lifetime.c", "destroyed", "held-lock-destroyed", &["lifetime", "user"]),
    ("lifetime.c", "own", "held-lock-destroyed", &["lifetime"]),
    ("lifetime.c", "rwlock", "held-lock-destroyed", &["lifetime", "reader"]),
    ("lifetime.c", "initialised", "held-lock-initialised", &["lifetime", "user"]),
    ("lifetime.c", "used", "use-after-destroy", &["lifetime", "lifetime"]),
    ("lifetime.c", "tried", "use-after-destroy", &["lifetime", "lifetime"]),
    ("lifetime.c", "read", "use-after-destroy", &["lifetime", "janitor"]),
    ("lifetime.c", "freed", "held-lock-freed", &["lifetime", "user"]),
    ("lifetime.c", "deep", "held-lock-freed", &["lifetime", "user"]),
    ("lifetime.c", "huge", "held-lock-freed", &["lifetime", "user"]),
    ("lifetime.c", "moved", "held-lock-freed", &["lifetime", "user"]),
    ("lifetime.c", "unmapped", "held-lock-freed", &["lifetime", "user"]),
    ("destroyed_and_freed.c", "one", "held-lock-destroyed", &["destroyed_and_f"]),
    ("exiting.c", "returned", "exit-with-lock-held", &["clerk"]),
    ("exiting.c", "exited", "exit-with-lock-held", &["clerk"]),
    ("exiting.c", "cancelled", "exit-with-lock-held", &["clerk"]),
    ("inconsistent.c", "", "unlock-inconsistent", &["inconsistent"]),
    ("inconsistent_twice.c", "left", "unlock-inconsistent", &["inconsistent_tw"]),
    ("robust_tried.c", "left", "unlock-inconsistent", &["robust_tried"]),
    ("cond_misuse.c", "two", "condvar-mutex-mismatch", &["back", "front"]),
];

fn run(source: &str, how: &str) -> Run {
    check(program(source)).arg(how).run()
}

fn actions(finding: &Value) -> Vec<&str> {
    let steps = finding["steps"].as_array().expect("steps");
    steps.iter().map(|step| step["action"].as_str().expect("action")).collect()
}

#[test]
fn what_is_certainly_wrong_fails_the_run() {
    for (source, how, kind, threads) in CERTAIN {
        let run = run(source, how);
        assert_eq!(run.verdicts(), [(*kind, "likely")], "{source} {how}: {}", run.stderr);
        assert_eq!(thread_names(run.finding()), *threads, "{source} {how}: {:#}", run.finding());
        assert_eq!(run.code(), FOUND, "{source} {how}");
        assert!(run.stderr.contains(&format!("error[{kind}]")), "{source} {how}: {}", run.stderr);
        for step in run.finding()["steps"].as_array().unwrap() {
            let file = step["stack"][0]["file"].as_str().unwrap_or_default();
            assert!(file.ends_with(source), "{source} {how}: the program's own place: {step:#}");
        }
    }
}

#[test]
fn a_freed_lock_is_left_out_only_if_the_same_hold_was_destroyed() {
    let run = run("destroyed_and_freed.c", "two");
    let verdicts = [("held-lock-freed", "likely"), ("held-lock-destroyed", "likely")];
    assert_eq!(run.verdicts(), verdicts, "{}", run.stderr);
    assert_eq!(lock_names(&run.findings()[0]), ["server::guard"], "{}", run.stderr);
    assert_eq!(lock_names(&run.findings()[1]), ["client::lock"], "{}", run.stderr);
}

#[test]
fn a_lock_that_comes_where_a_held_one_was_freed_is_another() {
    for (how, freed) in [("held", true), ("clean", false)] {
        let run = run("freed_then_new.c", how);
        let of_freed = freed.then_some(("held-lock-freed", "likely"));
        let left = ("exit-with-lock-held", "likely");
        let verdicts: Vec<_> = of_freed.into_iter().chain([left]).collect();
        let mut found = run.verdicts();
        found.sort();
        found.reverse();
        assert_eq!(found, verdicts, "{how}: {}", run.stderr);
        let left = run.findings().iter().find(|f| f["kind"] == "exit-with-lock-held");
        let left = left.expect("the second lock").to_string();
        assert!(left.contains("makes_second") && !left.contains("makes_first"), "{left}");
    }
}

#[test]
fn an_unlock_names_who_holds_the_lock() {
    let run = run("bad_unlock.c", "other");
    assert_eq!(lock_names(run.finding()), ["door"]);
    assert_eq!(functions(run.finding()).first(), Some(&"porter"));
    assert!(functions(run.finding()).contains(&"guest"), "{:#}", run.finding());
    assert_eq!(actions(run.finding()), ["unlocks", "took"]);
}

#[test]
fn a_wait_with_a_second_lock_that_who_signals_never_takes_is_ordered() {
    let run = run("cond_misuse.c", "second");
    assert_eq!(run.verdicts(), [("wait-with-lock-held", "ordered")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["config", "front"]);
    let held = run.finding()["steps"][0]["held"].as_array().unwrap();
    assert_eq!(held.len(), 1, "the wait's own mutex is given up: {held:?}");
    assert_eq!(held[0]["name"], "config");
    assert_eq!(run.code(), 0);
}

#[test]
fn a_condition_variable_and_its_two_mutexes_are_named() {
    let run = run("cond_misuse.c", "two");
    assert_eq!(lock_names(run.finding()), ["back", "front"]);
    assert!(run.finding()["title"].as_str().unwrap().contains("`arrived`"));
}

/// Programs with nothing wrong, and how they end.
const CLEAN: &[(&str, &str)] = &[
    ("bad_unlock.c", "recursive"),
    ("bad_unlock.c", "clean"),
    ("lifetime.c", "clean"),
    ("destroyed_and_freed.c", "clean"),
    ("exiting.c", "robust"),
    ("inconsistent_twice.c", "made"),
    ("robust_tried.c", "made"),
    ("robust_tried.c", "tried"),
    ("exiting.c", "cleanup"),
    ("exiting.c", "joining"),
    ("cond_misuse.c", "in-turn"),
    ("cond_misuse.c", "cancel"),
    ("cond_misuse.c", "signal"),
    ("cond_misuse.c", "broadcast"),
    ("fork_held.c", "unused"),
    ("fork_held.c", "again"),
    ("fork_held.c", "static"),
    ("fork_held.c", "atfork"),
    ("fork_held.c", "early"),
];

#[test]
fn what_only_looks_like_misuse_is_no_finding() {
    for (source, how) in CLEAN {
        let run = run(source, how);
        assert!(run.findings().is_empty(), "{source} {how}: {}", run.stderr);
        assert_eq!(run.code(), 0, "{source} {how}");
        assert!(run.text().ends_with("the end\n"), "{source} {how}: {}", run.text());
    }
}

#[test]
fn a_cancelled_wait_leaves_its_mutex_to_the_cleanup_handler() {
    let run = run("exiting.c", "kept");
    let expected = [("wait-with-lock-held", "possible"), ("circular-dependency", "single-thread")];
    assert_eq!(run.verdicts(), expected, "{}", run.stderr);
    assert_eq!(run.text(), "the end\n");
    assert_eq!(run.code(), 0);
}

#[test]
fn a_forked_child_that_needs_what_nobody_can_release() {
    let run = run("fork_held.c", "used");
    assert_eq!(run.verdicts(), [("fork-with-lock-held", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["cache"]);
    assert_eq!(functions(run.finding()).first(), Some(&"look_up"));
    assert!(functions(run.finding()).contains(&"filler"), "{:#}", run.finding());
    assert_eq!(run.code(), FOUND);
}

#[test]
fn reports_read_well() {
    for (name, source, how) in [
        ("bad-unlock", "bad_unlock.c", "other"),
        ("bad-unlock-nobody", "bad_unlock.c", "twice"),
        ("bad-unlock-owner", "bad_unlock.c", "owner"),
        ("bad-unlock-checked", "bad_unlock.c", "checked"),
        ("destroyed", "lifetime.c", "destroyed"),
        ("destroyed-own", "lifetime.c", "own"),
        ("initialised", "lifetime.c", "initialised"),
        ("used-after-destroy", "lifetime.c", "read"),
        ("freed", "lifetime.c", "deep"),
        ("fork-held", "fork_held.c", "used"),
        ("exit-held", "exiting.c", "returned"),
        ("inconsistent", "inconsistent.c", ""),
        ("wait-held", "exiting.c", "kept"),
        ("condvar-mismatch", "cond_misuse.c", "two"),
    ] {
        golden(name, check(program(source)).arg(how));
    }
}
