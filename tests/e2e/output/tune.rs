//! `lockwright tune`: its results for commands that print their own figures. No test depends on how
//! long anything takes.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Scratch, is_alive, run, signal, spawn, tool, until};

/// A comparison of native runs alone, by what the script prints as `ops N`.
fn tune(options: &[&str], script: &str) -> Command {
    tune_locks("native", options, script)
}

fn tune_locks(locks: &str, options: &[&str], script: &str) -> Command {
    let mut command = tool();
    command.args(["tune", "--locks", locks, "--metric", "ops ([0-9.]+)", "--higher"]);
    command.args(options).args(["--", "sh", "-c", script]);
    command
}

/// The swap library's environment tells the script which lock it has.
#[test]
fn the_lock_that_is_faster_is_found() {
    let script = "case ${LOCKWRIGHT_SWAP:-native} in hybrid) echo ops 200;; \
                  qspinlock) echo ops 50;; *) echo ops 100;; esac";
    let scratch = Scratch::new();
    let json = scratch.join("tune.json");
    let options = ["--json", json.to_str().unwrap()];
    let run = run(tune_locks("qspinlock,hybrid,tas", &options, script));
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let finding = "`hybrid` is the fastest: 2.00 times as fast as the C library's locks";
    assert!(run.text().starts_with(finding), "{}", run.text());
    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let verdicts: Vec<&Value> = (2..5).map(|arm| &report["arms"][arm]["verdict"]).collect();
    assert_eq!(verdicts, ["slower", "faster", "no-difference"], "{report:#}");
    assert_eq!(report["fastest"], "hybrid");
}

#[test]
fn a_lock_that_fails_is_named() {
    let script = "echo ops 1; test \"$LOCKWRIGHT_SWAP\" != tas";
    let failed = run(tune_locks("hybrid,tas", &[], script));
    assert_eq!(failed.code(), 1, "{}", failed.stderr);
    let told = "the run with `tas` in round 1 failed: exit status: 1";
    assert!(failed.stderr.contains(told), "{}", failed.stderr);
}

#[test]
fn an_unknown_lock_is_told_before_anything_runs() {
    let scratch = Scratch::new();
    let ran = scratch.join("ran");
    let unknown = run(tune_locks("hybrid,nosuch", &[], &format!("touch {}", ran.display())));
    assert_eq!(unknown.code(), 2, "{}", unknown.stderr);
    assert!(unknown.stderr.contains("there is no lock `nosuch`"), "{}", unknown.stderr);
    assert!(!ran.exists());
}

#[test]
fn runs_that_are_equal_do_not_differ() {
    let scratch = Scratch::new();
    let json = scratch.join("tune.json");
    let run = run(tune(&["--json", json.to_str().unwrap()], "echo ops 1; echo ops 250 >&2"));
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(run.text().contains("differ by a factor of 1.00 to 1.00."), "{}", run.text());
    assert!(!run.text().contains("ops") && !run.stderr.contains("ops"), "what it prints is kept");
    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(report["arms"][1]["values"], serde_json::json!(vec![250.0; 10]), "{report:#}");
    assert_eq!((&report["rounds"], &report["fastest"]), (&10.into(), &Value::Null));
}

#[test]
fn a_run_that_fails_is_told_with_its_words() {
    let failed = run(tune(&[], "echo ops 1; echo because >&2; exit 3"));
    assert_eq!(failed.code(), 1, "{}", failed.stderr);
    for words in ["the run with `native", "in round 1 failed: exit status: 3", "because"] {
        assert!(failed.stderr.contains(words), "{words}: {}", failed.stderr);
    }
    let silent = run(tune(&[], "true"));
    assert_eq!(silent.code(), 1);
    assert!(silent.stderr.contains("printed nothing that"), "{}", silent.stderr);
    let mut missing = tool();
    missing.args(["tune", "--", "no-such-command"]);
    assert_eq!(run(missing).code(), 127);
}

#[test]
fn the_time_is_compared_without_a_metric() {
    let mut command = tool();
    command.args(["tune", "--locks", "native", "--rounds", "2", "--", "true"]);
    let run = run(command);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(run.text().contains("CPU time"), "{}", run.text());
}

/// The third run, hence the first of the second round, never ends by itself.
#[test]
fn an_interrupt_ends_the_command_and_leaves_what_was_measured() {
    let scratch = Scratch::new();
    let [runs, blocked] = ["runs", "blocked"].map(|name| scratch.join(name));
    let script = format!(
        "echo x >> {runs}; if test $(wc -l < {runs}) -gt 2; then echo $$ > {blocked}.new; \
         mv {blocked}.new {blocked}; sleep 1000; exit 1; fi; echo ops 7",
        runs = runs.display(),
        blocked = blocked.display()
    );
    let running = spawn(tune(&[], &script));
    let pid = until("the third run", || fs::read_to_string(&blocked).ok());
    signal(running.id(), libc::SIGINT);
    let run = running.wait();
    assert_eq!(run.code(), 128 + libc::SIGINT, "{}", run.stderr);
    assert!(run.text().starts_with("interrupted; 1 of 10 rounds are whole\n"), "{}", run.text());
    assert!(run.text().contains("differ by a factor of 1.00 to 1.00."), "{}", run.text());
    let pid = pid.trim().parse().unwrap();
    until("the end of the command", || (!is_alive(pid)).then_some(()));
}
