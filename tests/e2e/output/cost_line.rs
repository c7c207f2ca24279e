//! "The tool took about ...": what is known again costs what was calibrated, what is new what was measured.

use std::fs;

use lockwright_ledger::Ledger;
use lockwright_ledger::reader::HeaderValues;
use serde_json::Value;

use crate::harness::{Scratch, ledgers, program, run, tool};

/// The measured parts of a run of `cost_nested` with these numbers, and its report.
fn watched(engine: &str, numbers: &[u32]) -> (HeaderValues, Value) {
    watched_program("cost_nested.c", engine, numbers)
}

/// As [`watched`], of another program.
fn watched_program(source: &str, engine: &str, numbers: &[u32]) -> (HeaderValues, Value) {
    let scratch = Scratch::new();
    let (folder, json) = (scratch.join("kept"), scratch.join("report.json"));
    let mut command = tool();
    command.args([engine, "--keep", "--json"]).arg(&json).arg("--ledger-dir").arg(&folder);
    command.arg("--").arg(program(source)).args(numbers.iter().map(u32::to_string));
    let run = run(command);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let header = *Ledger::open(&ledgers(&folder)[0]).expect("sound").header();
    (header, serde_json::from_slice(&fs::read(json).unwrap()).unwrap())
}

#[test]
fn what_is_new_to_the_record_is_counted_and_timed() {
    for engine in ["check", "meter"] {
        let (few, _) = watched(engine, &[10, 10]);
        let (many, _) = watched(engine, &[1000, 10]);
        assert!(few.start_cpu_ns > 0 && few.slow_cpu_ns > 0 && few.slow_timed > 0, "{engine}");
        if engine == "check" {
            assert!(many.slow_entries >= few.slow_entries + 990, "{engine}: {many:?}");
        }
        // All of the first are timed, and of later ones a sample.
        assert!(few.slow_entries > 64 || few.slow_timed == few.slow_entries, "{few:?}");
        assert!(many.slow_timed > 64 || many.slow_entries <= 64, "{many:?}");
        let (again, _) = watched(engine, &[10, 100_000]);
        // Holds of another length may need space of their own to be counted in.
        assert!(again.slow_entries < few.slow_entries + 1000, "{engine}: {again:?}");
    }
}

#[test]
fn objects_that_are_made_and_destroyed_are_counted_with_the_slow_path() {
    let (few, _) = watched("check", &[10, 10]);
    let (many, _) = watched("check", &[10, 10, 100_000]);
    // A sample of them, each of which stands for as many.
    assert!(many.slow_entries >= few.slow_entries + 100_000, "{many:?}");
    assert!(many.slow_timed >= few.slow_timed + 100_000, "{many:?}");
}

#[test]
fn semaphores_and_condition_waits_are_measured_in_the_program() {
    const MANY: u32 = 50_000;
    for engine in ["check", "meter", "run"] {
        let parts = |numbers: &[u32]| watched_program("cost_waits.c", engine, numbers).0;
        let few = parts(&[10, 10]);
        for numbers in [[MANY, 10], [10, MANY]] {
            let many = parts(&numbers);
            // At least one part each: a sample is timed, which stands for as many.
            let (entries, timed) = (u64::from(MANY), u64::from(MANY) / 2);
            assert!(many.slow_entries >= few.slow_entries + entries, "{engine}: {many:?}");
            assert!(many.slow_timed >= few.slow_timed + timed, "{engine}: {many:?}");
            // The planted fault: a line that leaves them out.
            assert!(many.slow_cpu_ns > few.slow_cpu_ns, "{engine}: {many:?}");
        }
    }
}

#[test]
fn the_line_is_what_was_calibrated_and_what_was_measured() {
    let (header, report) = watched("check", &[1000, 10]);
    let summary = &report["summary"];
    let number = |name: &str| summary[name].as_f64();
    assert!(number("program_cpu_ns").expect("known") > 0.0, "{summary}");
    // A machine that is too busy to calibrate has no line.
    let (Some(cost), Some(each)) = (number("cost_ns"), number("cost_per_acquisition_ns")) else {
        return;
    };
    let known = each * number("acquisitions").expect("counted");
    let measured = measured_ns(&header);
    // The rest is what loading the library takes, which is calibrated.
    assert!(cost > known + measured - 10.0, "{cost} leaves out some of {known} and {measured}");
    // The planted fault: a line of known pairs alone is another.
    assert!(cost > known + 10.0, "{cost} leaves out what is new to the record");
}

#[test]
fn both_lines_of_a_run_say_the_same() {
    let (_, report) = watched("run", &[100, 100_000]);
    let [check, meter] = [&report["summary"]["cost_ns"], &report["meter"]["cost"]["cpu_ns"]];
    if let (Some(check), Some(meter)) = (check.as_f64(), meter.as_f64()) {
        assert!((check - meter).abs() < 1000.0, "{check} is not {meter}");
    }
}

/// What the start and the slow path took. The timed entries stand for all.
fn measured_ns(header: &HeaderValues) -> f64 {
    header.slow_cpu_ns as f64 * header.slow_entries as f64 / header.slow_timed as f64
        + header.start_cpu_ns as f64
}
