//! Programs that hang in no cycle, and are killed: the report says what each thread waits for, and
//! which thread has it.
//!
//! Those that hang in a cycle are in `deadlocks`, those that are measured in `meter/stuck`.

use std::time::Duration;

use serde_json::Value;

use crate::golden::golden_text;
use crate::harness::{
    Job, Run, Running, Scratch, program, report_again, signal, tests_dir, under, until,
    until_asleep,
};
use crate::kinds::semaphores::python_itself;
use crate::naming::python_lines::has_lines;

/// Threads of `hang.c`.
const THREADS: usize = 6;

/// `hang.c` under a command, all of its threads asleep, and its process id.
fn hanging(command: &str) -> (Running, u32) {
    let running = under(command, &["--keep"], program("hang.c")).spawn();
    let pid = running.program_id();
    until_asleep(pid, THREADS);
    (running, pid)
}

/// Where each thread waits, how, for which lock, and who took that where.
fn waiting(report: &Value) -> Vec<(&str, &str, Option<&str>, Vec<&str>)> {
    let function = |stack: &'_ Value| -> Option<String> {
        let frames = stack["stack"].as_array()?.iter();
        let names = frames.filter_map(|frame| frame["function"].as_str());
        names.map(str::to_owned).find(|name| !name.starts_with("pthread_"))
    };
    let known = ["main", "teller", "clerk", "reader"];
    let name = |stack: &Value| {
        let function = function(stack).expect("a function");
        known.into_iter().find(|name| *name == function).unwrap_or("another")
    };
    let one = |waiter: &'_ Value| {
        let holders = waiter["holders"].as_array().unwrap().iter();
        assert!(holders.clone().all(|holder| holder["waits"] == true), "{waiter:#}");
        let kind = ["lock", "condition", "thread"].into_iter().find(|kind| waiter["kind"] == *kind);
        let locks = ["vault", "desk", "table"];
        let lock = locks.into_iter().find(|lock| waiter["lock"]["name"] == *lock);
        (name(waiter), kind.expect("a kind"), lock, holders.map(name).collect())
    };
    let mut all: Vec<_> = report["waiting"].as_array().unwrap().iter().map(one).collect();
    all.sort_unstable();
    all
}

