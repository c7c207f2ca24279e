//! The commands `meter` and `run`, and `report` on what they kept.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use serde_json::Value;

use crate::harness::{FOUND, Scratch, ledgers, program, run, signal, tool, under};

/// The lock of a name in a measurement.
fn lock<'v>(measured: &'v Value, name: &str) -> &'v Value {
    let locks = measured["locks"].as_array().expect("locks");
    let named = locks.iter().find(|lock| lock["name"] == name);
    named.unwrap_or_else(|| panic!("no {name} in {measured:#}"))
}

/// The function of a lock's site that is no wrapper.
fn function(site: &Value) -> &str {
    site["stack"][0]["function"].as_str().expect("a name")
}

#[test]
fn counts_are_exact_and_the_wait_is_blamed() {
    let run = under("meter", &[] as &[&str], program("meter_command.c")).run();
    assert_eq!(run.code(), 3, "the program's own end: {}", run.stderr);
    let measured = run.report();
    assert_eq!(measured["schema"], "lockwright-meter");
    let counter = lock(measured, "counter_lock");
    assert_eq!(counter["total"]["acquisitions"], 150, "{}", run.stderr);
    assert_eq!(counter["total"]["hold"]["count"], 150);
    assert_eq!(function(&counter["sites"][0]), "increment");
    let table = lock(measured, "table_lock");
    assert_eq!(table["total"]["acquisitions"], 2);
    assert_eq!(table["readers"]["most"], 1);

    let gate = lock(measured, "gate");
    assert_eq!(gate["total"]["rejects"], 1);
    assert_eq!(gate["total"]["contended"], 1);
    let wait = gate["total"]["wait"]["total_ns"].as_f64().unwrap();
    assert!(wait > 50e6, "most of main's sleep: {wait} ns");
    let blame = &gate["blame"][0];
    let site = |who: &str| &gate["sites"][blame[who].as_u64().expect("known") as usize];
    assert_eq!((function(site("waiter")), function(site("holder"))), ("worker", "main"));
    // All of main's sleep, too; the rest is the time that the worker took to get going again.
    let blamed = blame["ns"].as_f64().unwrap();
    assert!((50e6..=wait).contains(&blamed), "{gate:#}");
    let asleep = &site("holder")["nested"][0];
    let call = &measured["waits"][asleep["wait"].as_u64().expect("a call") as usize];
    assert_eq!((&call["kind"], function(call)), (&Value::from("call"), "main"), "{measured:#}");

    assert_eq!(measured["lost"], 0);
    assert!(measured["cost"]["pair_ns"].as_f64().unwrap() < 1000.0);
    assert!(run.stderr.starts_with("lockwright meter: "), "{}", run.stderr);
    for words in ["`counter_lock` (mutex)", "0 records lost", "BLAME of `gate`"] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
}

#[test]
fn holds_are_timed_as_asked() {
    let off = under("meter", &["--hold=off"], program("meter_command.c")).run();
    let counter = lock(off.report(), "counter_lock");
    let total = &counter["total"];
    assert_eq!((&total["acquisitions"], &total["hold"]["count"]), (&150.into(), &0.into()));
    assert_eq!(lock(off.report(), "gate")["total"]["contended"], 1, "waits are timed all the same");
    let sampled = under("meter", &["--hold", "sample:10"], program("meter_command.c")).run();
    let counter = lock(sampled.report(), "counter_lock");
    assert_eq!(counter["total"]["acquisitions"], 150);
    let timed = counter["total"]["hold"]["count"].as_u64().unwrap();
    assert!((1..75).contains(&timed), "{timed} of 150, asked for one in 10");
    assert_eq!(sampled.report()["processes"][0]["hold_sample"], 10);
    let wrong = under("meter", &["--hold=often"], program("meter_command.c")).run();
    assert_eq!(wrong.code(), 2, "{}", wrong.stderr);
}

#[test]
fn instances_are_kept_apart_on_demand() {
    let run = under("meter", &["--instances"], program("meter_command.c")).run();
    assert_eq!(run.report()["by_instance"], true);
    let counter = lock(run.report(), "counter_lock");
    assert_eq!(counter["instances"].as_array().unwrap().len(), 1);
    assert_eq!(counter["instances"][0]["total"]["acquisitions"], 150);
    assert!(run.stderr.contains("INSTANCES"), "{}", run.stderr);
}

#[test]
fn both_at_once() {
    let run = under("run", &[] as &[&str], program("abba.c")).run();
    assert_eq!(run.code(), FOUND, "as check: {}", run.stderr);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")]);
    let measured = &run.report()["meter"];
    assert_eq!(lock(measured, "A")["total"]["acquisitions"], 2);
    let found = run.stderr.find("circular-dependency").expect("what was found");
    let metered = run.stderr.find("lockwright meter: ").expect("what was measured");
    assert!(found < metered, "{}", run.stderr);
    let run = under("run", &["--exit-code", "0"], program("meter_command.c")).run();
    assert_eq!((run.code(), run.findings().len()), (3, 0));
}

