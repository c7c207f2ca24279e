//! `lockwright diff` on ledgers that real runs left.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{FOUND, Run, Scratch, build, is_whole, ledgers, run, tool};

/// Directories of so many measured runs, which hold their lock for so long.
fn measured(
    scratch: &Scratch,
    name: &str,
    program: &Path,
    hold_us: u64,
    runs: usize,
) -> Vec<PathBuf> {
    let of_run = |number: usize| {
        let folder = scratch.join(format!("{name}-{number}"));
        let mut command = tool();
        command.args(["meter", "--keep", "--ledger-dir"]).arg(&folder).arg("--").arg(program);
        command.arg(hold_us.to_string());
        assert_eq!(run(command).code(), 0);
        ledgers(&folder)[0].parent().unwrap().to_owned()
    };
    (0..runs).map(of_run).collect()
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
    let mut before = measured(&scratch, "before", &program, 200, 3);
    let json = scratch.join("diff.json");
    let json = ["--json", json.to_str().unwrap()];
    let shared = || {
        let value: Value = serde_json::from_slice(&std::fs::read(json[1]).unwrap()).unwrap();
        value["locks"][0].clone()
    };
    assert_eq!(diff(&json, &before, &before).code(), 0);
    // However long a busy machine lets sleepers sleep: no sleep is shorter than asked for.
    let typical_ns = shared()["changes"]["hold"]["before"].as_f64().unwrap();
    let longer_us = (typical_ns / 1e3) as u64 * 20;
    let mut after = measured(&scratch, "after", &program, longer_us, 3);
    // The busier it is, the more the runs differ, and the more of them show a factor of 20.
    let shown = loop {
        let shown = diff(&json, &before, &after);
        assert_eq!(shown.code(), 0, "{}", shown.stderr);
        let hold = &shared()["changes"]["hold"];
        if hold["sure"] == true && hold["interval"][0].as_f64().unwrap() > 1.5 {
            break String::from_utf8(shown.stdout).unwrap();
        }
        assert!(before.len() < 24, "{:#}", shared());
        let more = before.len();
        before.extend(measured(&scratch, &format!("before-{more}"), &program, 200, more));
        after.extend(measured(&scratch, &format!("after-{more}"), &program, longer_us, more));
    };

    assert!(
        shown.contains("`shared`") && shown.contains(&format!("{} runs of", after.len())),
        "{shown}"
    );
    let lock = shared();
    assert_eq!(lock["name"], "shared", "{lock:#}");
    let hold = &lock["changes"]["hold"];
    assert!(hold["after"].as_f64().unwrap() >= longer_us as f64 * 1e3, "{lock:#}");
    let beyond = format!("hold > +{:.0}% @shared", hold["interval"][1].as_f64().unwrap() * 100.0);
    assert_eq!(lock["sites"].as_array().unwrap().len(), 1, "{lock:#}");

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
    assert_eq!(String::from_utf8(shown_again.stdout).unwrap(), shown);

    for (runs, few) in [(1, "one run"), (2, "two runs")] {
        let few_runs = diff(&["--fail-if", "hold > +50%"], &before[..runs], &after);
        assert_eq!(few_runs.code(), 125, "{}", few_runs.stderr);
        assert!(few_runs.stderr.contains(&format!("by {few}")), "{}", few_runs.stderr);
        let text = String::from_utf8(diff(&[], &before[..runs], &after).stdout).unwrap();
        assert!(text.contains("no change is marked") && !text.contains('*'), "{text}");
    }
    let wrong = diff(&["--fail-if", "hold is long"], &before, &after);
    assert_eq!(wrong.code(), 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("comparison is missing"), "{}", wrong.stderr);
}

/// All changes of a comparison.
fn changes(value: &Value) -> Vec<&Value> {
    let locks = value["locks"].as_array().unwrap();
    let sites = locks.iter().flat_map(|lock| lock["sites"].as_array().unwrap());
    let all = locks.iter().chain(sites).map(|one| &one["changes"]);
    std::iter::once(&value["total"])
        .chain(all)
        .flat_map(|changes| changes.as_object().unwrap().values())
        .collect()
}

/// 200 runs of one program, dealt out to two sides again and again: the long test of docs/diff.md.
#[test]
fn chance_alone_is_seldom_marked() {
    if !is_whole() {
        return;
    }
    let scratch = Scratch::new();
    let program = build("meter_alike.c", &[]);
    let mut runs = measured(&scratch, "run", &program, 0, 200);
    let json = scratch.join("diff.json");
    let options = ["--json", json.to_str().unwrap()];
    let mut random = fastrand::Rng::with_seed(44);
    for side in [3, 5, 10, 20] {
        let (mut reports, mut marked, mut claims, mut excluded) = (0, 0, 0, 0);
        while reports < 100 {
            random.shuffle(&mut runs);
            for both in runs.chunks_exact(2 * side).take(100 - reports) {
                assert_eq!(diff(&options, &both[..side], &both[side..]).code(), 0);
                let value: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
                let changes = changes(&value);
                assert!(changes.len() > 50, "{value:#}");
                let intervals: Vec<_> =
                    changes.iter().filter_map(|change| change["interval"].as_array()).collect();
                claims += intervals.len();
                excluded += intervals
                    .iter()
                    .filter(|ends| {
                        ends[0].as_f64().is_none_or(|low| low > 1.0)
                            || ends[1].as_f64().is_some_and(|high| high < 1.0)
                    })
                    .count();
                marked += usize::from(changes.iter().any(|change| change["sure"] == true));
                reports += 1;
            }
        }
        let excluded = excluded as f64 / claims as f64;
        println!(
            "{side} runs a side: {:.1} % of {claims} intervals, a mark in {marked} of {reports} reports",
            excluded * 100.0
        );
        // The metrics of a report depend on each other, and the reports have runs in common: what 5 % can become by that.
        assert!(excluded <= 0.08 && marked <= 11, "{side} runs a side: {excluded}, {marked}");
    }
}
