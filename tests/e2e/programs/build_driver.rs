//! examples/build_driver: whatever the number of threads, the lock and the tool, it builds the same.

use std::path::PathBuf;
use std::process::Command;

use crate::harness::{Scratch, check, native, tests_dir};

/// A small build.
const SIZE: [&str; 8] = ["--units", "60", "--steps", "6", "--scopes", "1", "--cached", "100"];

/// The driver, as its Makefile makes it.
fn driver(scratch: &Scratch) -> PathBuf {
    let built = scratch.join("build_driver");
    let sources = tests_dir().join("../examples/build_driver");
    let files = std::fs::read_dir(sources).expect("the example").flatten().map(|f| f.path());
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]);
    cc.arg("-o").arg(&built).args(files.filter(|f| f.extension().is_some_and(|e| e == "c")));
    assert!(cc.status().expect("cc").success(), "{cc:?} failed");
    built
}

fn checksum(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("checksum ")).expect("a checksum")
}

#[test]
fn it_builds_the_same_with_any_number_of_threads_alone_and_watched() {
    let scratch = Scratch::new();
    let driver = driver(&scratch);
    let mut first = String::new();
    for threads in ["1", "2", "4"] {
        for lock in ["mutex", "spin"] {
            let arguments = SIZE.into_iter().chain(["--threads", threads, "--lock", lock]);
            let alone = native(&driver).args(arguments.clone()).run();
            assert_eq!(alone.code(), 0, "{}", alone.stderr);
            let text = alone.text();
            if first.is_empty() {
                checksum(&text).clone_into(&mut first);
            }
            assert_eq!(checksum(&text), first, "{threads} threads, {lock}");
            let watched = check(&driver).args(arguments).run();
            assert_eq!(watched.code(), 0, "{}", watched.stderr);
            assert_eq!(checksum(&watched.text()), first, "{threads} threads, {lock}, watched");
            assert!(watched.findings().is_empty(), "{}", watched.stderr);
        }
    }
}

#[test]
fn another_seed_is_another_build() {
    let scratch = Scratch::new();
    let driver = driver(&scratch);
    let with = |seed: &str| native(&driver).args(SIZE).arg("--seed").arg(seed).run().text();
    assert_ne!(checksum(&with("1")), checksum(&with("2")));
}

#[test]
fn a_lock_that_there_is_not_is_refused() {
    let scratch = Scratch::new();
    let run = native(driver(&scratch)).args(["--lock", "none"]).run();
    assert_eq!(run.code(), 2);
    assert!(run.stderr.contains("locks: mutex spin\n"), "{}", run.stderr);
}
