//! Large numbers: nothing is lost, nothing is left out, and the program does not notice.
//!
//! How long it takes is printed, never asserted: on a machine under load it says nothing.

use std::time::Instant;

use crate::harness::{Run, check, due, native, program};

/// Runs `many` natively and under the tool; both say the same, and no record is lost.
fn watched(arguments: &[&str]) -> Run {
    let many = program("many.c");
    let begun = Instant::now();
    let alone = native(&many).args(arguments).run();
    let native_time = begun.elapsed();
    let begun = Instant::now();
    let run = check(&many).args(arguments).run();
    let check_time = begun.elapsed();
    println!("many {arguments:?}: {native_time:?} alone, {check_time:?} with all of the tool");
    assert_eq!(alone.code(), 0);
    assert_eq!(run.text(), alone.text());
    assert_eq!(run.count("lost"), 0);
    run
}

/// The one pair that all runs end with is found and nothing else.
fn assert_only_the_last_pair(run: &Run) {
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(crate::harness::lock_names(run.finding()), ["left", "right"]);
}

#[test]
fn twenty_thousand_locks_held_at_once() {
    for order in due(["lifo", "fifo", "random"], 3) {
        let run = watched(&["held", order]);
        assert_only_the_last_pair(&run);
        assert_eq!(run.count("locks"), 20_000 + 2, "{order}");
        assert_eq!(run.count("acquisitions"), 2 * 20_000 + 4, "{order}");
    }
}

/// Every pair of 45 locks is taken in both orders: the search is not cut short, and the pairs say
/// it all.
#[test]
fn a_dense_graph_is_searched_to_the_end() {
    let dense = program("dense.c");
    for (arguments, grade) in [(&[][..], "single-thread"), (&["turns"][..], "ordered")] {
        let run = check(&dense).args(arguments).run();
        assert!(!run.stderr.contains("cut short"), "{}", run.stderr);
        let verdicts = run.verdicts();
        let cycles: Vec<_> = verdicts.iter().filter(|it| it.0 == "circular-dependency").collect();
        assert_eq!(cycles, [&("circular-dependency", grade)], "{}", run.stderr);
    }
}

#[test]
fn two_million_locks_over_a_run() {
    let run = watched(&["lives"]);
    assert_only_the_last_pair(&run);
    assert_eq!(run.count("locks"), 2_000_000 + 3);
    assert_eq!(run.count("acquisitions"), 2_000_000 + 20_000 + 4);
}

#[test]
fn a_hundred_thousand_classes() {
    let stacks = watched(&["stacks"]);
    assert_only_the_last_pair(&stacks);
    // Every lock is in a context of its own; the report puts together what one line initialises.
    assert_eq!(stacks.count("contexts"), 100_000 + 2);
    let statics = watched(&["statics"]);
    assert_only_the_last_pair(&statics);
    assert_eq!(statics.count("classes"), 100_000 + 3);
    assert_eq!(statics.count("dependencies"), 100_000 + 2);
}

#[test]
fn ten_thousand_threads_over_a_run() {
    let run = watched(&["threads"]);
    assert_only_the_last_pair(&run);
    assert_eq!(run.count("threads"), 10_000 + 3);
    assert_eq!(run.count("acquisitions"), 20_000 + 4);
}

/// Threads whose rows are gone are counted still.
#[test]
fn threads_that_leave_nothing_behind_are_counted() {
    let run = watched(&["visitors"]);
    assert_only_the_last_pair(&run);
    assert_eq!(run.count("threads"), 3_000 + 3);
}

/// The report looks at the array once, not once for each of its locks.
#[test]
fn the_locks_of_a_large_array_are_one_class() {
    let run = watched(&["array"]);
    assert_only_the_last_pair(&run);
    assert_eq!((run.count("locks"), run.count("classes")), (100_000 + 2, 1 + 2));
}

#[test]
fn hundreds_of_findings_each_once_and_the_worst_first() {
    let run = watched(&["circles"]);
    let grades: Vec<_> = run.verdicts().into_iter().map(|(_, grade)| grade).collect();
    let expected = [["likely"; 100], ["guarded"; 100], ["ordered"; 100]].concat();
    assert_eq!(grades, expected);
    let mut pairs: Vec<_> = run.findings().iter().map(crate::harness::lock_names).collect();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(pairs.len(), 300);
}
