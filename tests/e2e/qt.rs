//! Qt 5's locks, which are no pthread locks, are seen where they are taken.

use std::path::Path;

use serde_json::Value;

use crate::annotations::CIRCULAR;
use crate::harness::{FOUND, Run, build, check, lock_names, native, skip, under};

const FLAGS: &[&str] = &[
    "-fPIC",
    "-isystem/usr/include/x86_64-linux-gnu/qt5",
    "-isystem/usr/include/x86_64-linux-gnu/qt5/QtCore",
    "-lQt5Core",
];

/// Runs the program by `command`, and without the tool, with the same result.
fn told(command: &str, what: &str) -> Option<Run> {
    let header = "/usr/include/x86_64-linux-gnu/qt5/QtCore/QMutex";
    if !Path::new(header).exists() {
        let why = format!("{header} is not there (Debian package qtbase5-dev)");
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{why}");
        skip(&why);
        return None;
    }
    let program = build("qt.cc", FLAGS);
    let alone = native(&program).arg(what).run();
    assert_eq!((alone.text(), alone.code()), (format!("{what}: done\n"), 0), "{}", alone.stderr);
    let run = match command {
        "check" => check(program).arg(what).run(),
        _ => under(command, &[] as &[&str], program).arg(what).run(),
    };
    assert_eq!(run.text(), alone.text(), "{}", run.stderr);
    Some(run)
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
