//! What languages and libraries are known by, in a program that has nothing else of them: doctor and the report of a run
//! name the locks that they hide. The same program without such a mark is the clean twin.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{build, check};
use crate::output::doctor::doctor;

/// `marked.c` that exports a function.
fn exporting(name: &str) -> PathBuf {
    build("marked.c", &[&format!("-DEXPORTED={name}"), "-rdynamic"])
}

/// `marked.c` with a constant.
fn with_text(text: &str) -> PathBuf {
    build("marked.c", &[&format!("-DTEXT=\"{text}\"")])
}

/// What doctor has of a program, by its `id`; `None` if nothing.
fn hidden<'j>(json: &'j Value, id: &str) -> Option<&'j Value> {
    let mut findings = json["findings"].as_array().unwrap().iter();
    findings.find(|finding| finding["id"] == id && finding["effect"] == "hides")
}

/// Doctor and the report of a run name what is hidden.
fn is_named(program: &PathBuf, id: &str) -> Value {
    let (run, json) = doctor(program);
    let finding = hidden(&json, id).unwrap_or_else(|| panic!("no {id}: {}", run.text()));
    let what = finding["what"].as_str().unwrap();
    let run = check(program).run();
    assert_eq!(run.text(), "40\n", "{}", run.stderr);
    let note = format!("not seen here: {what}");
    assert_eq!(run.stderr.matches(&note).count(), 1, "{note}: {}", run.stderr);
    finding.clone()
}

#[test]
fn a_program_without_a_mark_hides_nothing() {
    let program = build("marked.c", &[]);
    let (run, json) = doctor(&program);
    assert_eq!(json["verdict"], "whole", "{}", run.text());
    let run = check(&program).run();
    assert!(!run.stderr.contains("not seen here"), "{}", run.stderr);
}

/// Locks of `threading` are semaphores up to 3.13; lines are known of 3.11 and 3.12.
#[test]
fn of_cpython_by_version() {
    is_named(&exporting("PyMutex_IsLocked"), "python");
    is_named(&exporting("PyMutex_Lock"), "python-lines");
    is_named(&exporting("_PyEval_EvalFrameDefault"), "python-lines");
}

/// `[patch.crates-io]` replaces 0.12, and `Traced` wraps the locks of 0.13.
#[test]
fn of_parking_lot_by_version() {
    for (file, patches, wraps) in [
        ("parking_lot_core-0.9.12/src/parking_lot.rs", true, false),
        ("parking_lot_core-0.10.0/src/parking_lot.rs", false, true),
        ("parking_lot_core-0.11.0/src/parking_lot.rs", true, true),
    ] {
        let finding = is_named(&with_text(file), "parking-lot");
        let help = finding["help"].to_string();
        assert_eq!(help.contains("locks/parking_lot"), patches, "{file}: {help}");
        assert_eq!(help.contains("wrap"), wraps, "{file}: {help}");
    }
}
