//! `lockwright-lab torture`: broken locks fail, correct ones do not, and the report says so. Runs are
//! bounded by acquisitions, not by time.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Run, run, tool};

/// So many acquisitions of each thread, and nothing that takes long.
fn torture(name: &str, acquisitions: u32, more: &[&str]) -> Command {
    let mut command = tool();
    command.args(["torture", name, "--acquisitions", &acquisitions.to_string()]);
    command.args(["--nwriters_stress", "4"]);
    command.args(["--nreaders_stress", "2", "--long_hold", "1"]);
    command.args(["--shuffle_interval", "0.02", "--stutter", "0.02", "--seed", "7"]).args(more);
    command
}

fn stdout(run: &Run) -> String {
    String::from_utf8(run.stdout.clone()).unwrap()
}

#[test]
fn the_table_of_types_begins_with_a_broken_lock() {
    let mut command = tool();
    command.args(["torture", "--list"]);
    let run = run(command);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let list = stdout(&run);
    assert!(list.starts_with("lock_busted "), "{list}");
    for name in ["spin_lock", "rw_lock", "mutex_lock", "rwsem_lock", "rtmutex_lock", "ww"] {
        assert!(list.lines().any(|line| line.split(' ').next() == Some(name)), "{name}: {list}");
    }
}

#[test]
fn lock_busted_fails() {
    let run = run(torture("lock_busted", 20_000, &[]));
    assert_eq!(run.code(), 101, "{}", stdout(&run));
    let text = stdout(&run);
    assert!(text.contains("Writes:  Total: 80000  Max/Min: 20000/20000 "), "{text}");
    assert!(text.contains("!!!") && text.ends_with("End of test: FAILURE\n"), "{text}");
}

#[test]
fn a_lock_that_is_touched_after_its_release_fails() {
    let run = run(torture("lock_busted_touch", 200, &[]));
    assert_eq!(run.code(), 101, "{}", stdout(&run));
}

#[test]
fn sound_locks_succeed() {
    for name in ["spin_lock", "pv_spin_lock", "rw_lock", "mutex_lock", "rwsem_lock", "rtmutex_lock"]
    {
        let more = ["--signals", "--stops", "--nested_locks", "3", "--onoff_interval", "0.02"];
        let run = run(torture(name, 200, &more));
        let text = stdout(&run);
        assert_eq!(run.code(), 0, "{text}\n{}", run.stderr);
        assert!(text.contains("nwriters_stress=4") && text.contains("seed=7"), "{text}");
        assert!(text.contains("\nWrites:  Total: 800  Max/Min: 200/200   Fail: 0 "), "{text}");
        assert!(run.stderr.contains("cannot take CPUs off line"), "{}", run.stderr);
    }
}

#[test]
fn the_outcome_is_there_for_machines() {
    let run = run(torture("rwsem_lock", 200, &["--json", "-", "-o", "/dev/null"]));
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(report["ok"], true, "{report:#}");
    assert_eq!(report["parameters"]["seed"], 7, "{report:#}");
    assert_eq!(report["statistics"]["writes"]["acquired"], serde_json::json!(vec![200; 4]));
    assert_eq!(report["statistics"]["reads"]["acquired"], serde_json::json!(vec![200; 2]));
}

#[test]
fn what_does_nothing_is_told() {
    let run = run(torture("spin_lock", 200, &["--rt_boost", "2"]));
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(run.stderr.contains("`spin_lock` has no readers"), "{}", run.stderr);
    assert!(run.stderr.contains("rt_boost does nothing to `spin_lock`"), "{}", run.stderr);
}

#[test]
fn the_kernels_tests_of_ww_mutexes_pass_and_find_what_is_none() {
    let all = |name| {
        let mut command = tool();
        command.args(["torture", name, "--acquisitions", "5"]);
        run(command)
    };
    let sound = all("ww");
    assert_eq!(sound.code(), 0, "{}", stdout(&sound));
    assert!(stdout(&sound).contains("abba, trylock, resolve       ok\n"), "{}", stdout(&sound));
    let busted = all("ww_busted");
    assert_eq!(busted.code(), 101, "{}", stdout(&busted));
    assert!(stdout(&busted).contains("missed ABBA deadlock"), "{}", stdout(&busted));
}

#[test]
fn an_unknown_type_is_refused() {
    let mut command = tool();
    command.args(["torture", "nosuchlock"]);
    let run = run(command);
    assert_eq!(run.code(), 2, "{}", run.stderr);
    assert!(run.stderr.contains("nosuchlock") && run.stderr.contains("--list"), "{}", run.stderr);
}

/// As the kernel's ends when its module is removed.
#[test]
fn an_interrupt_ends_it_with_its_statistics() {
    let mut command = tool();
    command.args(["torture", "mutex_lock", "--shutdown_secs", "0", "--stat_interval", "0.01"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // By the second line it is under way, and takes signals itself.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.nth(1).unwrap().unwrap().starts_with("Writes:  Total: "));
    // SAFETY: a child that was not waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    let last = lines.map(|line| line.unwrap()).last();
    assert_eq!(last.as_deref(), Some("mutex_lock-torture:--- End of test: SUCCESS"));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
