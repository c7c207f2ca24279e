//! The text of each kind of report, from real programs. What differs from run to run (process and thread
//! ids, addresses, costs, this machine's paths and libc) is made the same first.

use std::fs;

use crate::harness::{Job, build, check, check_with, program, tests_dir};

fn golden(name: &str, job: Job) {
    let run = job.run();
    let seen = settle(&run.stderr);
    let path = tests_dir().join("golden/e2e").join(name).with_extension("txt");
    if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, seen).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        seen == expected,
        "{} differs; LOCKWRIGHT_BLESS=1 accepts this one:\n--- expected\n{expected}\n--- seen\n{seen}",
        path.display()
    );
}

/// Replaces what differs from run to run.
fn settle(text: &str) -> String {
    let tests = tests_dir();
    let root = tests.parent().expect("workspace");
    let mut out = text.replace(&format!("{}/", root.display()), "");
    for (programs, _) in text.match_indices(env!("CARGO_TARGET_TMPDIR")) {
        let path: String =
            text[programs..].chars().take_while(|c| !c.is_whitespace() && *c != '+').collect();
        if let Some((folder, name)) = path.rsplit_once('/') {
            out = out.replace(&format!("{folder}/{name}"), name);
        }
    }
    out.lines().map(|line| settle_line(line) + "\n").collect()
}

fn settle_line(line: &str) -> String {
    // Frames of the C library: function offsets change with every build of it.
    let line = if line.contains("libc.so") || line.contains("ld-linux") {
        let indent = line.len() - line.trim_start().len();
        return format!("{}[C library]", " ".repeat(indent));
    } else {
        line
    };
    let mut out = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let token_start = !out.ends_with(|p: char| p.is_ascii_alphanumeric());
        if token_start && rest.starts_with("0x") {
            out.push_str("0xADDRESS");
            rest = rest[2..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
        } else if let Some(id) = ["tid ", "pid ", "process ", "thread "]
            .iter()
            .find(|id| token_start && rest.starts_with(**id))
        {
            out.push_str(id);
            rest = &rest[id.len()..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits > 0 {
                out.push('N');
                rest = &rest[digits..];
            }
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    match out.find("cost") {
        Some(at) => out[..at].to_owned() + "cost …",
        None => out,
    }
}

#[test]
fn likely() {
    golden("likely", check(program("abba.c")));
}

#[test]
fn likely_three() {
    golden("likely-three", check(program("abbcca.c")));
}

#[test]
fn possible() {
    golden("possible", check(program("instances.c")).arg("classes"));
}

#[test]
fn single_thread() {
    golden("single-thread", check_with(&["--all"], program("abba.c")).arg("single"));
}

#[test]
fn guarded() {
    golden("guarded", check_with(&["--all"], program("guarded.c")));
}

#[test]
fn ordered() {
    golden("ordered", check_with(&["--all"], program("abba.c")).arg("ordered"));
}

#[test]
fn counted_only() {
    golden("counted-only", check(program("abba.c")).arg("single"));
}

#[test]
fn nothing_found() {
    golden("nothing-found", check(program("inorder.c")));
}

#[test]
fn no_locks() {
    golden("no-locks", check(program("ending.c")).arg("nolocks"));
}

#[test]
fn deadlocked() {
    golden("deadlocked", check(program("deadlock.c")));
}

#[test]
fn recursive_deadlocked() {
    golden("recursive-deadlocked", check(program("aa.c")).arg("normal"));
}

#[test]
fn condition_wait() {
    golden("condition-wait", check(program("condvar.c")).arg("inverted"));
}

#[test]
fn reader_writer() {
    golden("reader-writer", check(program("rwlock.c")).arg("mixed"));
}

#[test]
fn cxx() {
    golden("cxx", check(program("cxx_locks.cc")).arg("guard"));
}

#[test]
fn stripped() {
    // Neither debug information nor source: function and offset, or the module alone.
    golden("stripped", check(build("abba.c", &["-g0", "-s"])));
}
