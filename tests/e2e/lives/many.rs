//! Programs that have much of something: the report says how much.

use crate::harness::{program, under};

/// Threads whose rows are gone are counted still.
#[test]
fn all_threads_that_come_and_go_are_counted() {
    for command in ["check", "run"] {
        let run = under(command, &[] as &[&str], program("many.c")).args(["threads", "3000"]).run();
        assert_eq!(run.code(), 0, "{}", run.stderr);
        assert_eq!(run.count("threads"), 3001, "{command}: {}", run.stderr);
    }
}

/// Each asked the whole array for its layout: a minute for so many. Time is not looked at; the runner's limit is.
#[test]
fn the_locks_of_a_large_array_are_one_class() {
    let run = under("check", &[] as &[&str], program("many.c")).args(["array", "100000"]).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert_eq!((run.count("locks"), run.count("classes")), (100_000, 1), "{}", run.stderr);
}
