//! Functions that newer versions of GLib have than the one that is installed: by a library that stands in for it.

use std::fs;
use std::path::PathBuf;

use crate::harness::{FOUND, Run, Scratch, build, check, lock_names, native, under};
use crate::kinds::annotations::CIRCULAR;

const SOURCE: &str = "glib_newer.c";

/// The program, and a folder with what stands in for GLib, by the name that it is known by.
fn program() -> (PathBuf, Scratch) {
    const FILE: &str = "libglib-2.0.so.0";
    let name = format!("-Wl,-soname,{FILE}");
    let library = build(SOURCE, &["-shared", "-fPIC", "-DLIBRARY", &name]);
    let folder = Scratch::new();
    fs::copy(&library, folder.join(FILE)).expect("a copy");
    (build(SOURCE, &[library.to_str().expect("UTF-8")]), folder)
}

/// Runs it under the tool, and without it, with the same result.
fn told(command: &str, what: &str) -> Run {
    let (program, folder) = program();
    let alone = native(&program).env("LD_LIBRARY_PATH", folder.path()).arg(what).run();
    assert_eq!((alone.text(), alone.code()), (format!("{what}: done\n"), 0), "{}", alone.stderr);
    let job = match command {
        "check" => check(program),
        _ => under(command, &[] as &[&str], program),
    };
    let run = job.env("LD_LIBRARY_PATH", folder.path()).arg(what).run();
    assert_eq!(run.text(), alone.text(), "{}", run.stderr);
    run
}

/// Bits that are taken and let go with what else is in the word.
#[test]
fn words_that_are_changed_with_their_locks() {
    let run = told("check", "locks");
    assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["first", "head"]);
    let run = told("check", "ordered");
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!((run.count("locks"), run.count("acquisitions"), run.code()), (2, 4, 0));
}

#[test]
fn gates_of_pointers() {
    let run = told("check", "gate");
    let likely = ("circular-dependency", "likely");
    assert_eq!((run.verdicts(), run.code()), (vec![likely], FOUND), "{}", run.stderr);
    assert_eq!(lock_names(run.finding()).len(), 2, "{}", run.stderr);
    let run = told("check", "gate_done");
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!((run.count("locks"), run.code()), (2, 0), "{}", run.stderr);
}

#[test]
fn they_are_measured() {
    let run = told("meter", "gate");
    let locks = run.report()["locks"].as_array().unwrap();
    let gate = locks.iter().find(|lock| lock["name"] == "gate").expect("it is measured");
    let total = &gate["total"];
    assert_eq!((&total["acquisitions"], &total["contended"]), (&2.into(), &1.into()), "{gate:#}");
}
