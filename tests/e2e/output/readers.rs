//! What `meter` exports, as the programs read it that it is for. speedscope has a file of its own.

use std::process::Command;

use crate::harness::{Scratch, installed, program, run, target_tmp, under};

/// `go tool pprof` shows the waits that the JSON report has: their number, their time, and the lock's name.
#[test]
fn pprof_reads_the_waits() {
    let Some(go) = installed(&["go"], "golang-go") else { return };
    let scratch = Scratch::new();
    let file = scratch.join("waits.pb.gz");
    let measured =
        under("meter", &["--pprof", file.to_str().unwrap()], program("meter_command.c")).run();
    let gate =
        measured.report()["locks"].as_array().unwrap().iter().find(|lock| lock["name"] == "gate");
    let wait = &gate.unwrap()["total"]["wait"];
    let mut pprof = Command::new(&go);
    pprof.args(["tool", "pprof", "-raw", "-symbolize=none"]).arg(&file);
    pprof.env("PPROF_TMPDIR", scratch.join("")).env("GOCACHE", target_tmp().join("go-cache"));
    let shown = run(pprof);
    let text = shown.text();
    assert_eq!(shown.code(), 0, "{text} {}", shown.stderr);
    assert!(text.contains("contentions/count delay/nanoseconds[dflt]"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.trim() == "lock:[gate]").expect("a label");
    let (numbers, _) = lines[at - 1].split_once(':').expect("a sample");
    let numbers: Vec<f64> = numbers.split_whitespace().map(|n| n.parse().unwrap()).collect();
    assert_eq!(numbers[0], wait["count"].as_f64().unwrap(), "{text}");
    assert!((numbers[1] - wait["total_ns"].as_f64().unwrap()).abs() <= 1.0, "{text}");

    // A file that is cut off is none.
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let mut pprof = Command::new(&go);
    pprof.args(["tool", "pprof", "-raw", "-symbolize=none"]).arg(&file);
    pprof.env("PPROF_TMPDIR", scratch.join("")).env("GOCACHE", target_tmp().join("go-cache"));
    assert_ne!(run(pprof).code(), 0);
}
