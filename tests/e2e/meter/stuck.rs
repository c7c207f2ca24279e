//! A program that hangs and is killed: the report says what each thread still waits for, and which
//! thread has it.

use std::time::Duration;

use serde_json::Value;

use crate::harness::{
    PATIENCE, Running, program, report_again, signal, under, until, until_asleep,
};

/// The function where somebody waits for a lock or something else, or holds a lock.
fn function<'v>(measured: &'v Value, lock: &Value, site: &Value, wait: &Value) -> &'v str {
    let at = |index: &Value| index.as_u64().expect("an index") as usize;
    let place = match wait {
        Value::Null => &measured["locks"][at(lock)]["sites"][at(site)],
        wait => &measured["waits"][at(wait)],
    };
    place["stack"][0]["function"].as_str().expect("a name")
}

/// Where each thread waits, for which lock, and who took that where.
fn waiting(measured: &Value) -> Vec<(&str, Option<&str>, Vec<&str>)> {
    let of = |waiter: &'_ Value| {
        let (lock, site, wait) = (&waiter["lock"], &waiter["site"], &waiter["wait"]);
        let name = lock.as_u64().map(|lock| &measured["locks"][lock as usize]["name"]);
        let holders = waiter["holders"].as_array().unwrap().iter();
        let holders = holders.map(|holder| function(measured, lock, &holder["site"], &Value::Null));
        (function(measured, lock, site, wait), name.and_then(Value::as_str), holders.collect())
    };
    let mut all: Vec<_> = measured["waiting"].as_array().unwrap().iter().map(of).collect();
    all.sort_unstable();
    all
}

/// Runs it under `meter` until it hangs, and sends `number` to the program, or else to the tool.
fn hang(number: i32, to_program: bool) -> Running {
    let mut running = under("meter", &["--keep"], program("meter_stuck.c")).spawn();
    let pid = running.program_id();
    // Nothing else shows that it cannot go on.
    until_asleep(pid, 4);
    std::thread::sleep(HANGS);
    signal(if to_program { pid } else { running.id() }, number);
    until("the end", || (!running.is_running()).then_some(()));
    // A tool that was killed has left it alone.
    signal(pid, libc::SIGKILL);
    running
}

/// How long the program hangs before it is killed.
const HANGS: Duration = Duration::from_millis(300);

/// All of the time that the program ran is there, and of the waits.
fn check_times(measured: &Value) {
    let elapsed = measured["elapsed_ns"].as_f64().unwrap();
    assert!(elapsed >= HANGS.as_nanos() as f64, "{elapsed}");
    for waiter in measured["waiting"].as_array().unwrap() {
        let [begun, waited] = ["begun_ns", "waited_ns"].map(|name| waiter[name].as_f64().unwrap());
        assert!((begun + waited - elapsed).abs() < 1.0, "{waiter} of {elapsed}");
    }
}

fn check(measured: &Value, text: &str) {
    assert_eq!(
        waiting(measured),
        [
            ("left_then_right", Some("right"), vec!["right_then_left"]),
            ("main", None, vec![]),
            ("right_then_left", Some("left"), vec!["left_then_right"]),
            ("wait_for_ever", None, vec![]),
        ],
        "{measured:#}"
    );
    for waiter in measured["waiting"].as_array().unwrap() {
        // From the start of the process on, not of the machine.
        let begun = waiter["begun_ns"].as_f64().expect("its clock is known");
        assert!(begun < PATIENCE.as_nanos() as f64, "{waiter}");
    }
    for words in [
        "STILL WAITING",
        "waits for `left`",
        "waits for `right`",
        "which waits too, taken in left_then_right",
        "which waits too, taken in right_then_left",
        "waits for the condition `never` with `idle`",
        "waits for the end of a thread",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_killed_program_still_says_who_waits_for_whom() {
    for number in [libc::SIGKILL, libc::SIGINT, libc::SIGTERM] {
        let running = hang(number, true);
        let (measured, text) = report_again(&running);
        check(&measured, &text);
        check_times(&measured);
        let run = running.wait();
        assert_eq!(run.code(), 128 + number, "{}", run.stderr);
        check(run.report(), &run.stderr);
        check_times(run.report());
    }
}

#[test]
fn so_does_the_ledger_when_the_tool_is_killed() {
    let (measured, text) = report_again(&hang(libc::SIGKILL, false));
    check(&measured, &text);
}

#[test]
fn who_waits_for_a_lock_at_exit_is_told_and_who_waits_for_work_is_not() {
    let run = under("meter", &[] as &[&str], program("meter_stuck.c")).arg("exit").run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert_eq!(run.report()["waiting"].as_array().unwrap().len(), 3);
    assert!(run.stderr.contains("waits for `left`"), "{}", run.stderr);
    assert!(!run.stderr.contains("waits for the condition"), "{}", run.stderr);
}
