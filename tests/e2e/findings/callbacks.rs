//! Libraries that call back with a lock held, and twins that do not.

use crate::golden::golden;
use crate::harness::{Job, build, check_with};

const KIND: &str = "callback-with-lock-held";

/// Under `check --all`.
fn job(how: &str) -> Job {
    let library = build("callback_library.c", &["-shared", "-fPIC"]);
    let path = library.to_str().expect("a plain path");
    check_with(&["--all"], build("callback.c", &[path])).arg(how)
}

#[test]
fn what_is_said_of_callbacks() {
    for (how, verdicts) in [
        ("held", &[(KIND, "ordered")][..]),
        ("asks", &[(KIND, "likely")]),
        ("elsewhere", &[(KIND, "ordered")]),
        ("many", &[(KIND, "possible")]),
        ("released", &[]),
    ] {
        let run = job(how).run();
        assert_eq!(run.verdicts(), verdicts, "{how}: {}", run.stderr);
    }
}

/// What a library is linked against it uses: g_object_new is not called back by GIO.
#[test]
fn what_a_library_is_linked_against_is_no_callback() {
    let shared = |flags: &[&str]| {
        let library = build("callback_lower.c", &[&["-shared", "-fPIC"], flags].concat());
        library.to_str().expect("a plain path").to_owned()
    };
    let lower = shared(&["-DLOWER"]);
    let upper = shared(&["-DUPPER", &lower]);
    let alike = shared(&["-DUPPER", "-Wl,--unresolved-symbols=ignore-all"]);
    for (upper, verdicts) in [(&upper, &[][..]), (&alike, &[(KIND, "likely")])] {
        let program = build("callback_lower.c", &[upper, &lower]);
        let run = check_with(&["--all"], program).run();
        assert_eq!(run.verdicts(), verdicts, "{upper}: {}", run.stderr);
    }
}

#[test]
fn reports_of_callbacks_read_well() {
    for (name, how) in [("callback-asks", "asks"), ("callback-held", "held")] {
        golden(name, job(how));
    }
}