#[test]
fn a_kept_measurement_can_be_shown_again() {
    let scratch = Scratch::new();
    let (folder, now_json) = (scratch.join("kept"), scratch.join("now.json"));
    let mut now = tool();
    now.args(["meter", "--keep", "--json"]).arg(&now_json).arg("--ledger-dir").arg(&folder);
    now.arg("--").arg(program("meter_command.c"));
    assert_eq!(run(now).code(), 3);
    let kept = ledgers(&folder);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let read = |path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    let report = |what: &std::path::Path, options: &[&str]| {
        let later_json = scratch.join("later.json");
        let mut later = tool();
        later.arg("report").args(options).arg("--json").arg(&later_json).arg(what);
        let later = run(later);
        assert_eq!(later.code(), 0, "{}", later.stderr);
        (read(later_json), later.stderr)
    };
    let now = read(now_json);
    let (later, text) =
        report(kept[0].parent().unwrap(), &["--top", "1", "--sort", "acquisitions"]);
    assert_eq!(now, later, "all of it, its cost included");
    assert!(text.contains("`counter_lock`") && !text.contains("`table_lock`"), "{text}");
    // A part of the run has the price alone, which depends on the program's CPU time where that is
    // known.
    let (part, _) = report(&kept[0], &[]);
    assert!(part["cost"]["pair_ns"].as_f64() > Some(0.0), "{part}");
    assert_eq!(part["cost"]["program_cpu_ns"], Value::Null);
    fs::remove_file(kept[0].with_file_name("cost.json")).unwrap();
    let (without, text) = report(&kept[0], &[]);
    assert_eq!(without["cost"], Value::Null);
    assert!(text.contains("cost is not known"), "{text}");
}

#[test]
fn a_kill_loses_nothing() {
    let running = under("meter", &["--keep"], program("meter_command.c")).arg("wait").spawn();
    let pid = running.program_id();
    let live = ledgers(&running.ledger_dir());
    let report = |ledger: &std::path::Path| -> Value {
        let mut report = tool();
        report.args(["report", "--json", "-"]).arg(ledger);
        serde_json::from_slice(&run(report).stdout).unwrap()
    };
    for ledger in [report(&live[0]), {
        signal(pid, libc::SIGKILL);
        let run = running.wait();
        assert_eq!(run.status.signal(), Some(libc::SIGKILL), "{}", run.stderr);
        run.json.expect("a report")
    }] {
        assert_eq!(ledger["processes"][0]["exited"], false);
        let total = &lock(&ledger, "counter_lock")["total"];
        assert_eq!((&total["acquisitions"], &total["held"]), (&151.into(), &1.into()));
        assert_eq!(total["hold"]["count"], 150);
    }
}

#[test]
fn no_locks_no_empty_report() {
    let run = under("meter", &[] as &[&str], "/bin/true").run();
    assert_eq!(run.code(), 0);
    assert!(run.stderr.contains("no lock calls seen"), "{}", run.stderr);
    assert!(run.stderr.contains("calls no function that takes one"), "{}", run.stderr);
}

#[test]
fn exports_go_to_files() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.join(name).to_str().unwrap().to_owned();
    let (wait, hold) = (format!("wait={}", path("wait")), format!("hold={}", path("hold")));
    let (pprof, metrics) = (path("pprof"), path("metrics"));
    let options =
        ["--folded", &wait, "--folded", &hold, "--pprof", &pprof, "--openmetrics", &metrics];
    let run = under("meter", &options, program("meter_command.c")).run();
    assert_eq!(run.code(), 3, "{}", run.stderr);
    let text = |name: &str| fs::read_to_string(scratch.join(name)).unwrap();
    assert!(text("wait").lines().any(|line| line.contains("worker;[gate] ")), "{}", text("wait"));
    assert!(text("hold").contains("increment;[counter_lock] "), "{}", text("hold"));
    assert_eq!(fs::read(scratch.join("pprof")).unwrap()[..2], [0x1f, 0x8b]);
    assert!(text("metrics").ends_with("# EOF\n"));
    let mut unwritable = tool();
    unwritable.args(["meter", "--pprof", "/nowhere/x"]).arg(program("meter_command.c"));
    let unwritable = self::run(unwritable);
    assert_eq!(unwritable.code(), 125);
    assert!(unwritable.stderr.contains("--pprof FILE"), "{}", unwritable.stderr);
}

#[test]
fn the_report_begins_a_line_of_its_own() {
    for command in ["check", "meter"] {
        // A pipe with the program's output in it: nobody can tell whether its last line has an end.
        let scratch = Scratch::new();
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(r#"exec "$0" "$@" 2>&1"#).arg(tool().get_program());
        shell.arg(command).arg("--ledger-dir").arg(scratch.path());
        shell.args(["--", "sh", "-c", "printf half"]);
        let mixed = run(shell);
        assert!(mixed.text().starts_with("half\nlockwright"), "{}", mixed.text());
        // One without.
        let apart = under(command, &[] as &[&str], "sh").args(["-c", "printf half"]).run();
        assert_eq!(apart.text(), "half");
        assert!(apart.stderr.starts_with("lockwright"), "{}", apart.stderr);
    }
}
