//! `lockwright diff` on ledgers that real runs left.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{FOUND, Run, Scratch, build, ledgers, run, tool};

/// Directories of three measured runs, which hold their lock for so long.
fn measured(scratch: &Scratch, name: &str, program: &Path, hold_us: u64) -> Vec<PathBuf> {
    let of_run = |number: usize| {
        let folder = scratch.join(format!("{name}-{number}"));
        let mut command = tool();
        command.args(["meter", "--keep", "--ledger-dir"]).arg(&folder).arg("--").arg(program);
        command.arg(hold_us.to_string());
        assert_eq!(run(command).code(), 0);
        ledgers(&folder)[0].parent().unwrap().to_owned()
    };
    (0..3).map(of_run).collect()
}

fn diff(options: &[&str], before: &[PathBuf], after: &[PathBuf]) -> Run {
    let mut command = tool();
    command.arg("diff").args(options).args(before).arg("--").args(after);
    run(command)
}

#[test]
fn longer_holds_are_found_and_fail_if_asked_to() {
    let scratch = Scratch::new();
    let program = build("meter_diff.c", &[]);
    let before = measured(&scratch, "before", &program, 200);
    let json = scratch.join("diff.json");
    let json = ["--json", json.to_str().unwrap()];
    let hold = || {
        let value: Value = serde_json::from_slice(&std::fs::read(json[1]).unwrap()).unwrap();
        value["locks"][0]["changes"]["hold"].clone()
    };
    assert_eq!(diff(&json, &before, &before).code(), 0);
    // However long a busy machine lets sleepers sleep: no run before has three times their mean,
    // and no sleep is shorter than asked for.
    let longer_us = (hold()["before"].as_f64().unwrap() / 1e3) as u64 * 20;
    let after = measured(&scratch, "after", &program, longer_us);

    let shown = diff(&json, &before, &after);
    assert_eq!(shown.code(), 0, "{}", shown.stderr);
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("`shared`") && text.contains("3 runs of"), "{text}");
    let value: Value = serde_json::from_slice(&std::fs::read(json[1]).unwrap()).unwrap();
    let lock = &value["locks"][0];
    assert_eq!(lock["name"], "shared", "{value:#}");
    let hold = hold();
    let ratio = hold["ratio"].as_f64().unwrap();
    assert!(ratio >= 19.0 && hold["sure"] == true, "{value:#}");
    let beyond = format!("hold > +{:.0}% @shared", hold["interval"][1].as_f64().unwrap() * 100.0);
    assert_eq!(lock["sites"].as_array().unwrap().len(), 1, "{value:#}");

    let fails = |condition: &str, a: &[PathBuf], b: &[PathBuf]| {
        diff(&["--fail-if", condition], a, b).code()
    };
    assert_eq!(fails("hold > +50% @shared", &before, &after), FOUND);
    assert_eq!(fails(&beyond, &before, &after), 0);
    assert_eq!(fails("hold < -30% @shared", &before, &after), 0);
    assert_eq!(fails("hold < -30% @sh*", &after, &before), FOUND);

    // A directory of runs is these.
    let [before_runs, after_runs] = ["before", "after"].map(|name| {
        let all = scratch.join(format!("all-{name}"));
        std::fs::create_dir(&all).unwrap();
        for run in if name == "before" { &before } else { &after } {
            std::os::unix::fs::symlink(run, all.join(run.file_name().unwrap())).unwrap();
        }
        vec![all]
    });
    let shown_again = diff(&[], &before_runs, &after_runs);
    assert_eq!(String::from_utf8(shown_again.stdout).unwrap(), text);

    let one = diff(&["--fail-if", "hold > +50%"], &before[..1], &after);
    assert_eq!(one.code(), 125, "{}", one.stderr);
    assert!(one.stderr.contains("by one run"), "{}", one.stderr);
    let wrong = diff(&["--fail-if", "hold is long"], &before, &after);
    assert_eq!(wrong.code(), 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("comparison is missing"), "{}", wrong.stderr);
}
