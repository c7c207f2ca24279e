//! C programs that need no sanitizer: lock events, counted by a library that was built to do so and
//! refused by any other; and misuse, which locks with checks refuse.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The static library, built by a cargo of its own.
fn library(name: &str, features: &[&str]) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--manifest-path"]).arg(here().join("Cargo.toml"));
    cargo.args(features).arg("--target-dir").arg(&target);
    assert!(cargo.status().expect("cargo").success(), "{cargo:?} failed");
    target.join("debug/liblockwright.a")
}

/// A client, linked with a library, built by the name of the lock that it is for.
fn built(source: &str, lock: &str, library: &Path) -> Command {
    let program = library.with_file_name(format!("{source}-{lock}"));
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]);
    cc.arg(here().join("../../include")).arg(here().join("tests/clients").join(source));
    cc.arg(format!("-DNAME={lock}")).arg(library).arg("-o").arg(&program);
    assert!(cc.status().expect("cc").success(), "{cc:?} failed");
    Command::new(program)
}

fn counts_events(library: &Path, file: &Path) -> Output {
    let mut client = built("lock_events.c", "rtmutex", library);
    client.env("LOCKWRIGHT_EVENTS", file).output().expect("the client")
}

#[test]
fn a_library_that_counts_shows_the_kernels_table() {
    let library = library("lock-events", &["--features", "lock_events"]);
    let file = library.with_file_name("lock_event_counts");
    let out = counts_events(&library, &file);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success() && out.stderr.is_empty(), "{text}");
    let (first, table) = text.split_once('\n').unwrap();
    assert_eq!(first, "acq3 1, unknown 1, closed 1");
    assert!(table.starts_with("pv_hash_hops "), "{table}");
    // At exit the table is the same.
    assert_eq!(std::fs::read_to_string(file).unwrap(), table);
}

#[test]
fn a_library_that_does_not_count_says_so() {
    let library = library("plain", &[]);
    let file = library.with_file_name("lock_event_counts");
    let out = counts_events(&library, &file);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "not counted: ENOTSUP\n");
    assert!(out.status.success());
    assert!(!file.exists());
}

#[test]
fn misuse_of_locks_with_checks_is_refused() {
    let library = library("plain", &[]);
    for lock in ["debug_mutex", "debug_spinlock"] {
        let out = built("debug.c", lock, &library).output().expect("the client");
        assert_eq!(String::from_utf8_lossy(&out.stdout), "done\n", "{lock}");
    }
}
