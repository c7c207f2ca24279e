//! Names of locks that are members of static variables, from debug information.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::process::Command;

use crate::harness::{Run, Scratch, build, check, installed, lock_names, tests_dir};

/// Names of the locks of all findings.
fn names(run: &Run) -> BTreeSet<&str> {
    run.findings().iter().flat_map(lock_names).collect()
}

const IN_C: [&str; 6] = [
    "accounts[3].lock",
    "bank.inner.special[0].lock",
    "bank.inner.special[1].lock",
    "data.mtx1",
    "data.mtx2",
    "grid[1][2]",
];

#[test]
fn members_of_structures_and_arrays() {
    for flags in [&["-O0"][..], &["-O2"], &["-gdwarf-4"], &["-gdwarf-5", "-gz"]] {
        let run = check(build("members.c", flags)).run();
        assert_eq!(names(&run), BTreeSet::from(IN_C), "{flags:?}: {}", run.stderr);
        let classes: BTreeSet<&str> = run
            .findings()
            .iter()
            .flat_map(|finding| finding["locks"].as_array().unwrap())
            .map(|lock| lock["class"].as_str().unwrap())
            .collect();
        let expected =
            ["accounts[].lock", "bank.inner.special[].lock", "data.mtx1", "data.mtx2", "grid[][]"];
        assert_eq!(classes, BTreeSet::from(expected), "{flags:?}");
    }
}

/// The twin: what no debug information tells is not guessed.
#[test]
fn without_debug_information_there_are_offsets() {
    let run = check(build("members.c", &["-g0"])).run();
    let names = names(&run);
    assert!(names.contains("data") && !names.iter().any(|name| name.contains('.')), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("data+0x")), "{names:?}");
}

#[test]
fn members_in_a_separate_debug_file_and_by_clang() {
    let Some(clang) = installed(&["clang"], "clang") else { return };
    let scratch = Scratch::new();
    let program = scratch.join("members");
    let source = tests_dir().join("programs/members.c");
    let run = |program: &str, args: &[&OsStr]| {
        let status = Command::new(program).args(args).status();
        assert!(status.expect("runs").success(), "{program} {args:?}");
    };
    run(
        clang.to_str().unwrap(),
        &[
            "-g".as_ref(),
            "-O1".as_ref(),
            "-pthread".as_ref(),
            source.as_ref(),
            "-o".as_ref(),
            program.as_ref(),
        ],
    );
    let seen = check(&program).run();
    assert_eq!(names(&seen), BTreeSet::from(IN_C), "{}", seen.stderr);
    let debug = scratch.join("members.debug");
    run("objcopy", &["--only-keep-debug".as_ref(), program.as_ref(), debug.as_ref()]);
    run("strip", &["--strip-debug".as_ref(), program.as_ref()]);
    let mut link = OsString::from("--add-gnu-debuglink=");
    link.push(&debug);
    run("objcopy", &[&link, program.as_ref()]);
    let seen = check(&program).run();
    assert_eq!(names(&seen), BTreeSet::from(IN_C), "{}", seen.stderr);
}

#[test]
fn members_of_classes() {
    for flags in [["-O0"], ["-O2"]] {
        let run = check(build("members.cc", &flags)).run();
        let expected = [
            "store::Server::get()::server.sessions[1].named_",
            "store::Server::get()::server.sessions[2].mu_",
            "store::Server::get()::server.table",
            "store::Session::all",
            "store::lone.mu_",
            "store::lone.named_",
        ];
        assert_eq!(names(&run), BTreeSet::from(expected), "{flags:?}: {}", run.stderr);
    }
}
