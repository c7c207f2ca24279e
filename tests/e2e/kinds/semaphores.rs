//! Semaphores: as locks, and as what only looks like one. CPython's locks are such semaphores.

use std::process::Command;

use crate::golden::golden;
use crate::harness::{FOUND, Job, Run, check, due, lock_names, program, tests_dir};

fn run(how: &str) -> Run {
    check(program("semaphores.c")).arg(how).run()
}

#[test]
fn taken_in_both_orders() {
    golden("semaphores", check(program("semaphores.c")).arg("abba"));
}

#[test]
fn taken_in_both_orders_with_a_mutex() {
    golden("semaphore-and-mutex", check(program("semaphores.c")).arg("mixed"));
}

#[test]
fn waited_for_in_a_circle() {
    let job = check(program("semaphores.c")).arg("deadlock");
    golden("semaphores-deadlocked", job);
    let run = run("deadlock");
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn tried_for_before_it_is_waited_for() {
    let run = run("try-first");
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    let mut locks = lock_names(run.finding());
    locks.sort_unstable();
    assert_eq!(locks, ["S", "T"]);
}

#[test]
fn what_hands_something_over_is_no_lock() {
    for how in ["trylock", "slots", "baton", "pool", "handler", "turns", "cancel", "lifetime"] {
        let run = run(how);
        // It begins some lives without having ended the one before, as programs do.
        let verdicts = match how {
            "lifetime" => vec![("object-initialised-twice", "possible")],
            // The thread that is joined waits for what is held, and is cancelled.
            "cancel" => vec![("join-with-lock-held", "possible")],
            _ => Vec::new(),
        };
        assert_eq!(run.verdicts(), verdicts, "{how}: {}", run.stderr);
        assert_eq!(run.text(), "the end\n", "{how}: {}", run.stderr);
        assert_eq!(run.code(), 0, "{how}");
    }
}

#[test]
fn those_of_a_place_where_none_is_a_lock_are_taken_for_none() {
    let waits = |waits: &str, pairs: &str| {
        check(program("semaphores_for_waits.c")).arg(waits).arg(pairs).run()
    };
    // The mutex is taken once within each semaphore, which counts as well as long as it is taken for a lock.
    let (few, many) = (waits("50", "0"), waits("2000", "0"));
    assert_eq!((few.code(), many.code()), (0, 0), "{}", many.stderr);
    assert_eq!(few.count("acquisitions"), 100, "{:#}", few.report()["summary"]);
    assert!(many.count("acquisitions") < 2200, "{:#}", many.report()["summary"]);
    // Some are watched nonetheless: it is seen when later ones are locks.
    let run = waits("2000", "200");
    assert_eq!(run.verdicts().first(), Some(&("circular-dependency", "ordered")), "{}", run.stderr);
}

/// Whether Python's locks are seen here: they are semaphores up to 3.13.0, and watched as what they are up to 3.14. Says why
/// not.
pub fn is_python_watched() -> bool {
    let program = "import sys; has_one = getattr(sys, '_is_gil_enabled', lambda: True)(); \
                   print(has_one and sys.version_info < (3, 15) and sys.thread_info.lock)";
    let lock = match Command::new("python3").args(["-c", program]).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    if lock != "semaphore" {
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "python3: {lock}");
        println!("skipped: python3's locks are not seen: {lock}");
    }
    lock == "semaphore"
}

/// The interpreter itself: what the name leads to may be a script that looks for it.
pub fn python_itself() -> String {
    let found = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let output = found.expect("python3");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A job of locks.py.
fn python(how: &str) -> Job {
    check(python_itself()).arg(tests_dir().join("programs/locks.py")).arg(how)
}

#[test]
fn python_locks_in_both_orders() {
    if !is_python_watched() {
        return;
    }
    for how in ["abba", "recursive-abba"] {
        let run = python(how).run();
        assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{how}: {}", run.stderr);
        assert_eq!(run.text(), "the end\n");
        assert_eq!(run.code(), FOUND);
    }
}

#[test]
fn python_locks_waited_for_in_a_circle() {
    if !is_python_watched() {
        return;
    }
    let run = python("deadlock").run();
    assert_eq!(run.verdicts()[0], ("circular-dependency", "deadlocked"), "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn python_idioms_are_clean() {
    if !is_python_watched() {
        return;
    }
    let all = [
        "queue",
        "condition",
        "pool",
        "handed",
        "timer",
        "recursive",
        "in-order",
        "levels",
        "tries",
        "reborn",
        "forked",
    ];
    for how in due(all, 3) {
        let run = python(how).run();
        assert!(
            run.findings().iter().all(|f| f["grade"] == "single-thread"),
            "{how}: {}",
            run.stderr
        );
        assert_eq!(run.text(), "the end\n", "{how}: {}", run.stderr);
        assert_eq!(run.code(), 0, "{how}: {}", run.stderr);
        assert!(run.count("acquisitions") >= 20, "{how}: it was watched");
    }
}
