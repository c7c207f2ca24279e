//! What languages and libraries are known by, in a program that has nothing else of them: doctor and the report of a run
//! name the locks that they hide. The same program without such a mark is the clean twin.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{build, check, installed};
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

/// Locks of `threading` are seen up to 3.14, of builds without the global lock up to 3.13.0; lines are known of 3.11 to 3.14.
#[test]
fn of_cpython_by_version() {
    let python = |version: &str, more: &[&str]| {
        let version = format!("-DPYTHON={version}");
        build("marked.c", &[&[version.as_str(), "-rdynamic"], more].concat())
    };
    let free_threaded = ["-DEXPORTED=_Py_MergeZeroLocalRefcount"];
    is_named(&python("0x030f00f0", &[]), "python");
    is_named(&python("0x030d01f0", &free_threaded), "python");
    is_named(&python("0x030d00f0", &free_threaded), "python-lines");
    is_named(&python("0", &[]), "python-lines");
    for known in ["0x030b00f0", "0x030d05f0", "0x030e00f0"] {
        let (run, json) = doctor(python(known, &[]));
        assert_eq!(json["verdict"], "whole", "{known}: {}", run.text());
    }
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

/// Runtimes of languages that are known by a function that they export.
#[test]
fn of_languages_by_an_exported_function() {
    for (function, id) in [
        ("rb_mutex_lock", "ruby"),
        ("mono_jit_init", "mono"),
        ("ethr_rwmutex_init", "erlang"),
        ("caml_thread_initialize", "ocaml"),
        ("caml_domain_spawn", "ocaml"),
        ("stg_takeMVarzh", "haskell"),
    ] {
        is_named(&exporting(function), id);
    }
}

/// Stripped programs have their messages.
#[test]
fn of_a_library_by_its_messages() {
    for (text, id) in [
        ("thread blocked indefinitely in an MVar operation", "haskell"),
        ("/index.crates.io-1949cf8c6b5b557f/tokio-1.54.1/src/runtime/park.rs", "tokio"),
        ("void boost::shared_mutex::state_data::assert_free() const", "boost"),
    ] {
        is_named(&with_text(text), id);
    }
}

#[test]
fn of_a_library_by_its_code() {
    for (function, id) in [
        ("_ZN5boost12shared_mutex11lock_sharedEv", "boost"),
        ("_ZN5tokio7runtime4park9CachedParkThread4park17h0123456789abcdefE", "tokio"),
    ] {
        is_named(&exporting(function), id);
    }
}

/// Locks of Boost that are pthread's have no such message, and monitors are seen.
#[test]
fn what_is_only_alike_is_not_named() {
    for program in [
        with_text("boost:: mutex constructor failed in pthread_mutex_init"),
        exporting("_ZN5boost15recursive_mutex4lockEv"),
        with_text("boost:: timed_mutex constructor failed in pthread_cond_init"),
        exporting("_ZN5boost21recursive_timed_mutex4lockEv"),
        with_text("tokio-1.54.1"),
        exporting("rb_mutex_locks"),
    ] {
        let (run, json) = doctor(&program);
        assert_eq!(json["verdict"], "whole", "{}", run.text());
        assert!(!check(&program).run().stderr.contains("not seen here"), "{program:?}");
    }
}

/// The real one, whose locks are in a library of its own.
#[test]
fn of_ruby() {
    let Some(ruby) = installed(&["ruby"], "ruby") else { return };
    let (run, json) = doctor(&ruby);
    let what = hidden(&json, "ruby").unwrap_or_else(|| panic!("{}", run.text()))["what"].clone();
    let both = "a, b = Mutex.new, Mutex.new
        Thread.new { a.synchronize { b.synchronize { } } }.join
        Thread.new { b.synchronize { a.synchronize { } } }.join
        puts 'done'";
    let run = check(&ruby).args(["-e", both]).run();
    assert_eq!((run.text().as_str(), run.verdicts()), ("done\n", vec![]), "{}", run.stderr);
    let note = format!("not seen here: {}", what.as_str().unwrap());
    assert_eq!(run.stderr.matches(&note).count(), 1, "{}", run.stderr);
}
