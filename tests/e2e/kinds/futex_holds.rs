//! Waits for futures, latches and the like with a lock held: no order shows what can follow, so the report mentions them.

use crate::harness::{build, check};

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
