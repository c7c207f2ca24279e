//! Code that programs make while they run, by the names that they give it for perf.

use std::fs;
use std::path::Path;

use crate::golden::golden;
use crate::harness::{Job, Scratch, check, check_with, installed, program, tests_dir, tool};

/// What a run leaves in /tmp is the program's; a test takes it away.
struct Map(String);

impl Drop for Map {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn generated(options: &[&str], how: &str) -> Job {
    check_with(options, program("generated.c")).arg(how)
}

/// The map of the one process of a report.
fn map_of(report: &serde_json::Value) -> Map {
    Map(format!("/tmp/perf-{}.map", report["processes"][0]["pid"]))
}

#[test]
fn golden_generated_code() {
    golden("generated-code", generated(&[], "both"));
}

#[test]
fn generated_code_in_one_order_is_clean() {
    let run = generated(&[], "one").run();
    assert!(run.findings().is_empty(), "{}", run.stderr);
    drop(map_of(run.report()));
}

/// Without a map the calls are seen all the same.
#[test]
fn generated_code_without_names() {
    let run = generated(&[], "nameless").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert!(run.stderr.contains("called from run_forwards"), "past it: {}", run.stderr);
    assert!(!run.stderr.contains("back_stub"), "{}", run.stderr);
}

/// A compiler's code calls more of it, all by frame pointers.
#[test]
fn generated_code_that_generated_code_calls() {
    let run = generated(&[], "nested").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    for frame in ["called from forth", "called from outer", "called from run_forwards"] {
        assert!(run.stderr.contains(frame), "{frame}: {}", run.stderr);
    }
    drop(map_of(run.report()));
}

/// V8's own code is called by what it has compiled, and that by V8's own.
#[test]
fn functions_of_javascript_are_on_stacks() {
    let Some(node) = installed(&["node"], "nodejs") else { return };
    let scratch = Scratch::new();
    let mut command = tool();
    command.args(["check", "--keep", "--ledger-dir"]).arg(scratch.join("ledgers")).arg("--");
    command.arg(node).args(["--perf-basic-prof", "--interpreted-frames-native-stack"]);
    // V8 writes a log of its own to where it runs.
    command.arg(tests_dir().join("programs/app.js")).current_dir(scratch.path());
    let output = command.output().expect("check");
    let text = String::from_utf8_lossy(&output.stderr);
    let (_, dir) = text.split_once("ledgers kept in ").expect("where they are");
    let dir = Path::new(dir.lines().next().expect("a line"));
    let ledger = fs::read_dir(dir).expect("ledgers").flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.ends_with(".lwl").then(|| name.split('-').next().unwrap_or_default().to_owned())
    });
    drop(Map(format!("/tmp/perf-{}.map", ledger.expect("a ledger"))));
    // What is kept are the names of what stacks have.
    let kept = fs::read_to_string(dir.join("generated.json")).expect("names");
    for function in ["leaf", "middle"] {
        assert!(kept.contains(&format!("{function} {}", tests_dir().display())), "{kept}");
    }
}

/// A run that is kept has the names, when the map is gone.
#[test]
fn names_of_generated_code_are_kept() {
    let scratch = Scratch::new();
    let mut command = tool();
    command.args(["check", "--keep", "--ledger-dir"]).arg(scratch.join("ledgers")).arg("--");
    let output = command.arg(program("generated.c")).arg("both").output().expect("check");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("forth+0x6 (app.js)"), "{text}");
    let (_, dir) = text.split_once("ledgers kept in ").expect("where they are");
    let dir = dir.lines().next().expect("a line");
    let ledger = fs::read_dir(dir).expect("ledgers").flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.ends_with(".lwl").then(|| name.split('-').next().unwrap_or_default().to_owned())
    });
    drop(Map(format!("/tmp/perf-{}.map", ledger.expect("a ledger"))));
    let later = tool().arg("report").arg(dir).output().expect("report");
    let text = String::from_utf8_lossy(&later.stderr);
    assert!(text.contains("forth+0x6 (app.js)"), "{text}");
    assert!(text.contains("back_stub+0x6 ([generated code])"), "{text}");
}

/// A file of that name that is none of the program's making is not read: here a link, as anybody
/// can put in /tmp.
#[test]
fn somebody_elses_map_is_not_read() {
    let scratch = Scratch::new();
    let forged = scratch.join("forged");
    fs::write(&forged, "0 ffffffffffffffff forged\n").expect("a file");
    let run = check(program("generated.c")).arg("linked").arg(&forged).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    drop(map_of(run.report()));
    assert!(!run.stderr.contains("forged"), "{}", run.stderr);
}
