//! `lockwright bench locks`: that it measures and says so; what it measures is no test's business.

use serde_json::Value;

use crate::harness::{run, tool};

#[test]
fn every_lock_is_measured() {
    let mut command = tool();
    command.args([
        "bench",
        "locks",
        "--smoke",
        "--only",
        "uncontended",
        "--json",
        "-",
        "-o",
        "/dev/null",
    ]);
    let run = run(command);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert!(report["machine"]["cpu"].is_string(), "{report:#}");
    let results = report["sections"][0]["results"].as_array().unwrap();
    for lock in
        ["glibc pthread_mutex", "std Mutex", "parking_lot Mutex", "tas", "mutex", "semaphore"]
    {
        let row = results.iter().find(|row| row["lock"] == lock);
        assert!(row.is_some_and(|row| row["ns"].as_f64() > Some(0.0)), "{lock}: {report:#}");
    }
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
