//! Futexes that programs wait at by themselves: their waits are counted exactly, sorted by what
//! they are for, and charged to the threads that ended them; a hang is explained; real programs run
//! as ever.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use lockwright_analysis::finding::Frame;
use lockwright_analysis::finding::futex::FutexUse;
use lockwright_analysis::lockmeter::model::{Futex, Wait};
use lockwright_analysis::symbolize::wrapper::first_own_frame;
use serde_json::Value;

use crate::harness::{
    build, check, installed, native, report_again, rust_program, signal, target_tmp, tests_dir,
    under, until_asleep,
};
use crate::meter::run::{EXACT, How, Metered, meter};

/// As [`EXACT`], of locks of Rust's std by their waits alone.
const UNPLACED: How = How { options: &["--no-inlined"], ..EXACT };

/// Waits at the place of a function.
fn waits_in<'r>(run: &'r Metered, function: &str) -> Vec<(&'r Wait, &'r Futex)> {
    let is_there = |wait: &&Wait| place(&wait.stack).is_some_and(|name| name.contains(function));
    let waits = run.report.waits.iter().filter(is_there);
    waits.filter_map(|wait| Some((wait, wait.futex.as_ref()?))).collect()
}

fn place(stack: &[Frame]) -> Option<&str> {
    first_own_frame(stack)?.function.as_deref()
}

/// That the waits at `function` are so many, all slept, and were ended by `waker` alone.
fn are_exactly(run: &Metered, function: &str, so_many: u64, waker: &str) -> Futex {
    let waits = waits_in(run, function);
    let [(wait, futex)] = waits.as_slice() else { panic!("{function}: {waits:#?}") };
    assert_eq!((wait.waits, wait.blocked, wait.timeouts), (so_many, so_many, 0), "{wait:#?}");
    assert_eq!((futex.refused, futex.interrupted), (0, 0), "{futex:#?}");
    assert_eq!(wait.wait.count, so_many, "{wait:#?}");
    assert_eq!(wait.wait.histogram.count(), so_many, "{wait:#?}");
    let [by] = wait.wakers.as_slice() else { panic!("{function}: {wait:#?}") };
    assert_eq!(by.count, so_many, "{futex:#?}");
    assert!(place(&by.stack).is_some_and(|name| name.contains(waker)), "{futex:#?}");
    assert!(by.ns <= wait.wait.total_ns * 1.001, "{wait:#?}");
    (*futex).clone()
}

#[test]
fn waits_for_a_mutex_of_rust_std_are_counted() {
    for how in [UNPLACED, How { command: "run", ..UNPLACED }] {
        let run = meter(how, &rust_program("futex_std.rs"), &[]);
        assert_eq!(run.run.text(), "50\n", "{}", run.run.stderr);
        let futex = are_exactly(&run, "wants", 50, "gives_up");
        assert_eq!(futex.kind.used_as, FutexUse::Lock);
        assert_eq!(futex.kind.of, Some("std::sync::Mutex"));
        assert!(futex.name.as_deref().is_some_and(|name| name.contains("SHARED")), "{futex:#?}");
        // A channel's receiver that waits for a message waits for no lock.
        let parked = run.report.waits.iter().filter(|wait| {
            wait.futex.as_ref().is_some_and(|futex| futex.kind.used_as == FutexUse::Park)
        });
        assert!(parked.clone().count() > 0 && parked.clone().all(|wait| !wait.is_for_lock()));
        // No lock is seen whole, and no time is counted as waited for one.
        assert_eq!(run.report.total().contended, 0);
    }
}

#[test]
fn the_report_says_what_is_seen_of_locks() {
    let run = under("meter", &["--no-inlined"], rust_program("futex_std.rs")).run();
    for words in [
        "seen whole: no lock; by their waits alone: ",
        "std::sync::Mutex (",
        "FUTEX LOCKS, whose waits are seen, but not their acquisitions nor holds",
        "lock (std::sync::Mutex) `futex_std::SHARED",
        "     50 woken by futex_std::gives_up",
    ] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
    let sections: Vec<&str> = run.stderr.split("\nWAITS ").collect();
    assert!(!sections[0].contains("parked ("), "waits for work are no contention: {}", run.stderr);
}

/// `futex_parking_lot.rs` with the parking_lot that the workspace has.
pub(crate) fn parking_lot() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = tests_dir().join("..").canonicalize().expect("the source tree");
        let folder = target_tmp().join("futex_parking_lot");
        fs::create_dir_all(folder.join("src")).expect("folder");
        let source = include_str!("../../programs/futex_parking_lot.rs");
        fs::write(folder.join("src/main.rs"), source).expect("written");
        let manifest = "[package]\nname = \"futex_parking_lot\"\nversion = \"0.0.0\"\n\
            edition = \"2024\"\n[workspace]\n[dependencies]\nparking_lot = \"0.13\"\n\
            [profile.dev]\nopt-level = 1\n";
        fs::write(folder.join("Cargo.toml"), manifest).expect("written");
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("Cargo.lock");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline"]).current_dir(&folder);
        cargo.args(["--config", "build.rustflags=['--cap-lints=allow']"]);
        cargo.arg("--target-dir").arg(folder.join("target"));
        let status = cargo.status().expect("cargo");
        assert!(status.success(), "{cargo:?} failed");
        folder.join("target/debug/futex_parking_lot")
    })
}

#[test]
fn parking_lot_0_13_is_watched() {
    let run = check(parking_lot()).run();
    assert_eq!(
        (run.text().as_str(), run.verdicts(), run.code()),
        ("50\n", vec![], 0),
        "{}",
        run.stderr
    );
    assert!(run.count("acquisitions") > 100, "{}", run.stderr);
}

