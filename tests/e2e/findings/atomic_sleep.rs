//! What may sleep, done with a spinning lock held (the kernel's CONFIG_DEBUG_ATOMIC_SLEEP): each
//! sort of it is found, with both places; and what does not sleep is not reported.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::golden::golden;
use crate::harness::{Run, Scratch, build, check, check_with, lock_names, tests_dir, under};

const POSSIBLE: (&str, &str) = ("sleep-with-spinlock-held", "possible");

fn program() -> PathBuf {
    let include = tests_dir().join("../include");
    build("atomic_sleep.c", &["-I", include.to_str().expect("a path in UTF-8")])
}

fn run(what: &str) -> Run {
    let run = check(program()).arg(what).run();
    assert_eq!(run.text(), "done\n", "{what}: {}", run.stderr);
    run
}

/// The argument, what the report names, and where the sleeping is done.
const SLEEPERS: &[(&str, &str, &str)] = &[
    ("nanosleep", "`nanosleep`", "do_nanosleep"),
    ("clock_nanosleep", "`clock_nanosleep`", "do_clock_nanosleep"),
    ("usleep", "`usleep`", "do_usleep"),
    ("sleep", "`sleep`", "do_sleep"),
    ("read", "`read`", "do_read"),
    ("write", "`write`", "do_write"),
    ("fsync", "`fsync`", "do_fsync"),
    ("poll", "`poll`", "do_poll"),
    ("ppoll", "`ppoll`", "do_ppoll"),
    ("select", "`select`", "do_select"),
    ("waitpid", "`waitpid`", "do_waitpid"),
    ("mutex", "`mutex`", "do_mutex"),
    ("timedlock", "`mutex`", "do_timedlock"),
    ("rdlock", "`rwlock`", "do_rdlock"),
    ("wrlock", "`rwlock`", "do_wrlock"),
    ("semaphore", "`lock_semaphore`", "do_semaphore"),
    ("event", "`sem_wait`", "do_event"),
    ("join", "`pthread_join`", "do_join"),
    ("barrier", "`pthread_barrier_wait`", "do_barrier"),
    ("handler", "`nanosleep`", "handler"),
];

/// What does not sleep.
const QUIET: &[&str] = &[
    "trylock",
    "tryrdlock",
    "trywait",
    "spin",
    "yield",
    "memory",
    "nonblocking",
    "dontwait",
    "polls",
    "tryjoin",
    "post",
];

#[test]
fn whatever_may_sleep_under_a_spinlock_is_found_with_both_places() {
    for (what, named, place) in SLEEPERS {
        let run = run(what);
        assert_eq!(run.verdicts(), [POSSIBLE], "{what}: {}", run.stderr);
        let finding = run.finding();
        assert!(lock_names(finding).contains(&"spin"), "{what}: {finding:#}");
        assert!(finding["title"].as_str().unwrap().contains(named), "{what}: {finding:#}");
        let frames = finding["steps"][0]["stack"].as_array().expect("a stack");
        let is_place = |frame: &Value| frame["function"] == *place;
        assert!(frames.iter().any(is_place), "{what}, where it sleeps: {finding:#}");
        let held = &finding["steps"][0]["held"][0]["stack"][0]["function"];
        assert_eq!(held, "main", "{what}, where the spinlock was taken: {finding:#}");
        assert_eq!(run.code(), 0, "{what}: what is only possible fails no run");
    }
}

#[test]
fn a_condition_wait_sleeps_too() {
    let run = run("cond");
    assert!(run.verdicts().contains(&POSSIBLE), "{}", run.stderr);
    assert!(run.stderr.contains("`pthread_cond_wait`, which may sleep"), "{}", run.stderr);
}

#[test]
fn the_same_without_the_spinlock_is_clean() {
    for (what, ..) in SLEEPERS {
        let run = run(&format!("free-{what}"));
        assert_eq!(run.verdicts(), [], "{what}: {}", run.stderr);
    }
}

#[test]
fn what_does_not_sleep_is_clean() {
    for what in QUIET {
        let run = run(what);
        assert_eq!(run.verdicts(), [], "{what}: {}", run.stderr);
    }
}

#[test]
fn locks_of_the_programs_own_count_if_they_say_that_they_spin() {
    for what in ["nanosleep", "read", "event"] {
        let run = run(&format!("own-{what}"));
        assert_eq!(run.verdicts(), [POSSIBLE], "{what}: {}", run.stderr);
        assert_eq!(lock_names(run.finding()), ["own"]);
    }
    for what in ["nanosleep", "read", "mutex"] {
        let run = self::run(&format!("quiet-{what}"));
        assert_eq!(run.verdicts(), [], "{what}: {}", run.stderr);
    }
    // That is certain for locks.
    let run = run("own-mutex");
    assert_eq!(run.verdicts(), [("invalid-wait-context", "likely")], "{}", run.stderr);
}

#[test]
fn the_same_again_is_told_once() {
    for what in ["usleep", "mutex"] {
        let run = check(program()).args([what, "twice"]).run();
        assert_eq!(run.verdicts(), [POSSIBLE], "{what}: {}", run.stderr);
        assert_eq!(run.finding()["also"], 0, "{what}: {:#}", run.finding());
    }
}

#[test]
fn measuring_at_the_same_time_changes_nothing() {
    for what in ["usleep", "read", "join", "barrier", "mutex"] {
        let run = under("run", &[] as &[&str], program()).arg(what).run();
        assert!(run.stderr.contains("[sleep-with-spinlock-held]"), "{what}: {}", run.stderr);
    }
}

#[test]
fn a_rule_suppresses_it() {
    let scratch = Scratch::new();
    let rules = scratch.join("rules.supp");
    fs::write(&rules, "[a spinlock across a short sleep]\nkind: sleep-with-spinlock-held\n")
        .expect("rules");
    let option = format!("--suppressions={}", rules.display());
    let run = check_with(&[option], program()).arg("usleep").run();
    assert_eq!(run.finding()["suppressed"]["name"], "a spinlock across a short sleep");
}

#[test]
fn reports_read_well() {
    golden("sleep-in-call", check(program()).arg("usleep"));
    golden("sleep-in-lock", check(program()).arg("mutex"));
}
