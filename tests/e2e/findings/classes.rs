//! Locks by the thousand are judged by class, and certain only where the same instances meet.

use crate::harness::{
    FOUND, Scratch, check, check_with, functions, ledgers, lock_names, program, run, tool,
};

#[test]
fn a_circle_of_classes_alone_is_possible() {
    let run = check(program("instances.c")).arg("classes").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "possible")], "{}", run.stderr);
    assert_eq!(run.code(), 0, "possible does not fail a run by default");
    let finding = run.finding();
    for lock in finding["locks"].as_array().unwrap() {
        assert_eq!(lock["origin"], "init", "{lock:#}");
        let creator = lock["created"]
            .as_array()
            .unwrap()
            .iter()
            .find_map(|f| f["function"].as_str().filter(|name| name.ends_with("_new")));
        assert!(creator.is_some(), "the class is named by where it is made: {lock:#}");
    }
    assert!(functions(finding).contains(&"nest"));
}

/// The table and one object each: objects that main has made by the same calls.
#[test]
fn orders_on_different_objects_that_are_alike_are_likely() {
    for how in ["shared", "inside"] {
        let run = check(program("alike.c")).arg(how).run();
        assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{how}: {}", run.stderr);
        assert_eq!(run.code(), FOUND, "{how}");
        let evidence = run.finding()["evidence"].to_string();
        assert!(evidence.contains("made at one place, each by another thread"), "{evidence}");
    }
}

/// Each thread may have a reason to take its objects in its order: it has made them itself, there are many of which none was
/// taken in both orders, each has a further lock around both, or they were made at different places.
#[test]
fn orders_on_objects_that_may_differ_are_possible() {
    for how in ["told", "tied", "gated", "places"] {
        let run = check(program("alike.c")).arg(how).run();
        assert_eq!(run.verdicts(), [("circular-dependency", "possible")], "{how}: {}", run.stderr);
    }
    let run = check(program("alike.c")).arg("own").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "ordered")], "{}", run.stderr);
}

#[test]
fn a_circle_of_instances_is_likely() {
    let run = check(program("instances.c")).arg("same").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()).len(), 2);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn two_locks_of_one_class_in_both_orders_are_likely() {
    let run = check(program("instances.c")).arg("transfer").run();
    let verdicts = run.verdicts();
    assert_eq!(verdicts.len(), 1, "{verdicts:?} {}", run.stderr);
    let (kind, grade) = verdicts[0];
    assert!(["circular-dependency", "recursive-locking"].contains(&kind), "{kind}");
    assert_eq!(grade, "likely", "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn one_class_in_an_order_that_all_keep_fails_nothing() {
    let run = check(program("instances.c")).arg("ascending").run();
    assert!(
        run.verdicts().iter().all(|(_, grade)| !["deadlocked", "likely"].contains(grade)),
        "{}",
        run.stderr
    );
    assert_eq!(run.code(), 0);
}

/// Locks that one function initialises, or elements of one array, each taken at places of its own.
#[test]
fn locks_of_different_purposes_are_no_one_class() {
    for how in ["made", "array"] {
        let run = check(program("roles.c")).arg(how).run();
        assert_eq!(run.verdicts(), [], "{how}: {}", run.stderr);
    }
}

#[test]
fn two_purposes_in_both_orders_are_told_by_who_had_the_locks_made() {
    let run = check(program("roles.c")).arg("both").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    let names = lock_names(run.finding());
    assert_eq!(names.len(), 2, "{names:?}");
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.contains("server_begin")), "{names:?}");
    assert_eq!(run.code(), FOUND);
}

#[test]
fn elements_that_one_place_takes_are_one_class() {
    let run = check(program("roles.c")).arg("buckets").run();
    assert_eq!(run.verdicts(), [("recursive-locking", "possible")], "{}", run.stderr);
}

/// How often the locks of a class were acquired is known where lockmeter measures, too.
#[test]
fn acquisitions_of_classes_are_told_where_they_are_known() {
    let ops = |command: &str| -> Vec<String> {
        let scratch = Scratch::new();
        let mut watched = tool();
        watched.args([command, "--keep", "--exit-code", "0", "--ledger-dir"]).arg(scratch.path());
        watched.arg("--").arg(program("damaged_chain.c")).arg("spare");
        run(watched);
        let mut report = tool();
        report.args(["report", "--classes"]).args(ledgers(scratch.path()));
        let text = String::from_utf8(run(report).stdout).expect("UTF-8");
        let mut ops: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("OPS:"))
            .map(|l| l[..12].to_owned())
            .collect();
        ops.sort();
        ops
    };
    assert_eq!(ops("run"), ["OPS:       1", "OPS:     100", "OPS:    1000"]);
    assert_eq!(ops("check"), ["OPS:     n/a"; 3]);
}

/// Where more locks of a class were nested than are recorded one by one, an unrecorded thread may have taken them, if the process has a second
/// thread at all.
#[test]
fn one_thread_alone_leaves_no_other_unrecorded() {
    let more = "more threads took";
    let run = check_with(&["--all"], program("crowded.c")).arg("one").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "single-thread")], "{}", run.stderr);
    assert!(!run.stderr.contains(more), "{}", run.stderr);
    let run = check_with(&["--all"], program("crowded.c")).arg("two").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "possible")], "{}", run.stderr);
    assert!(run.stderr.contains(more), "{}", run.stderr);
}