fn check(report: &Value, text: &str) {
    let teller = ("teller", "lock", Some("vault"), vec!["main"]);
    assert_eq!(
        waiting(report),
        [
            ("clerk", "condition", Some("desk"), vec![]),
            ("main", "thread", None, vec![]),
            ("reader", "lock", Some("table"), vec!["main"]),
            teller.clone(),
            teller.clone(),
            teller,
        ],
        "{report:#}"
    );
    assert_eq!(text.matches("still waiting").count(), 1, "{text}");
    for words in [
        "waits on a condition variable with `desk`, in clerk (",
        "waits to join thread ",
        "waits for `vault`, in teller (",
        "    and so do 2 threads more",
        "waits to read-acquire `table`, in reader (",
        "which waits too, taken in main (",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn who_waits_for_whom_is_told_of_a_program_that_was_killed() {
    // What is sent to the tool is for the program, and the report is made.
    for (number, to_tool) in
        [(libc::SIGKILL, false), (libc::SIGTERM, true), (libc::SIGINT, true), (libc::SIGHUP, true)]
    {
        let (mut running, pid) = hanging("check");
        signal(if to_tool { running.id() } else { pid }, number);
        until("the end", || (!running.is_running()).then_some(()));
        let (json, text) = report_again(&running);
        check(&json, &text);
        let run = running.wait();
        assert_eq!(run.code(), 128 + number, "{}", run.stderr);
        check(run.report(), &run.stderr);
    }
}

/// A semaphore is a lock in Python: a thread that waits for something else with one held keeps others from it.
#[test]
fn a_python_thread_that_waits_for_news_with_a_lock_held_is_told() {
    if !has_lines() {
        return;
    }
    let code = "import os; print(os.getpid(), flush=True)\n";
    let hangs = std::fs::read_to_string(tests_dir().join("programs/hangs.py")).unwrap();
    let scratch = Scratch::new();
    let file = scratch.path().join("hangs.py");
    std::fs::write(
        &file,
        hangs.replacen("import threading\n", &format!("import threading; {code}"), 1),
    )
    .unwrap();
    let running = under("check", &[] as &[&str], python_itself()).arg(&file).spawn();
    let pid = running.program_id();
    until_asleep(pid, 3);
    signal(pid, libc::SIGTERM);
    let run = running.wait();
    let text = &run.stderr;
    assert!(text.contains("waits for a post of "), "{text}");
    assert!(text.contains("in take ("), "{text}");
    assert!(text.contains("hangs.py:14)"), "{text}");
    assert!(text.contains("held by thread 2 "), "{text}");
}

/// A signaller waits for a lock whose holder waits for one that the waiter keeps.
#[test]
fn who_keeps_all_signallers_from_a_wait_is_told() {
    let running = under("check", &[] as &[&str], program("wait_kept.c")).arg("stuck").spawn();
    let pid = running.program_id();
    until_asleep(pid, 4);
    signal(pid, libc::SIGKILL);
    let run = running.wait();
    let waits = run.report()["waiting"].as_array().unwrap();
    let is_condition = |wait: &&Value| wait["kind"] == "condition";
    let wait = waits.iter().find(is_condition).expect("a condition wait");
    let by = &wait["signallers"][0];
    assert_eq!((&by["lock"], &by["are_all"]), (&"other".into(), &true.into()), "{by:#}");
    assert_eq!(by["between"][0]["name"], "third", "{by:#}");
    let line = "(signaller), which has signalled it, waits for `other`, held by thread ";
    assert!(run.stderr.contains(line), "{}", run.stderr);
    assert!(run.stderr.contains("(third), which waits for this one, in "), "{}", run.stderr);
}

/// While it hangs, and after the tool was killed.
#[test]
fn so_does_its_ledger_alone() {
    let (mut running, pid) = hanging("check");
    let (json, text) = report_again(&running);
    check(&json, &text);
    signal(running.id(), libc::SIGKILL);
    until("the end", || (!running.is_running()).then_some(()));
    signal(pid, libc::SIGKILL);
    let (json, text) = report_again(&running);
    check(&json, &text);
}

/// The measurement has it with times, and the document has both.
#[test]
fn checked_and_measured_it_is_told_once() {
    let (running, pid) = hanging("run");
    signal(pid, libc::SIGKILL);
    let run: Run = running.wait();
    assert_eq!(waiting(run.report()).len(), THREADS, "{:#}", run.report()["waiting"]);
    assert_eq!(run.report()["meter"]["waiting"].as_array().map(Vec::len), Some(THREADS));
    assert_eq!(run.stderr.to_lowercase().matches("still waiting,").count(), 1, "{}", run.stderr);
    assert!(!run.stderr.contains("still waiting:"), "{}", run.stderr);
}

/// Threads that wait when `main` returns are how many programs end.
#[test]
fn a_program_that_exits_leaves_nobody_waiting() {
    let run = under("check", &[] as &[&str], program("hang.c")).arg("exit").run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert_eq!(run.report()["waiting"], Value::Array(vec![]), "{}", run.stderr);
}

/// CPU time of a process so far, in ticks of a hundredth of a second.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let field = |n| stat.rsplit(')').next()?.split_whitespace().nth(n)?.parse::<u64>().ok();
    field(11).unwrap_or(0)
}

/// The report of a program that has hung for some seconds, by `ripe`, and was killed: for as many
/// as it takes until `told` accepts the holder of the lock that one thread waits for. The tool
/// looks only now and then, so a quick program has to try again.
fn killed_once(job: impl Fn() -> Job, ripe: fn(u32, u64) -> bool, told: fn(&Value) -> bool) -> Run {
    for seconds in [4, 8, 16, 32, 64] {
        let running = job().current_dir("/").spawn();
        let pid = running.program_id();
        until("a hang", || ripe(pid, seconds).then_some(()));
        signal(pid, libc::SIGKILL);
        let run = running.wait();
        assert_eq!(run.verdicts(), [], "{}", run.stderr);
        let waits = run.report()["waiting"].as_array().unwrap();
        assert_eq!(waits.len(), 1, "{}", run.stderr);
        if told(&waits[0]["holders"][0]) {
            return run;
        }
    }
    panic!("nobody looked");
}

/// The process has run for so long.
fn has_run(pid: u32, seconds: u64) -> bool {
    cpu_ticks(pid) >= 100 * seconds
}

/// All of its threads have slept for so long.
fn has_slept(pid: u32, seconds: u64) -> bool {
    until_asleep(pid, 2);
    std::thread::sleep(Duration::from_secs(seconds));
    true
}

#[test]
fn a_holder_that_spins_for_a_lock_of_its_own_is_told() {
    let job = || under("check", &[] as &[&str], program("own_spin.c"));
    let run = killed_once(job, has_run, |holder| !holder["busy"].is_null());
    let busy = &run.report()["waiting"][0]["holders"][0]["busy"];
    assert!(busy["cpu_ns"].as_u64() > Some(0), "{busy:#}");
    assert_eq!(busy["loops_in"], Value::Array(vec![]), "nobody was asked to stop it");
    assert!(run.stderr.contains("      it runs: "), "{}", run.stderr);
    assert!(run.stderr.contains("docs/annotations.md"), "{}", run.stderr);
    let fixed = job().arg("fixed").run();
    assert_eq!((fixed.code(), fixed.verdicts()), (0, vec![]), "{}", fixed.stderr);
}

#[test]
fn where_it_spins_is_told_once_that_is_said_to_be_a_hang() {
    let job = || under("check", &["--hang-after=1"], program("own_spin.c"));
    let loops =
        |holder: &Value| holder["busy"]["loops_in"].as_array().is_some_and(|it| !it.is_empty());
    let run = killed_once(job, has_run, loops);
    let frame = &run.report()["waiting"][0]["holders"][0]["busy"]["loops_in"][0];
    assert_eq!(frame["function"], "own_lock", "{frame:#}");
    golden_text("hang-loops", &run.stderr);
    // Nobody is held up for so long.
    let fixed = job().arg("fixed").run();
    assert_eq!((fixed.code(), fixed.verdicts()), (0, vec![]), "{}", fixed.stderr);
}

/// It sleeps until another thread of its process wakes it, and that one waits for its lock.
#[test]
fn the_descriptor_that_a_holder_waits_for_is_told_and_its_other_end() {
    for (how, call, file) in
        [("pipe", "read", "pipe"), ("event", "read", "eventfd"), ("full", "write", "pipe")]
    {
        let job = || under("check", &[] as &[&str], program("pipe_held.c")).arg(how);
        let run = killed_once(job, has_slept, |holder| !holder["blocked"].is_null());
        let blocked = &run.report()["waiting"][0]["holders"][0]["blocked"];
        assert_eq!((&blocked["call"], &blocked["file"]), (&call.into(), &file.into()), "{how}");
        assert_eq!(blocked["other_ends"].as_array().unwrap().len(), 1, "{how}: {blocked:#}");
        if how != "full" {
            golden_text(&format!("hang-{how}"), &run.stderr);
        }
    }
    let fixed = under("check", &[] as &[&str], program("pipe_held.c")).arg("fixed").run();
    assert_eq!(
        (fixed.text().lines().last(), fixed.code()),
        (Some("the end"), 0),
        "{}",
        fixed.stderr
    );
    assert_eq!((fixed.verdicts(), fixed.stderr.contains("still waiting")), (vec![], false));
}
