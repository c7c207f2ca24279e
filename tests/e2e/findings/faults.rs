//! Faults of programs and files while they are watched: the program goes on, and ends as
//! it would have.
//!
//! A full disk is in `errors`, damaged ledgers in `damaged`, `kill -9` in `kill9`, deaths by signal
//! in `passthrough`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;

use crate::harness::{
    Running, Scratch, check, is_alive, ledgers, native, program, signal, spawn, tool, until,
};

/// Pairs of locks are taken and recorded, once more `more` of them than there are now.
fn goes_on(running: &Running, more: usize) {
    let before = running.stdout().len();
    until("more pairs", || (running.stdout().len() >= before + more).then_some(()));
}

/// `pairs.c` while it works, and its process id.
fn at_work() -> (Running, u32) {
    let running = check(program("pairs.c")).spawn();
    let pid = running.program_id();
    goes_on(&running, 500);
    (running, pid)
}

/// The same, without a JSON report and with ledgers below a folder, which is handed back too.
fn at_work_below(scratch: &Scratch) -> (Running, u32, PathBuf) {
    let folder = scratch.join("below");
    let mut command = tool();
    command.args(["check", "--ledger-dir"]).arg(&folder).arg("--").arg(program("pairs.c"));
    let running = spawn(command);
    let pid = running.program_id();
    goes_on(&running, 500);
    (running, pid, folder)
}

#[test]
fn a_ledger_that_is_deleted_harms_nobody() {
    let scratch = Scratch::new();
    let (running, pid, folder) = at_work_below(&scratch);
    let kept = ledgers(&folder);
    assert_eq!(kept.len(), 1, "{kept:?}");
    fs::remove_file(&kept[0]).unwrap();
    // Enough that the ledger has to grow.
    goes_on(&running, 20_000);
    signal(pid, libc::SIGTERM);
    let run = running.wait();
    assert_eq!(run.status.signal(), Some(libc::SIGTERM), "{}", run.stderr);
    // The tool looks at ledgers now and then: it may not have seen this one.
    let told = ["warning: the ledgers are gone: ", " left no ledger: "];
    assert!(told.iter().any(|told| run.stderr.contains(told)), "{}", run.stderr);
}

#[test]
fn a_ledger_directory_that_is_deleted_harms_nobody() {
    let scratch = Scratch::new();
    let (running, pid, folder) = at_work_below(&scratch);
    fs::remove_dir_all(&folder).unwrap();
    goes_on(&running, 20_000);
    assert!(is_alive(pid));
    signal(pid, libc::SIGTERM);
    let run = running.wait();
    // There is nothing to report from: the tool says so, and of which folder.
    assert_eq!(run.status.signal(), Some(libc::SIGTERM), "{}", run.stderr);
    let said: Vec<&str> = run.stderr.lines().collect();
    assert_eq!(said.len(), 1, "{}", run.stderr);
    let gone = format!("warning: the ledgers are gone: somebody removed {}", folder.display());
    assert!(said[0].starts_with(&gone), "{}", run.stderr);
}

/// Its exit code is the program's, and files of an earlier run are not lost for nothing.
#[test]
fn without_ledgers_the_programs_end_is_passed_on_and_no_report_replaced() {
    for command in ["check", "meter", "run"] {
        let scratch = Scratch::new();
        let (below, json, text) =
            (scratch.join("below"), scratch.join("json"), scratch.join("text"));
        fs::write(&json, "of before").unwrap();
        let mut tool = tool();
        tool.arg(command).arg("--ledger-dir").arg(&below);
        tool.arg("--json").arg(&json).arg("-o").arg(&text);
        let running = spawn({
            tool.arg("--").arg(program("ending.c")).arg("wait");
            tool
        });
        let pid = running.program_id();
        until("its ledger", || (!ledgers(&below).is_empty()).then_some(()));
        fs::remove_dir_all(&below).unwrap();
        signal(pid, libc::SIGTERM);
        let run = running.wait();
        assert_eq!(run.status.code(), Some(7), "{command}: {}", run.stderr);
        assert_eq!(run.stderr, "", "{command}: what the tool has to say goes to the file");
        let said = fs::read_to_string(&text).unwrap();
        assert!(said.contains("the ledgers are gone: "), "{command}: {said}");
        assert_eq!(fs::read_to_string(&json).unwrap(), "of before", "{command}");
    }
}

#[test]
fn a_program_that_is_stopped_goes_on_when_told_to() {
    let (running, pid) = at_work();
    for _ in 0..5 {
        signal(pid, libc::SIGSTOP);
        let is_stopped = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T")).then_some(())
        };
        until("it stops", is_stopped);
        // A ledger can be read at any time.
        let kept = ledgers(&running.ledger_dir());
        let mut report = tool();
        report.arg("report").arg(&kept[0]);
        let run = crate::harness::run(report);
        assert_eq!(run.code(), 0, "{}", run.stderr);
        signal(pid, libc::SIGCONT);
        goes_on(&running, 500);
    }
    signal(pid, libc::SIGTERM);
    let run = running.wait();
    assert_eq!(run.status.signal(), Some(libc::SIGTERM), "{}", run.stderr);
    assert_eq!(run.count("lost"), 0);
    let promised = run.stdout.iter().filter(|&&b| b == b'.').count() as u64;
    assert!(run.count("acquisitions") >= 2 * promised, "{:#}", run.report()["summary"]);
}

#[test]
fn a_crash_is_the_programs_own() {
    let program = program("ending.c");
    for number in [libc::SIGSEGV, libc::SIGABRT, libc::SIGBUS] {
        let arguments = ["signal", &number.to_string()];
        let natively = native(&program).args(arguments).run();
        let watched = check(&program).args(arguments).run();
        assert_eq!(natively.status.signal(), Some(number));
        assert_eq!(watched.status.signal(), Some(number), "{}", watched.stderr);
        // What the kernel would dump is left alone; where there are no core files, neither has one.
        assert_eq!(watched.status.core_dumped(), natively.status.core_dumped());
        assert_eq!(watched.count("acquisitions"), 2, "what it did before is in the report");
    }
}
