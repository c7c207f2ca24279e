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

/// A client, linked with a library, by the name of what it is for: that of the lock, unless
/// `defines` say otherwise.
fn built(source: &str, what: &str, defines: &[&str], library: &Path) -> Command {
    let program = library.with_file_name(format!("{source}-{what}"));
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]);
    cc.arg(here().join("../../include")).arg(here().join("tests/clients").join(source));
    if defines.is_empty() {
        cc.arg(format!("-DNAME={what}"));
    }
    cc.args(defines).arg(library).arg("-o").arg(&program);
    assert!(cc.status().expect("cc").success(), "{cc:?} failed");
    Command::new(program)
}

fn counts_events(library: &Path, file: &Path) -> Output {
    let mut client = built("lock_events.c", "rtmutex", &[], library);
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
    let clients = ["debug_mutex", "debug_rtmutex", "debug_spinlock"].map(|lock| ("debug.c", lock));
    for (source, lock) in clients.into_iter().chain([("debug_rwsem.c", "debug_rwsem")]) {
        let out = built(source, lock, &[], &library).output().expect("the client");
        assert_eq!(String::from_utf8_lossy(&out.stdout), "done\n", "{lock}");
    }
}

/// A lock, a name for the way to take it, and what its functions are called.
const TAKEN_WITH_SIGNALS_BLOCKED: &[(&str, &str, &[&str])] = &[
    ("tas", "tas", &[]),
    ("ticket", "ticket", &[]),
    ("mcs", "mcs", &[]),
    ("qspinlock", "qspinlock", &[]),
    ("pvqspinlock", "pvqspinlock", &[]),
    ("pvqspinlock_single_steal", "pvqspinlock_single_steal", &[]),
    ("pvqspinlock_unfair", "pvqspinlock_unfair", &[]),
    ("debug_spinlock", "debug_spinlock", &[]),
    ("qrwlock", "qrwlock-write", &WRITE),
    // Readers do not keep each other out: an attempt fails only where somebody writes.
    (
        "qrwlock",
        "qrwlock-read",
        &["-DTAKE=_read_lock", "-DTRY=_read_trylock", "-DGIVE=_read_unlock", "-DSHARED"],
    ),
    ("seqlock", "seqlock", &WRITE),
];

const WRITE: [&str; 3] = ["-DTAKE=_write_lock", "-DTRY=_write_trylock", "-DGIVE=_write_unlock"];

#[test]
fn handlers_wait_for_locks_taken_with_signals_blocked() {
    let library = library("plain", &[]);
    for (lock, way, defines) in TAKEN_WITH_SIGNALS_BLOCKED {
        let mut client =
            built("irq.c", way, &[&[&*format!("-DNAME={lock}")], *defines].concat(), &library);
        let out = client.output().expect("the client");
        assert_eq!(String::from_utf8_lossy(&out.stdout), "done\n", "{way}");
    }
}
