//! Threads of a known finding are kept apart, so that it does not come.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Run, Scratch, check_with, ledgers, program, run, tool, under};

/// The directory with the ledgers of a run of this.
fn kept(scratch: &Scratch, what: &str) -> PathBuf {
    let mut check = tool();
    check.args(["check", "--keep", "--ledger-dir"]).arg(scratch.path());
    check.arg("--").arg(program("confirmed.c")).arg(what);
    run(check);
    ledgers(scratch.path()).remove(0).parent().unwrap().to_owned()
}

fn is_deadlocked(run: &Run) -> bool {
    run.findings().iter().any(|finding: &Value| finding["grade"] == "deadlocked")
}

#[test]
fn deadlocks_that_come_with_a_seed_do_not_come() {
    let scratch = Scratch::new();
    let from = kept(&scratch, "at_once");
    let from = from.to_str().unwrap();
    let run = |options: &[&str]| check_with(options, program("confirmed.c")).arg("at_once").run();
    let mut came = 0;
    for seed in ["1", "2", "3", "4", "5", "6"] {
        came += u32::from(is_deadlocked(&run(&["--perturb", seed])));
        let avoided = run(&["--perturb", seed, "--avoid", from]);
        assert!(!is_deadlocked(&avoided), "{}", avoided.stderr);
        assert_eq!(avoided.text(), "done\n");
        let said = "note: kept apart: `left` and `right` are taken in both orders: 2 threads at its places";
        assert!(avoided.stderr.contains(said), "{}", avoided.stderr);
    }
    assert!(came > 0, "none came without it, either");
}

#[test]
fn threads_that_come_again_and_again_are_served_in_turn() {
    let scratch = Scratch::new();
    // That it deadlocks is one way to know of it.
    let from = kept(&scratch, "busy");
    let options = ["--avoid", from.to_str().unwrap()];
    for command in ["check", "run"] {
        let run = under(command, &options, program("confirmed.c")).arg("busy").run();
        assert!(!is_deadlocked(&run), "{}", run.stderr);
        assert_eq!(run.text(), "done\n");
        assert!(run.stderr.contains(": 100 threads at its places"), "{}", run.stderr);
        assert!(!run.stderr.contains("went on since"), "{}", run.stderr);
    }
}

#[test]
fn who_is_needed_inside_does_not_wait() {
    let scratch = Scratch::new();
    let from = kept(&scratch, "mutexes");
    let options = ["--avoid", from.to_str().unwrap()];
    let run = check_with(&options, program("confirmed.c")).arg("needed").run();
    assert_eq!(run.text(), "done\n");
    let said = "0 went on since their time was up, 1 since another thread waited for a lock";
    assert!(run.stderr.contains(said), "{}", run.stderr);
}

#[test]
fn what_cannot_be_avoided_is_refused() {
    let scratch = Scratch::new();
    let from = kept(&scratch, "joined");
    let from = from.to_str().unwrap();
    let refused = |name: &str, why: &str| {
        let run = check_with(&["--avoid", name], program("confirmed.c")).run();
        assert_ne!(run.code(), 0, "{name}");
        assert!(run.stderr.contains(why), "{}", run.stderr);
        assert_eq!(run.text(), "", "the program was not started");
    };
    refused(from, "threads cannot be kept apart for this finding");
    refused(&format!("{from}#zz"), "has the fingerprint zz");
    refused(scratch.join("nothing").to_str().unwrap(), "nothing");
    let scratch = Scratch::new();
    let from = kept(&scratch, "nothing");
    refused(from.to_str().unwrap(), "there is no finding to avoid");
    // Two places each, and there is room for 16.
    let scratch = Scratch::new();
    let from = kept(&scratch, "mutexes");
    let options = [["--avoid", from.to_str().unwrap()]; 9].concat();
    let run = check_with(&options, program("confirmed.c")).run();
    assert!(run.stderr.contains("they have 18 places, and 16 can be watched"), "{}", run.stderr);
    assert_eq!(run.text(), "");
}