#[test]
fn waits_for_a_mutex_of_parking_lot_are_counted() {
    let run = meter(UNPLACED, parking_lot(), &[]);
    assert_eq!(run.run.text(), "50\n", "{}", run.run.stderr);
    let futex = are_exactly(&run, "wants", 50, "gives_up");
    assert_eq!(futex.kind.used_as, FutexUse::Lock);
    assert_eq!(futex.kind.of, Some("parking_lot::Mutex"));
    assert_eq!(futex.addr, 0, "a thread waits at one of its own");
}

#[test]
fn waits_of_cxx_atomics_are_counted() {
    let run = meter(EXACT, &build("futex_atomic.cc", &["-std=c++20", "-O1"]), &[]);
    assert_eq!(run.run.text(), "the end\n", "{}", run.run.stderr);
    let futex = are_exactly(&run, "waits", 20, "notifies");
    assert_eq!(futex.kind.used_as, FutexUse::Unknown);
    let futex = are_exactly(&run, "acquires", 20, "main");
    assert_ne!(futex.kind.used_as, FutexUse::Lock);
    assert!(run.report.waits.iter().all(|wait| !wait.is_for_lock()));
}

#[test]
fn waits_for_a_lock_of_the_kernels_own_are_counted() {
    let program = build("futex_pi.c", &["-O1"]);
    let run = meter(EXACT, &program, &[]);
    assert_eq!(run.run.text(), "the end\n", "{}", run.run.stderr);
    let futex = are_exactly(&run, "wants", 20, "gives_up");
    assert_eq!(futex.kind.used_as, FutexUse::Lock);
    assert!(futex.name.as_deref() == Some("word"), "{futex:#?}");
}

#[test]
fn a_word_that_says_who_holds_the_lock_is_believed() {
    let program = build("futex_pi.c", &["-O1"]);
    for command in ["check", "meter"] {
        let running = under(command, &["--keep"], &program).arg("hang").spawn();
        let pid = running.program_id();
        until_asleep(pid, 2);
        signal(pid, libc::SIGKILL);
        let run = running.wait();
        let whom = match command {
            "check" => "its word has the id of thread 1".to_owned(),
            _ => format!("its word has the id of thread {pid}"),
        };
        assert!(run.stderr.contains("lock (a priority-inheriting futex)"), "{}", run.stderr);
        assert!(run.stderr.contains(&whom), "{whom}: {}", run.stderr);
        assert!(run.stderr.contains("in wants ("), "{}", run.stderr);
    }
}

/// The threads of a report that wait at futexes: function, what for, and whether it is known who
/// woke one there.
fn stuck(report: &Value) -> Vec<(String, String, bool)> {
    let one = |waiter: &Value| {
        let futex = &waiter["futex"];
        let frames = waiter["stack"].as_array().unwrap().iter();
        let names = frames.filter_map(|frame| frame["function"].as_str());
        let place = names.map(str::to_owned).find(|name| name.contains("futex_std::"));
        let what = format!("{} {}", futex["used_as"], futex["of"]);
        (place.unwrap_or_default(), what, !futex["woken"].is_null())
    };
    let waiting = report["waiting"].as_array().unwrap().iter();
    let mut all: Vec<_> = waiting.filter(|w| w["kind"] == "futex").map(one).collect();
    all.sort();
    all
}

#[test]
fn a_hung_program_of_rust_std_is_explained() {
    let running = under("check", &["--keep", "--no-inlined"], rust_program("futex_std.rs"))
        .arg("hang")
        .spawn();
    let pid = running.program_id();
    until_asleep(pid, 3);
    let (live, _) = report_again(&running);
    let place = |name: &str| format!("futex_std::{name}");
    let what = "\"lock\" \"std::sync::Mutex\"".to_owned();
    let expected =
        [(place("left_then_right"), what.clone(), false), (place("right_then_left"), what, false)];
    assert_eq!(stuck(&live), expected, "{live:#}");
    signal(pid, libc::SIGKILL);
    let run = running.wait();
    assert_eq!(stuck(run.report()), expected, "{}", run.stderr);
    assert_eq!(run.verdicts(), [], "nothing is called a deadlock that is not known to be one");
    for words in [
        "waits for a lock (std::sync::Mutex), futex at 0x",
        "in futex_std::left_then_right",
        "in futex_std::right_then_left",
        "who holds it is not known: its acquisitions are not seen",
        "nobody has been seen to wake a waiter there",
    ] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
}

/// Programs of Debian that wait at futexes, each with arguments.
#[test]
fn real_programs_run_as_ever() {
    let root = tests_dir();
    let root = root.to_str().expect("a path");
    for (names, package, arguments) in [
        (&["rg"] as &[&str], "ripgrep", &["--sort=path", "-c", "pthread_mutex", root] as &[&str]),
        (&["fdfind", "fd"], "fd-find", &["-e", "c", ".", root]),
    ] {
        let Some(program) = installed(names, package) else { return };
        let lines = |text: String| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let expected = native(&program).args(arguments).run();
        for command in ["check", "meter", "run"] {
            let run = under(command, &[] as &[&str], &program).args(arguments).run();
            assert_eq!(lines(run.text()), lines(expected.text()), "{}", run.stderr);
            assert_eq!(run.code(), expected.code(), "{}", run.stderr);
        }
        let run = check(&program).args(arguments).run();
        assert_eq!(run.verdicts(), [], "{}", run.stderr);
    }
}
