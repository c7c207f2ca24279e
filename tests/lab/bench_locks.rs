//! `lockwright-lab bench locks`: that it measures and says so; what it measures is no test's business.

use serde_json::Value;

use crate::harness::{run, tool};

/// The report of one section, after two short rounds.
fn smoke(section: &str) -> Value {
    let mut command = tool();
    command.args([
        "bench",
        "locks",
        "--smoke",
        "--only",
        section,
        "--json",
        "-",
        "-o",
        "/dev/null",
    ]);
    let run = run(command);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    serde_json::from_slice(&run.stdout).unwrap()
}

/// Rows of a report's only section.
fn rows(report: &Value) -> &[Value] {
    report["sections"][0]["results"].as_array().unwrap()
}

/// The times of a round, which must hold those of its workers.
fn is_possible(round: &Value) {
    let time = |name: &str| round["times"][name].as_u64().unwrap();
    assert!(time("elapsed_ns") >= time("longest_ns"), "{round:#}");
    assert!(time("cpu_ns") <= time("elapsed_ns") * time("cpus") * 101 / 100, "{round:#}");
}

fn numbers(list: &Value) -> impl Iterator<Item = u64> {
    list.as_array().unwrap().iter().map(|number| number.as_u64().unwrap())
}

#[test]
fn every_lock_is_measured() {
    let report = smoke("uncontended");
    assert!(report["machine"]["cpu"].is_string(), "{report:#}");
    for lock in
        ["glibc pthread_mutex", "std Mutex", "parking_lot Mutex", "tas", "mutex", "semaphore"]
    {
        let row = rows(&report).iter().find(|row| row["lock"] == lock);
        assert!(row.is_some_and(|row| row["ns"].as_f64() > Some(0.0)), "{lock}: {report:#}");
    }
}

#[test]
fn the_workers_of_the_trylock_take_their_own_times() {
    let report = smoke("trylock");
    let sections = report["sections"].as_array().unwrap();
    let [cleared, faulted] =
        [0, 1].map(|index| sections[index]["results"].as_array().unwrap().as_slice());
    for rows in [cleared, faulted] {
        let all = |threads| rows.iter().filter(|row| row["threads"] == threads).count();
        assert_eq!([1, 4, 40].map(all), [3; 3], "{report:#}");
    }
    for row in faulted {
        for round in row["rounds"].as_array().unwrap() {
            assert!(round["page_faults"].as_u64() >= row["pages"].as_u64(), "{row:#}");
        }
    }
    for row in cleared.iter().chain(faulted) {
        let rounds = row["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 2, "{row:#}");
        for round in rounds {
            is_possible(round);
            let attempts =
                numbers(&round["exchanges"]).sum::<u64>() + round["failed"].as_u64().unwrap();
            assert_eq!(attempts, row["pages"].as_u64().unwrap(), "{row:#}");
        }
    }
}

#[test]
fn what_the_threads_of_the_over_commit_share_lies_apart_and_adds_up() {
    let report = smoke("over-commit");
    for row in rows(&report) {
        for round in row["rounds"].as_array().unwrap() {
            is_possible(round);
            let [lock, counter, stop] =
                ["lock", "counter", "stop"].map(|name| round["lines"][name].as_u64().unwrap());
            assert!(lock != counter && counter != stop && stop != lock, "{round:#}");
            let [queued, unfair] = ["queued", "unfair"].map(|mode| round[mode].as_u64().unwrap());
            let operations: u64 = numbers(&round["operations"]).sum();
            assert!(queued + unfair <= operations, "{round:#}");
            assert_eq!(round["events"]["pv_lock_stealing"], unfair, "{round:#}");
            assert!(row["lock"] != "unfair" || queued == 0, "nothing queues: {round:#}");
            assert_eq!(numbers(&round["operations"]).count() as u64, row["threads"], "{row:#}");
        }
    }
}

#[test]
fn lock_events_are_shown_under_the_kernels_names() {
    let mut command = tool();
    command.args(["bench", "locks", "--smoke", "--only", "over-commit", "--events"]);
    let run = run(command);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let text = String::from_utf8(run.stdout).unwrap();
    let (_, events) = text.split_once("\nLock events: over-commit, ").unwrap();
    assert!(events.contains("event") && events.contains("single steal"), "{text}");
    assert!(events.lines().any(|line| line.starts_with("  pv_lock_stealing ")), "{text}");
}

#[test]
fn what_is_not_there_is_not_measured() {
    let mut command = tool();
    command.args(["bench", "locks", "--only", "nosuchlock"]);
    let run = run(command);
    assert_eq!(run.code(), 2, "{}", run.stderr);
    assert!(
        run.stderr.starts_with("error: ") && run.stderr.contains("nosuchlock"),
        "{}",
        run.stderr
    );
}
