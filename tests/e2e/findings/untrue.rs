//! Programs that look wrong and are not, or not in the way that they look: read locks that are
//! handed on, coroutines, pairs in an order of the program's own, kept locks that nobody needs.
//! Each has a twin that is truly wrong.

use crate::findings::missed::{Row, is_told};
use crate::golden::golden;
use crate::harness::{check, check_with, program};

/// The expected findings.
const TOLD: &[Row] = &[
    ("read_handed_on.c", "ended", &[]),
    ("read_handed_on.c", "living", &[]),
    ("read_handed_on.c", "kept", &[("exit-with-lock-held", "likely")]),
    ("read_handed_on.c", "clean", &[]),
    ("coroutines.c", "carried", &[("bad-unlock-balance", "likely")]),
    ("coroutines.c", "clean", &[]),
    ("ordered_by.cc", "id", &[]),
    ("ordered_by.cc", "address", &[]),
    ("ordered_by.cc", "neither", &[("circular-dependency", "likely")]),
    ("pairs_of_one_site.c", "opposite", &[("recursive-locking", "possible")]),
    ("pairs_of_one_site.c", "ascending", &[]),
    ("readers_both_ways.c", "", &[("recursive-locking", "possible")]),
    ("philosophers.c", "2", &[("circular-dependency", "guarded")]),
    ("philosophers.c", "3", &[("circular-dependency", "likely")]),
    ("philosophers.c", "2 posted", &[("circular-dependency", "likely")]),
    (
        "philosophers.c",
        "2 late",
        &[("circular-dependency", "likely"), ("wait-with-lock-held", "possible")],
    ),
    ("philosophers.c", "2 twice", &[("circular-dependency", "likely")]),
    ("handed_on.c", "cond", &[("circular-dependency", "possible")]),
    ("handed_on.c", "cond again", &[("circular-dependency", "likely")]),
    ("handed_on.c", "posts", &[("circular-dependency", "possible")]),
    ("handed_on.c", "posts again", &[("circular-dependency", "likely")]),
    ("handed_on.c", "lock", &[("circular-dependency", "likely")]),
    ("handed_on.c", "taken", &[("circular-dependency", "ordered")]),
    ("handed_on.c", "taken timed", &[("circular-dependency", "likely")]),
    ("handed_on.c", "taken again", &[("circular-dependency", "likely")]),
    ("wait_kept.c", "timed", &[("wait-with-lock-held", "ordered")]),
    ("wait_kept.c", "needed", &[("wait-with-lock-held", "ordered")]),
    ("wait_kept.c", "independent", &[("wait-with-lock-held", "ordered")]),
    ("wait_kept.c", "unsignalled", &[("wait-with-lock-held", "possible")]),
];

#[test]
fn what_is_said_of_what_looks_wrong() {
    for (source, how, verdicts) in TOLD {
        is_told(source, how, verdicts);
    }
}

#[test]
fn a_read_lock_that_is_handed_on_is_counted() {
    for how in ["ended", "living"] {
        let run = check_with(&["--all"], program("read_handed_on.c")).arg(how).run();
        let [finding] = run.untidy() else { panic!("{how}: {}", run.stderr) };
        assert_eq!(finding["kind"], "bad-unlock-balance", "{how}");
        let actions: Vec<_> =
            finding["steps"].as_array().unwrap().iter().map(|step| &step["action"]).collect();
        assert_eq!(actions, ["releases a read lock of", "read-acquired"], "{how}");
    }
}

/// There is no such thing as a robust rwlock.
#[test]
fn no_remedy_is_named_that_does_not_exist() {
    let run = check(program("read_handed_on.c")).arg("kept").run();
    assert!(!run.stderr.contains("robust"), "{}", run.stderr);
    assert!(run.stderr.contains("held for reading"), "{}", run.stderr);
}

/// These reports are not golden: which thread had to wait differs from run to run.
#[test]
fn the_evidence_is_true() {
    for (source, how, says) in [
        ("ordered_by.cc", "neither", "by address, or by a number that each has"),
        ("readers_both_ways.c", "", "the pairs taken both ways do not deadlock"),
        ("wait_kept.c", "needed", "(signaller) signalled, and did not take it on the way"),
        ("wait_kept.c", "independent", "(signaller) signalled, and did not take it on the way"),
    ] {
        let run = check_with(&["--all"], program(source)).arg(how).run();
        assert!(run.stderr.contains(says), "{source} {how}: {}", run.stderr);
    }
}

#[test]
fn reports_of_what_looks_wrong_read_well() {
    for (name, source, how) in [
        ("read-handed-on", "read_handed_on.c", "ended"),
        ("read-kept", "read_handed_on.c", "kept"),
        ("pairs-of-one-site", "pairs_of_one_site.c", "opposite"),
        ("wait-kept-timed", "wait_kept.c", "timed"),
    ] {
        golden(name, check_with(&["--all"], program(source)).arg(how));
    }
}
