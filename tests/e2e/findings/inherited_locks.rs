//! The locks that a forked child inherits from its parent's thread: the tool does not touch
//! their memory. Shared locks are still the parent's, and the places where the parent took them are
//! reported as the parent's.

use crate::harness::{FOUND, lock_names, program, under};

const COMMANDS: [&str; 3] = ["check", "meter", "run"];

/// Each is clean, and ends as it does by itself.
fn is_clean(how: &str) {
    for command in COMMANDS {
        let run = under(command, &[] as &[&str], program("fork_inherited.c")).arg(how).run();
        assert_eq!(run.text(), "the end\n", "{command} {how}: {}", run.stderr);
        assert_eq!(run.code(), 0, "{command} {how}: {}", run.stderr);
        if command != "meter" {
            assert!(run.findings().is_empty(), "{command} {how}: {}", run.stderr);
        }
    }
}

#[test]
fn the_memory_of_an_inherited_lock_is_not_touched() {
    for how in ["unmapped", "freed", "returned", "left-out", "renewed"] {
        is_clean(how);
    }
}

#[test]
fn a_process_shared_lock_is_still_its_parents_after_a_fork() {
    for how in ["mutex", "checking", "robust", "read", "written", "another"] {
        is_clean(how);
    }
    // The parent sleeps with it held, while others would spin: for its thread and for its child.
    let run = under("check", &[] as &[&str], program("fork_inherited.c")).arg("spinlock").run();
    let sleeps = ("sleep-with-spinlock-held", "possible");
    assert_eq!(run.verdicts(), [sleeps, sleeps], "{}", run.stderr);
}

#[test]
fn an_inherited_lock_is_shown_where_the_parent_took_it() {
    for how in ["relock", "relock-checking", "relock-recursive"] {
        let run = under("check", &[] as &[&str], program("fork_inherited.c")).arg(how).run();
        assert_eq!(run.verdicts(), [("recursive-locking", "deadlocked")], "{how}: {}", run.stderr);
        assert_eq!(lock_names(run.finding()), ["inherited"], "{how}");
        let json = run.finding().to_string();
        assert!(json.contains("take_inherited"), "{how}: {json}");
        assert!(json.contains("take_again") && !json.contains("use_own"), "{how}: {json}");
        assert!(run.stderr.contains("`inherited` was taken in take_inherited"), "{}", run.stderr);
        assert_eq!(run.code(), FOUND, "{how}: {}", run.stderr);
    }
}
