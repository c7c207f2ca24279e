//! The doctor reports beforehand what can be watched and what cannot, with the remedy.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::executable;
use crate::harness::{Run, Scratch, build, check, native, program, run, rust_program, skip, tool};

/// The diagnosis: as text, and as JSON, which says the same.
pub fn doctor(subject: impl AsRef<OsStr>) -> (Run, Value) {
    diagnose(None, subject)
}

/// The same where a library is preloaded.
pub fn doctor_under(preload: &Path, subject: impl AsRef<OsStr>) -> (Run, Value) {
    diagnose(Some(preload), subject)
}

fn diagnose(preload: Option<&Path>, subject: impl AsRef<OsStr>) -> (Run, Value) {
    let scratch = Scratch::new();
    let json = scratch.join("doctor.json");
    let mut command = tool();
    command.args(["doctor", "--json"]).arg(&json).arg("--ledger-dir").arg(scratch.join("ledgers"));
    command.arg(subject.as_ref());
    command.envs(preload.map(|library| ("LD_PRELOAD", library)));
    let run = run(command);
    let json = fs::read(&json).unwrap_or_else(|_| panic!("no JSON: {}", run.stderr));
    let json: Value = serde_json::from_slice(&json).unwrap();
    let code = match json["verdict"].as_str().unwrap() {
        "whole" => 0,
        "part" => 1,
        "none" => 126,
        other => panic!("{other}"),
    };
    assert_eq!(run.code(), code, "{}", run.stderr);
    for finding in json["findings"].as_array().unwrap() {
        assert!(run.text().contains(finding["what"].as_str().unwrap()), "{}", run.text());
    }
    assert!(crate::harness::files(&scratch.join("ledgers")).is_empty(), "all is removed again");
    (run, json)
}

/// The names of the findings that have this effect.
fn ids<'j>(json: &'j Value, effect: &str) -> Vec<&'j str> {
    let findings = json["findings"].as_array().unwrap().iter();
    findings.filter(|f| f["effect"] == effect).map(|f| f["id"].as_str().unwrap()).collect()
}

fn has(json: &Value, id: &str) -> bool {
    json["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == id)
}

#[test]
fn a_program_whose_locks_are_all_seen() {
    let (run, json) = doctor(program("abba.c"));
    assert_eq!(json["verdict"], "whole", "{}", run.text());
    assert_eq!(json["findings"], Value::Array(vec![]), "nothing to say: {}", run.text());
    assert!(run.text().contains("can be watched\n"), "{}", run.text());
}

#[test]
fn a_static_program() {
    let (run, json) = doctor(build("ending.c", &["-static"]));
    assert_eq!(ids(&json, "blocks"), ["static"], "{}", run.text());
    assert!(run.text().contains("cannot be watched"), "{}", run.text());
    assert!(run.text().contains("without -static"), "{}", run.text());
}

#[test]
fn a_program_that_gains_privileges() {
    // SAFETY: it takes no argument and touches no memory of ours.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can make a file another user's");
    }
    let scratch = Scratch::new();
    let file = scratch.join("privileged");
    executable::copy(&program("ending.c"), &file);
    std::os::unix::fs::chown(&file, Some(65534), None).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o4755)).unwrap();
    let (run, json) = doctor(&file);
    assert_eq!(ids(&json, "blocks"), ["secure-execution"], "{}", run.text());
    assert!(run.text().contains("set-user-id") && run.text().contains("cp "), "{}", run.text());
}

#[test]
fn go_programs() {
    let (run, json) = doctor(build("go_mark.c", &["-static"]));
    assert_eq!(ids(&json, "blocks"), ["static"], "{}", run.text());
    assert!(run.text().contains("go build -race"), "{}", run.text());
    assert!(!run.text().contains("-static-pie"), "it would not help: {}", run.text());
    let (run, json) = doctor(program("go_mark.c"));
    assert_eq!(ids(&json, "blocks"), ["go"], "{}", run.text());
}

#[test]
fn a_rust_program_with_stds_locks() {
    let file = rust_program("std_mutex.rs");
    // They are inlined, and all places are found.
    let (run, json) = doctor(&file);
    assert_eq!(json["verdict"], "whole", "{}", run.text());
    let scratch = Scratch::new();
    let stripped = scratch.join("stripped");
    let done = Command::new("strip").arg("-o").arg(&stripped).arg(&file).status().unwrap();
    assert!(done.success());
    let (run, json) = doctor(&stripped);
    assert_eq!(json["verdict"], "whole", "without symbols, too: {}", run.text());
}

#[test]
fn a_rust_program_that_tells_of_its_locks() {
    let (run, json) = doctor(crate::harness::example("traced"));
    assert_eq!(json["verdict"], "whole", "{}", run.text());
    assert!(has(&json, "tells"), "{}", run.text());
}

#[test]
fn what_cxx_waits_for_by_futex() {
    let (run, json) = doctor(program("atomic_wait.cc"));
    assert_eq!(ids(&json, "hides"), ["cxx-atomic-wait"], "{}", run.text());
    let (run, json) = doctor(program("cxx_locks.cc"));
    assert_eq!(json["verdict"], "whole", "std::mutex is pthread's: {}", run.text());
}

