//! Qt 5's locks, which are no pthread locks, are seen where they are taken.

use serde_json::Value;

use crate::annotations::CIRCULAR;
use crate::harness::{FOUND, Run, lock_names, told_of_library};

const FLAGS: &[&str] = &[
    "-fPIC",
    "-isystem/usr/include/x86_64-linux-gnu/qt5",
    "-isystem/usr/include/x86_64-linux-gnu/qt5/QtCore",
    "-lQt5Core",
];

const HEADER: &str = "/usr/include/x86_64-linux-gnu/qt5/QtCore/QMutex";

fn told(command: &str, what: &str) -> Option<Run> {
    told_of_library((HEADER, "qtbase5-dev"), ("qt.cc", FLAGS), command, what)
}

#[test]
fn locks_in_both_orders() {
    for (what, locks) in [
        ("mutexes", ["first", "second"]),
        ("table", ["again", "table"]),
        ("waits", ["first", "second"]),
    ] {
        let Some(run) = told("check", what) else { return };
        assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
        let names = lock_names(run.finding());
        for (name, lock) in names.iter().zip(locks) {
            assert!(name.ends_with(&format!("::{lock}")), "{names:?}");
        }
    }
}

#[test]
fn one_order_is_silent() {
    let Some(run) = told("check", "ordered") else { return };
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!(run.code(), 0);
    // The four, the mutex within the condition, and those that are made and gone again.
    assert_eq!(run.count("locks"), 25);
}

#[test]
fn acquisitions_are_measured() {
    let Some(run) = told("meter", "mutexes") else { return };
    let locks = run.report()["locks"].as_array().unwrap();
    for name in ["::first", "::second"] {
        let is_named = |lock: &&Value| lock["name"].as_str().unwrap().ends_with(name);
        let lock = locks.iter().find(is_named).expect("it is measured");
        assert_eq!(lock["total"]["acquisitions"], 2, "{}", run.stderr);
    }
}
