//! `lockwright top --system`, and `--pid` with every wait counted: what the kernel sees of programs that nobody
//! started under the tool.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::snapshots::{Unwatched, by, parsed, until_moment};
use crate::harness::{Scratch, program, run, skip, spawn, tool, until};
use crate::outside::by_kernel::traced;

/// The lock `name` of process `pid` in a moment of all processes.
fn lock_of<'m>(moment: &'m Value, name: &str, pid: u32) -> Option<&'m Value> {
    moment["locks"].as_array().unwrap().iter().find(|lock| {
        let title = lock["name"].as_str().unwrap();
        title.starts_with(&format!("{name} of ")) && title.ends_with(&format!("({pid})"))
    })
}

fn thread<'m>(moment: &'m Value, pid: u32, name: &str) -> Option<&'m Value> {
    let mut threads = moment["threads"].as_array().unwrap().iter();
    threads.find(|thread| thread["pid"] == pid && thread["name"] == name)
}

#[test]
fn locks_of_all_processes_are_shown_with_who_waits_who_has_them_and_who_ends_waits() {
    if traced().is_none() {
        return;
    }
    let process = Unwatched::start();
    let pid = process.child.id();
    let options = ["--system", "--interval", "0.2", "--count", "4"];
    let is_seen = |moment: &Value| {
        let journal = lock_of(moment, "journal", pid);
        let is_placed = |lock: &Value, sites: &str| {
            let text = lock[sites][0]["place"]["text"].as_str().unwrap_or_default();
            text.starts_with("append ")
        };
        journal.is_some_and(|lock| is_placed(lock, "sites") && is_placed(lock, "wakers"))
            && thread(moment, pid, "patient").is_some()
    };
    let moment = until_moment("waits of both locks", &options, is_seen);
    assert_eq!((&moment["is_measured"], &moment["counts_waits"]), (&false.into(), &true.into()));
    let journal = lock_of(&moment, "journal", pid).unwrap();
    assert_eq!(
        (&journal["kind"], &journal["wakers"][0]["how"]),
        (&"mutex".into(), &"released".into())
    );
    assert!(journal["rates"]["contended"].as_f64() > Some(0.0), "{journal:#}");
    assert!(journal["totals"]["longest_wait_ns"].as_f64() > Some(0.0), "{journal:#}");
    let patient = thread(&moment, pid, "patient").unwrap();
    let table = lock_of(&moment, "table", pid).expect("a lock whose first wait is not over");
    assert_eq!(table["totals"]["contended"], 0);
    assert_eq!(
        (&patient["wait"]["lock"], &patient["wait"]["holders"][0]),
        (&table["id"], &pid.into())
    );
    assert!(patient["wait"]["place"]["text"].as_str().unwrap().starts_with("patient"));
    let holder = moment["threads"].as_array().unwrap().iter().find(|it| it["tid"] == pid).unwrap();
    assert_eq!(holder["held"][0]["lock"], table["id"], "{holder:#}");
    // Our own threads wait for what is counted.
    let processes = moment["processes"].as_array().unwrap().iter();
    let mut commands = processes.map(|process| process["command"].as_str().unwrap());
    assert!(!commands.any(|command| command == "lockwright-bpf"), "{:#}", moment["processes"]);
}