#[test]
fn a_heap_of_its_own() {
    let (run, json) = doctor(program("own_heap.c"));
    assert_eq!(ids(&json, "hides"), ["own-heap"], "{}", run.text());
    assert!(run.text().contains("can be watched in part"), "{}", run.text());
}

#[test]
fn sanitizers() {
    let (run, json) = doctor(build("abba.c", &["-fsanitize=address"]));
    assert_eq!(ids(&json, "blocks"), ["shared-sanitizer"], "{}", run.text());
    assert!(run.text().contains("-static-libasan"), "{}", run.text());
    let inside = build("abba.c", &["-fsanitize=thread", "-static-libtsan"]);
    let (run, json) = doctor(&inside);
    assert_eq!(json["verdict"], "whole", "{}", run.text());
    let run = check(&inside).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "so it is: {}", run.stderr);
}

#[test]
fn a_stripped_program() {
    let (run, json) = doctor(build("abba.c", &["-s", "-Wl,--build-id"]));
    assert_eq!(json["verdict"], "whole", "{}", run.text());
    assert_eq!(ids(&json, "note"), ["no-debug-info"], "{}", run.text());
    assert!(run.text().contains("-g") && run.text().contains("DEBUGINFOD_URLS"), "{}", run.text());
}

#[test]
fn a_script_stands_for_its_interpreter() {
    let scratch = Scratch::new();
    let script = scratch.join("start");
    executable::write(&script, b"#!/bin/sh\nexit 0\n");
    let (run, json) = doctor(&script);
    assert!(has(&json, "starts-others"), "{}", run.text());
    assert_eq!(json["scripts"][0], script.to_str().unwrap());
    assert!(Path::new(json["file"].as_str().unwrap()).is_file(), "{json:#}");

    executable::write(&scratch.join("no-such-name-elsewhere"), b"#!/bin/sh\n");
    let static_one = build("ending.c", &["-static"]);
    executable::copy(&static_one, &scratch.join("closed"));
    executable::write(&script, b"#!/usr/bin/env closed\n");
    let mut command = tool();
    command.arg("doctor").arg(&script).env("PATH", scratch.path());
    let run = crate::harness::run(command);
    assert_eq!(run.code(), 126, "env's argument is what runs: {}", run.text());
    assert!(run.text().contains("statically linked"), "{}", run.text());
}

#[test]
fn a_process_that_runs() {
    let file = program("ending.c");
    let running = native(&file).arg("wait").spawn();
    let pid = running.program_id();
    let (run, json) = doctor(pid.to_string());
    assert_eq!(json["verdict"], "whole", "{}", run.text());
    assert_eq!(ids(&json, "note"), ["running"], "{}", run.text());
    assert_eq!(json["process"]["pid"], pid);
    assert_eq!(json["process"]["ledger"], Value::Null);
    assert!(run.text().contains("is not being watched, but can be"), "{}", run.text());
    let again = format!("`lockwright check -- {} wait`", file.display());
    assert!(run.text().contains(&again), "{}", run.text());
    let mut by_option = tool();
    by_option.args(["doctor", "--pid", &pid.to_string()]);
    assert_eq!(crate::harness::run(by_option).text(), run.text());
    crate::harness::signal(pid, libc::SIGTERM);
    assert_eq!(running.wait().code(), 7);
}

#[test]
fn a_process_that_is_watched() {
    let running = check(program("ending.c")).arg("wait").spawn();
    let pid = running.program_id();
    let (run, json) = doctor(pid.to_string());
    assert!(run.text().contains("is being watched"), "{}", run.text());
    let ledger = PathBuf::from(json["process"]["ledger"].as_str().unwrap());
    assert!(ledger.is_file(), "{}", ledger.display());
    crate::harness::signal(pid, libc::SIGTERM);
    assert_eq!(running.wait().code(), 7);
}

#[test]
fn no_such_process_or_program() {
    let doctor = |subject: &str| {
        let mut command = tool();
        command.args(["doctor", subject]);
        run(command)
    };
    // Above the largest id that the kernel gives.
    let run = doctor("4194305");
    assert_eq!(run.code(), 127, "{}", run.stderr);
    assert!(run.stderr.contains("no process 4194305"), "{}", run.stderr);
    assert_eq!(doctor("no-such-program-anywhere").code(), 127);
}

#[test]
fn limits_that_leave_no_room() {
    let scratch = Scratch::new();
    let mut command = Command::new("/bin/sh");
    let script = "ulimit -f 16; exec \"$0\" doctor --ledger-dir \"$1\" \"$2\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_lockwright")]);
    command.arg(scratch.path()).arg(program("abba.c"));
    let run = run(command);
    assert_eq!(run.code(), 126, "{}{}", run.text(), run.stderr);
    assert!(run.text().contains("ulimit"), "{}", run.text());
}

#[test]
fn a_directory_that_cannot_be_written() {
    let scratch = Scratch::new();
    let file = scratch.join("file");
    fs::write(&file, "").unwrap();
    let options = ["--ledger-dir", file.to_str().unwrap()];
    let mut command = tool();
    command.arg("doctor").args(options).arg(program("abba.c"));
    let run = run(command);
    assert_eq!(run.code(), 126, "{}", run.text());
    assert!(run.text().contains("--ledger-dir"), "{}", run.text());
}
