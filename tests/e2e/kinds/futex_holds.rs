//! Waits for futures, latches and the like with a lock held. If a thread that ends such a wait was seen to take that lock before, that
//! is a finding. Otherwise no order shows what can follow, so the report mentions them.

use crate::harness::{FOUND, build, check, due};

/// In this run, the thread was past the lock when the other came for it.
#[test]
fn what_ends_the_wait_needs_the_lock() {
    let verdict = |grade| vec![("wait-with-lock-held", grade)];
    for flags in due([&["-O0"], &["-O2"]], 2) {
        let program = build("wait_for_result.cc", flags);
        for (what, how, grade, code) in [
            ("future", "needs", "likely", FOUND),
            ("future", "more", "likely", FOUND),
            // It set another future after it took the lock, and before that the waiter may not have come.
            ("future", "set", "possible", 0),
            ("latch", "needs", "likely", FOUND),
            // It may have counted down another latch before it took the other lock, and nobody saw that.
            ("latch", "more", "possible", 0),
            // What else may let the waiter go on is not recorded.
            ("barrier", "needs", "possible", 0),
            ("semaphore", "needs", "possible", 0),
            ("flag", "needs", "possible", 0),
        ] {
            let run = check(&program).args([what, how]).run();
            assert_eq!(run.verdicts(), verdict(grade), "{flags:?} {what} {how}: {}", run.stderr);
            assert_eq!((run.text().as_str(), run.code()), ("done\n", code), "{}", run.stderr);
            assert!(!run.stderr.contains("threads waited"), "{what} {how}: {}", run.stderr);
        }
    }
}

/// It takes another lock, or the waiter comes to the lock only after it.
#[test]
fn what_ends_the_wait_does_not_need_the_lock() {
    let program = build("wait_for_result.cc", &[]);
    for what in ["future", "latch", "barrier", "semaphore", "flag"] {
        for how in ["other", "told"] {
            let run = check(&program).args([what, how]).run();
            assert_eq!((run.text().as_str(), run.verdicts()), ("done\n", vec![]), "{}", run.stderr);
            assert_eq!(run.stderr.matches("threads waited").count(), 1, "{what}: {}", run.stderr);
        }
    }
}

#[test]
fn waits_with_a_lock_held_are_noted() {
    let program = build("wait_with_lock.cc", &[]);
    for (how, what) in [
        ("future", "a condition (std::future)"),
        ("latch", "others at a barrier (std::latch)"),
        ("semaphore", "a semaphore (std::counting_semaphore)"),
        ("flag", "something (std::atomic::wait)"),
    ] {
        let run = check(&program).args([how]).run();
        assert_eq!((run.text().as_str(), run.verdicts()), ("done\n", vec![]), "{}", run.stderr);
        let words = format!("threads waited for {what} at wait_with_lock.cc:");
        assert_eq!(run.stderr.matches(&words).count(), 1, "{how}: {}", run.stderr);
        assert!(run.stderr.contains("(waits) with `kept` held"), "{how}: {}", run.stderr);
    }
}

/// Without a lock nobody is kept from anything, and a wait with a time limit ends.
#[test]
fn other_waits_are_not() {
    let program = build("wait_with_lock.cc", &[]);
    for how in ["timed", "without"] {
        let run = check(&program).args([how]).run();
        assert_eq!((run.text().as_str(), run.verdicts()), ("done\n", vec![]), "{}", run.stderr);
        assert!(!run.stderr.contains("threads waited"), "{how}: {}", run.stderr);
    }
}
