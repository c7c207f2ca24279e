//! `--track-allocations`: locks that nobody initialises go by the block that they lie in.

use crate::golden::golden;
use crate::harness::{FOUND, Run, check, check_with, program};

const TRACKING: &[&str] = &["--track-allocations"];

fn tracked(how: &str) -> Run {
    let run = check_with(TRACKING, program("heap_classes.cc")).arg(how).run();
    assert_eq!(run.text(), "the end\n", "{how}: {}", run.stderr);
    run
}

fn untracked(how: &str) -> Run {
    let run = check(program("heap_classes.cc")).arg(how).run();
    assert_eq!(run.text(), "the end\n", "{how}: {}", run.stderr);
    run
}

#[test]
fn classes_are_what_the_program_allocates() {
    for how in ["types", "members"] {
        assert_eq!(tracked(how).count("classes"), 2, "{how}");
        assert_eq!(untracked(how).count("classes"), 1, "{how}");
    }
}

#[test]
fn an_array_is_one_class() {
    let run = tracked("array");
    assert_eq!((run.count("locks"), run.count("classes")), (100, 1), "{}", run.stderr);
}

#[test]
fn the_report_says_where_a_lock_was_allocated() {
    let run = tracked("orders");
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    for (lock, maker) in
        run.finding()["locks"].as_array().unwrap().iter().zip(["make_account", "make_journal"])
    {
        assert_eq!(lock["origin"], "allocation", "{lock:#}");
        assert!(lock["name"].as_str().unwrap().contains(maker), "{lock:#}");
        let mut created = lock["created"].as_array().unwrap().iter();
        assert!(created.any(|frame| frame["function"].as_str().is_some_and(|f| f.contains(maker))));
    }
    assert_eq!(run.code(), FOUND);
}

#[test]
fn a_lock_is_as_new_as_its_block() {
    let verdict = |run: Run| run.verdicts().first().map(|(_, grade)| (*grade).to_owned());
    assert_eq!(verdict(tracked("constructor")).as_deref(), Some("ordered"));
    assert_eq!(verdict(tracked("handed")).as_deref(), Some("likely"));
    // Nothing tells that it was not there for long.
    assert_eq!(verdict(untracked("constructor")).as_deref(), Some("likely"));
}

#[test]
fn golden_orders() {
    golden("allocated", check_with(TRACKING, program("heap_classes.cc")).arg("orders"));
}
