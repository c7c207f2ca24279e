//! `lockwright-lab bench locks`, sections `mutexes` and `rwlocks`: that all locks are run in all cells,
//! that their figures fit each other, and that what is no lock is found; what it measures is no
//! test's business.

use serde_json::Value;

use crate::harness::{Run, Scratch, build, run, tool};

/// `bench locks` with these options, and its report.
fn bench(options: &[&str]) -> (Run, Scratch) {
    let scratch = Scratch::new();
    let mut command = tool();
    command.args(["bench", "locks"]).args(options).arg("--json").arg(scratch.join("report.json"));
    (run(command), scratch)
}

/// The report of a run that must succeed.
fn report(options: &[&str]) -> (Value, String) {
    let (run, scratch) = bench(options);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let text = std::fs::read(scratch.join("report.json")).unwrap();
    (serde_json::from_slice(&text).unwrap(), String::from_utf8(run.stdout).unwrap() + &run.stderr)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// The cells of a report's first section.
fn cells(report: &Value) -> &[Value] {
    list(&report["sections"][0]["results"]["cells"])
}

/// Names of the locks of a cell.
fn locks(cell: &Value) -> Vec<&str> {
    list(&cell["rows"]).iter().map(|row| row["lock"].as_str().unwrap()).collect()
}

/// Whether a round's figures fit its cell and each other.
fn fits(cell: &Value, round: &Value) {
    let threads = cell["cell"]["threads"].as_u64().unwrap();
    let operations: Vec<_> =
        list(&round["operations"]).iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(operations.len() as u64, threads, "{round:#}");
    assert!(operations.iter().all(|n| *n > 0), "{round:#}");
    let time = |name: &str| round["times"][name].as_u64().unwrap();
    assert!(time("elapsed_ns") >= time("longest_ns"), "{round:#}");
    let waits = |name: &str| round["waits"][name].as_u64().unwrap();
    assert!((1..=operations.iter().sum()).contains(&waits("timed")), "{round:#}");
    let order = ["p50", "p99", "p99_9", "max"].map(waits);
    assert!(order.is_sorted(), "{round:#}");
}

#[test]
fn some_cells_stand_for_all_and_it_is_said() {
    let few = ["--smoke", "--only", "mutexes", "--among", "std", "--cells"];
    let (some, text) = report(&[&few[..], &["3"]].concat());
    assert_eq!(cells(&some).len(), 3);
    assert!(text.contains("3 of the 4 cells of the sweep, chosen at random (seed 1)"), "{text}");
    let (all, text) = report(&[&few[..], &["5"]].concat());
    assert_eq!(cells(&all).len(), 4);
    assert!(!text.contains("chosen at random (seed"), "{text}");
}

#[test]
fn every_mutex_runs_in_every_cell() {
    let (report, text) = report(&["--smoke", "--only", "mutexes"]);
    let cells = cells(&report);
    assert_eq!(cells.len(), 4, "two lengths, two numbers of threads: {report:#}");
    for cell in cells {
        let locks = locks(cell);
        for lock in ["glibc normal", "glibc adaptive", "std", "parking_lot", "usync", "mutex"] {
            assert!(locks.contains(&lock), "{lock}: {locks:?}");
        }
        assert!(locks.contains(&cell["best"].as_str().unwrap()), "{cell:#}");
        for row in list(&cell["rows"]) {
            let ratio = |name: &str| row["ratio"][name].as_f64().unwrap();
            assert!(ratio("low") <= ratio("median") && ratio("median") <= ratio("high"), "{row:#}");
            assert_eq!(list(&row["rounds"]).len(), 2, "{row:#}");
            list(&row["rounds"]).iter().for_each(|round| fits(cell, round));
            // Counted, or the report says why not.
            let why = &report["sections"][0]["results"]["futex_not_counted"];
            assert!(row["counted"]["futex_calls"].is_u64() != why.is_string(), "{row:#}, {why}");
        }
    }
    assert!(text.contains("hybrid_mutex does 0.97 of the best of the others in "), "{text}");
    assert!(text.contains("Control: one lock under two names"), "{text}");
}

#[test]
fn every_reader_writer_lock_runs() {
    let (report, text) = report(&["--smoke", "--only", "rwlocks"]);
    for cell in cells(&report) {
        assert_eq!(cell["cell"]["reads"], 50, "{cell:#}");
        for lock in
            ["std RwLock", "glibc rwlock, writers", "hybrid_rwlock", "rwsem", "percpu_rwsem"]
        {
            assert!(locks(cell).contains(&lock), "{lock}: {cell:#}");
        }
    }
    assert!(text.contains("50 % reads"), "{text}");
}

#[test]
fn what_is_swept_over_can_be_chosen() {
    let (report, _) = report(&[
        "--rounds=1",
        "--interval=0.1",
        "--only=mutexes",
        "--among=std,parking",
        "--threads=3",
        "--sections=100ns,1us",
        "--gaps=2",
        "--locks=5",
        "--hog=both",
        "--seed=9",
    ]);
    let cells = cells(&report);
    let expected = |cell: &Value| (&cell["threads"] == 3) && (&cell["gap"] == 2);
    assert!(cells.iter().all(|cell| expected(&cell["cell"])), "{report:#}");
    assert_eq!(cells.len(), 4, "two lengths, with and without a hog: {report:#}");
    assert_eq!(locks(&cells[0]), ["std", "parking_lot"]);
    assert_eq!(report["sections"][0]["results"]["seed"], 9);
}

#[test]
fn throughput_is_plotted_over_threads() {
    let scratch = Scratch::new();
    let dir = scratch.join("plots");
    let plots = dir.to_str().unwrap();
    report(&["--smoke", "--only=mutexes", "--among=std,parking", "--plot", plots]);
    let svg =
        std::fs::read_to_string(dir.join("mutexes-100ns-gap1-locks2-reads0-hog.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("parking_lot"), "{svg}");
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 2, "one for each length");
}

#[test]
fn plots_that_cannot_be_written_are_told_before_anything_is_measured() {
    let (run, _scratch) = bench(&["--sweep=full", "--plot=/proc/none"]);
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert!(run.stderr.contains("/proc/none") && run.stderr.contains("--plot"), "{}", run.stderr);
}

#[test]
fn libraries_that_are_missing_are_told() {
    let (report, text) = report(&["--smoke", "--only=mutexes", "--among=std"]);
    let missing = list(&report["missing"]);
    assert_eq!(missing.len(), 4, "{report:#}");
    for why in missing {
        assert!(why.as_str().unwrap().contains("cargo xtask bench peers"), "{why}");
    }
    assert!(text.contains("Without the locks of absl: "), "{text}");
}

/// A planted library: what is no lock.
#[test]
fn a_library_of_what_is_no_lock_is_found() {
    let library = build("bench_no_lock.c", &["-shared", "-fPIC"]);
    let scratch = Scratch::new();
    std::fs::copy(library, scratch.join("nsync.so")).unwrap();
    let peers = scratch.path().to_str().unwrap();
    let begin = ["--among=planted", "--interval=0.5", "--peers", peers, "--only"];
    for section in ["mutexes", "rwlocks"] {
        let four = [section, "--rounds=50", "--threads=4", "--sections=10us", "--gaps=0"];
        let (run, _scratch) = bench(&[&begin[..], &four].concat());
        assert_eq!(run.code(), 101, "{}", run.stderr);
        assert!(run.stderr.contains("`planted"), "{}", run.stderr);
        assert!(run.stderr.contains("does not exclude"), "{}", run.stderr);
        // One thread excludes itself, whatever the lock.
        report(&[&begin[..], &[section, "--rounds=1", "--threads=1"]].concat());
    }
}

#[test]
fn a_library_of_another_version_is_refused() {
    let other = build("bench_no_lock.c", &["-shared", "-fPIC", "-DOTHER_VERSION"]);
    let scratch = Scratch::new();
    std::fs::copy(other, scratch.join("ck.so")).unwrap();
    let peers = scratch.path().to_str().unwrap();
    let options = ["--smoke", "--only=mutexes", "--among=std", "--peers", peers, "--complete"];
    let (run, _scratch) = bench(&options);
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert!(run.stderr.contains("are missing"), "{}", run.stderr);
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("ck.so: not of this version"), "{text}");
}