/// What the program counts itself; and a process that has ended is forgotten once that was said.
#[test]
fn every_wait_of_a_process_is_counted_to_its_end_and_then_forgotten() {
    if traced().is_none() {
        return;
    }
    let mut top = tool();
    top.args(["top", "--system", "--interval", "0.3", "--top", "0", "--json", "-"]);
    let top = spawn(top);
    until("a moment", || top.stdout().contains(&b'\n').then_some(()));
    let measure = || {
        let child = Command::new(program("futex_counts.c")).stdout(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let words: Vec<&str> = said.split_whitespace().collect();
        let id = format!("{pid}:{}", words[0].trim_start_matches("0x"));
        let waits = words[1].parse::<u64>().unwrap();
        // It is there, and later it is not. On a busy machine moments are long: only those are read that have it.
        let moment = until("the process is forgotten", || {
            // All that was said is read each time: not so often that `top` has no processor left.
            std::thread::sleep(std::time::Duration::from_millis(200));
            let stdout = String::from_utf8(whole_lines(&top.stdout())).unwrap();
            let of = format!("\"id\":\"{id}\"");
            let is_gone = stdout.lines().last().is_some_and(|line| !line.contains(&of));
            let last = stdout.lines().rfind(|line| line.contains(&of)).filter(|_| is_gone)?;
            serde_json::from_str::<Value>(last).ok()
        });
        let counted = by(&moment["locks"], "id", &id).unwrap()["totals"]["contended"].as_u64();
        (counted.unwrap(), waits, moment["notes"].to_string())
    };
    // The kernel leaves events out while a processor is busy with another, and its table may be full. Then it says so.
    for _ in 0..6 {
        let (counted, waits, notes) = measure();
        let is_said = counted < waits && notes.contains("lost");
        assert!(counted == waits || is_said, "{counted} of {waits} waits: {notes}");
        if counted == waits {
            return;
        }
    }
    panic!("all waits are counted in one run of six");
}

/// Without a line that is still being written.
fn whole_lines(stdout: &[u8]) -> Vec<u8> {
    let end = stdout.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    stdout[..end].to_vec()
}

#[test]
fn waits_of_a_process_are_counted_or_estimated_and_it_says_which_and_why() {
    let Some(tool) = traced() else { return };
    let process = Unwatched::start();
    let pid = process.child.id().to_string();
    let options = ["--interval", "0.3", "--count", "3", "--pid", &pid];
    let has_both = |moment: &Value| {
        ["journal", "table"].iter().all(|name| by(&moment["locks"], "name", name).is_some())
    };
    let moment = until_moment("both locks", &options, has_both);
    assert_eq!(moment["counts_waits"], true);
    let journal = by(&moment["locks"], "name", "journal").unwrap();
    assert_eq!(journal["kind"], "mutex");
    assert!(journal["rates"]["contended"].as_f64() > Some(0.0), "{journal:#}");
    assert!(journal["sites"][0]["place"]["text"].as_str().unwrap().starts_with("append "));
    assert!(moment["notes"][0].as_str().unwrap().contains("every wait is counted"));
    let table = by(&moment["locks"], "name", "table").unwrap();
    let waiting = table["rates"]["waiting"].as_f64().unwrap();
    assert!((0.9..=1.1).contains(&waiting), "counted at the same moments: {waiting}");

    // Where the helper is not there.
    let scratch = Scratch::new();
    let alone = scratch.join("lockwright");
    fs::copy(tool, &alone).unwrap();
    let mut command = Command::new(&alone);
    command.args(["top", "--json", "-", "--count", "1", "--pid", &pid]);
    let run = run(command);
    let moment = parsed(&run.stdout).pop().expect("a moment");
    assert_eq!(moment["counts_waits"], false);
    let note = moment["notes"][0].as_str().unwrap();
    for words in ["waits are estimated", "lockwright-bpf is not there"] {
        assert!(note.contains(words), "{words}: {note}");
    }
}

/// Threads have other numbers there.
#[test]
fn a_process_of_another_pid_namespace_is_counted() {
    if traced().is_none() {
        return;
    }
    let scratch = Scratch::new();
    let mut inside = Command::new("unshare");
    inside.args(["--pid", "--fork", "--kill-child", "--mount-proc"]);
    inside.arg(program("stages.c")).arg(scratch.path()).stdout(Stdio::null());
    let inside = Unwatched { child: inside.spawn().unwrap(), scratch };
    let children = format!("/proc/{0}/task/{0}/children", inside.child.id());
    let started = until("the program in its namespace", || {
        let children = fs::read_to_string(&children).ok()?;
        let pid: u32 = match children.split_whitespace().next() {
            Some(pid) => pid.parse().ok()?,
            // Not allowed, so it has ended.
            None => {
                return (!Path::new(&format!("/proc/{}/exe", inside.child.id())).exists())
                    .then_some(None);
            }
        };
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        comm.starts_with("stages").then_some(Some(pid))
    });
    let Some(pid) = started else {
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none());
        return skip("this user may have no PID namespace of its own");
    };
    let is_counted = |moment: &Value| {
        let journal = by(&moment["locks"], "name", "journal");
        let patient = by(&moment["threads"], "name", "patient");
        journal.is_some_and(|lock| lock["rates"]["contended"].as_f64() > Some(0.0))
            && patient.is_some_and(|it| it["wait"]["for_ns"].is_number())
    };
    let options = ["--interval", "0.3", "--count", "3", "--pid", &pid.to_string()];
    let moment = until_moment("counted waits", &options, is_counted);
    assert_eq!(moment["counts_waits"], true);
    inside.go_to("end");
}

/// As after an upgrade.
#[test]
fn a_program_that_was_deleted_has_names() {
    let scratch = Scratch::new();
    let file = scratch.join("upgraded");
    // Not by this process: a program that another test starts meanwhile would have the file open for writing.
    assert!(Command::new("cp").arg(program("stages.c")).arg(&file).status().unwrap().success());
    let mut command = Command::new(&file);
    command.arg(scratch.path()).stdout(Stdio::null());
    let process = Unwatched { child: command.spawn().unwrap(), scratch };
    let pid = process.child.id().to_string();
    let runs = || {
        fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.starts_with("upgraded").then_some(())
    };
    until("the program runs", runs);
    fs::remove_file(&file).unwrap();
    let has_place = |moment: &Value| {
        by(&moment["threads"], "name", "patient").is_some_and(|it| {
            it["wait"]["place"]["text"].as_str().is_some_and(|text| text.starts_with("patient "))
        })
    };
    let moment = until_moment("the wait", &["--count", "1", "--pid", &pid], has_place);
    assert_eq!(moment["processes"][0]["command"], "upgraded");
    assert!(by(&moment["locks"], "name", "table").is_some(), "{moment:#}");
    let mut check = tool();
    check.args(["check", "--pid", &pid]);
    let check = run(check);
    assert!(check.stderr.contains("the mutex `table`"), "{}", check.stderr);
    assert!(check.stderr.contains("in patient ("), "{}", check.stderr);
    assert!(!check.stderr.contains("(deleted)"), "{}", check.stderr);
    if let Some(tool) = traced() {
        let mut meter = Command::new(tool);
        meter.args(["meter", "--seconds", "0.3", "--pid", &pid]);
        let meter = run(meter);
        assert!(meter.stderr.contains("the mutex `journal`"), "{}", meter.stderr);
        assert!(!meter.stderr.contains("(deleted)"), "{}", meter.stderr);
    }
    process.go_to("end");
}
