//! What `meter` exports, as the programs read it that it is for. speedscope has a file of its own.

use std::process::Command;

use serde_json::Value;

use crate::harness::{Scratch, due, installed, program, run, target_tmp, under};

/// `go tool pprof` shows the waits that the JSON report has: their number, their time, and the lock's name.
#[test]
fn pprof_reads_the_waits() {
    // Newer versions of Go build pprof first.
    let Some(()) = due([()], 3).next() else { return };
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

/// Prints the samples that the reader of Prometheus's Python client finds, as JSON: name, labels, value.
const READ: &str = "
import json, sys
from prometheus_client.openmetrics.parser import text_fd_to_metric_families
families = text_fd_to_metric_families(open(sys.argv[1]))
print(json.dumps([[s.name, s.labels, s.value] for f in families for s in f.samples]))
";

/// Prometheus's own reader of the OpenMetrics format finds the acquisitions that the JSON report has.
#[test]
fn prometheus_reads_the_acquisitions() {
    let reader = "/usr/lib/python3/dist-packages/prometheus_client/openmetrics/parser.py";
    let Some(python) = installed(&["/usr/bin/python3"], "python3") else { return };
    let Some(_) = installed(&[reader], "python3-prometheus-client") else { return };
    let scratch = Scratch::new();
    let file = scratch.join("locks.om");
    let measured =
        under("meter", &["--openmetrics", file.to_str().unwrap()], program("meter_command.c"))
            .run();
    let read = || {
        let mut command = Command::new(&python);
        command.args(["-c", READ]).arg(&file);
        run(command)
    };
    let shown = read();
    assert_eq!(shown.code(), 0, "{}", shown.stderr);
    let samples: Vec<(String, Value, f64)> = serde_json::from_str(shown.text().trim()).unwrap();
    let report = measured.report();
    for lock in report["locks"].as_array().unwrap() {
        let is_it = |(name, labels, _): &&(String, Value, f64)| {
            name == "lockwright_lock_acquisitions_total" && labels["lock"] == lock["name"]
        };
        let sum: f64 = samples.iter().filter(is_it).map(|sample| sample.2).sum();
        assert_eq!(sum, lock["total"]["acquisitions"].as_f64().unwrap(), "{lock}");
    }

    // Without its end it may have been cut off.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("# EOF", "")).unwrap();
    assert_ne!(read().code(), 0);
}
