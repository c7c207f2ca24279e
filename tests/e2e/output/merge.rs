//! Several runs of one program, and what they make together.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::executable;
use crate::harness::{FOUND, Run, Scratch, build, ledgers, lock_names, program, run, tidy, tool};

/// Runs the program with its locks taken in this order, and gives its ledger.
fn kept(scratch: &Scratch, program: &Path, order: &str) -> PathBuf {
    let folder =
        scratch.join(format!("run-{order}-{}", fs::read_dir(scratch.path()).unwrap().count()));
    let json = folder.with_extension("json");
    let mut command = tool();
    command.args(["check", "--keep", "--json"]).arg(&json).arg("--ledger-dir").arg(&folder);
    command.arg("--").arg(program).arg(order);
    let run = run(command);
    assert_eq!(run.code(), 0, "nothing is found in one run: {}", run.stderr);
    let report = tidy(serde_json::from_slice(&fs::read(&json).unwrap()).unwrap());
    assert_eq!(report["findings"], Value::Array(vec![]), "{report:#}");
    let kept = ledgers(&folder);
    assert_eq!(kept.len(), 1, "{kept:?}");
    kept[0].clone()
}

/// Merges ledgers; with the JSON.
fn merge(scratch: &Scratch, options: &[&str], ledgers: &[&PathBuf]) -> Run {
    let json = scratch.join("merged.json");
    let mut command = tool();
    command.arg("merge").args(options).arg("--json").arg(&json).args(ledgers);
    let mut run = run(command);
    if run.code() != 125 {
        let bytes = fs::read(&json).expect("the JSON report");
        run.json = Some(tidy(serde_json::from_slice(&bytes).expect("JSON")));
    }
    run
}

fn origins(finding: &Value) -> Vec<u64> {
    let origins = finding["origins"].as_array().expect("origins");
    origins.iter().map(|origin| origin["run"].as_u64().expect("a run")).collect()
}

#[test]
fn two_runs_take_two_orders() {
    let scratch = Scratch::new();
    let halves = program("halves.c");
    let (ab, ba) = (kept(&scratch, &halves, "AB"), kept(&scratch, &halves, "BA"));
    let run = merge(&scratch, &[], &[&ab, &ba]);
    assert_eq!(run.code(), 0, "it is but possible: {}", run.stderr);
    assert_eq!(run.verdicts(), [("circular-dependency", "possible")]);
    let finding = run.finding();
    assert_eq!(lock_names(finding), ["A", "B"]);
    assert_eq!(origins(finding), [1, 2]);
    assert_eq!(run.report()["runs"].as_array().map(Vec::len), Some(2));
    assert!(run.stderr.contains("are taken in both orders, in different runs"), "{}", run.stderr);
    let pid = |ledger: &Path| {
        let name = ledger.file_name().unwrap().to_str().unwrap();
        name.split('-').next().unwrap().to_owned()
    };
    for (number, ledger) in [(1, &ab), (2, &ba)] {
        let who =
            format!("note: run {number}, process {}: thread 2 (halves) acquires ", pid(ledger));
        assert!(run.stderr.contains(&who), "{who} in {}", run.stderr);
        let name = format!("run {number} is {}", ledger.display());
        assert!(run.stderr.contains(&name), "{name} in {}", run.stderr);
    }
    assert!(run.stderr.contains("halves.c:"), "with source: {}", run.stderr);
    assert!(!run.stderr.contains("in process 0"), "{}", run.stderr);
    assert_eq!(merge(&scratch, &["--fail-on", "possible"], &[&ab, &ba]).code(), FOUND);
}

#[test]
fn a_page_says_of_each_step_in_which_run_it_was() {
    let scratch = Scratch::new();
    let halves = program("halves.c");
    let (ab, ba) = (kept(&scratch, &halves, "AB"), kept(&scratch, &halves, "BA"));
    let page = scratch.join("page.html");
    let run = merge(&scratch, &["--html", page.to_str().unwrap()], &[&ab, &ba]);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let page = fs::read_to_string(page).expect("the page");
    assert!(page.contains("lockwright merge</title>"));
    let pids: Vec<u64> = run.finding()["origins"]
        .as_array()
        .unwrap()
        .iter()
        .map(|origin| origin["pid"].as_u64().unwrap())
        .collect();
    // The two sides of the finding, one after the other, each before its source lines.
    let steps: Vec<&str> = page.split("<section class=\"step\">").skip(1).collect();
    assert_eq!(steps.len(), 2);
    for (i, (step, ledger)) in steps.iter().zip([&ab, &ba]).enumerate() {
        let number = i + 1;
        let who = format!("<h4>run {number}, process {}: thread 2 (halves) acquires ", pids[i]);
        assert!(step.starts_with(&who), "{who} in {step}");
        assert!(step.contains("halves.c"), "with source: {step}");
        // The table of runs, with what the user named.
        let name = format!(">{number}</td><td><code>{}</code></td>", ledger.display());
        assert!(page.contains(&name), "{name} in {page}");
        let drawing = format!("<h3>run {number}, process {} (", pids[i]);
        assert!(page.contains(&drawing), "{drawing} in {page}");
        // The table of locks: each run has two.
        let row =
            format!("<tr class=\"item\"><td class=\"n\" data-v=\"{number}\">{number}</td><th");
        assert!(page.matches(&row).count() >= 2, "{row} in {page}");
    }
}

/// Address space layout is random: the same class is at other addresses in each run, and another
/// may be where it was.
#[test]
fn classes_are_no_addresses() {
    let scratch = Scratch::new();
    let halves = program("halves.c");
    let (de, ed) = (kept(&scratch, &halves, "de"), kept(&scratch, &halves, "ed"));
    let run = merge(&scratch, &[], &[&de, &ed]);
    let finding = run.finding();
    assert!(
        lock_names(finding).iter().all(|name| name.starts_with("mutex initialised at halves.c:"))
    );
    assert!(finding["locks"].as_array().unwrap().iter().all(|lock| lock["addr"].is_null()));
    // One order many times over is one order.
    let again: Vec<PathBuf> = (0..3).map(|_| kept(&scratch, &halves, "de")).collect();
    let run = merge(&scratch, &[], &again.iter().chain([&de]).collect::<Vec<_>>());
    assert!(run.findings().is_empty(), "{}", run.stderr);
}

/// Without symbols classes are places in a module of the same build.
#[test]
fn stripped_programs_are_matched_by_build_and_offset() {
    let scratch = Scratch::new();
    let stripped = build("halves.c", &["-g0", "-s", "-Wl,--build-id"]);
    for orders in [["AB", "BA"], ["de", "ed"]] {
        let [one, other] = orders.map(|order| kept(&scratch, &stripped, order));
        let run = merge(&scratch, &[], &[&one, &other]);
        assert_eq!(run.verdicts(), [("circular-dependency", "possible")], "{}", run.stderr);
    }
    // The same build at another path.
    let copy = scratch.join("copy");
    executable::copy(&stripped, &copy);
    let [one, other] = [kept(&scratch, &stripped, "AB"), kept(&scratch, &copy, "BA")];
    assert_eq!(merge(&scratch, &[], &[&one, &other]).findings().len(), 1);
}

#[test]
fn of_another_build_names_are_matched() {
    let scratch = Scratch::new();
    let one = build("halves.c", &["-Wl,--build-id"]);
    let other = build("halves.c", &["-Wl,--build-id", "-DMOVED", "-O0"]);
    for (first, second) in [("AC", "CA"), ("de", "ed")] {
        let (first, second) = (kept(&scratch, &one, first), kept(&scratch, &other, second));
        let run = merge(&scratch, &[], &[&first, &second]);
        assert_eq!(run.verdicts(), [("circular-dependency", "possible")], "{}", run.stderr);
        let evidence = run.finding()["evidence"].to_string();
        let by_name = evidence.contains("different builds: variables are matched by their names");
        assert_eq!(by_name, lock_names(run.finding()) == ["A", "C"], "{evidence}");
    }
    // Without names there is nothing to match.
    let one = build("halves.c", &["-g0", "-s", "-Wl,--build-id"]);
    let other = build("halves.c", &["-g0", "-s", "-Wl,--build-id", "-DMOVED"]);
    let (first, second) = (kept(&scratch, &one, "AC"), kept(&scratch, &other, "CA"));
    assert!(merge(&scratch, &[], &[&first, &second]).findings().is_empty());
}

#[test]
fn three_runs_make_a_circle() {
    let scratch = Scratch::new();
    let halves = program("halves.c");
    let [ab, bc, ca] = ["AB", "BC", "CA"].map(|order| kept(&scratch, &halves, order));
    let run = merge(&scratch, &[], &[&ab, &bc, &ca]);
    assert_eq!(lock_names(run.finding()), ["A", "B", "C"]);
    let mut of = origins(run.finding());
    of.sort_unstable();
    assert_eq!(of, [1, 2, 3]);
    assert!(merge(&scratch, &[], &[&ab, &ca]).findings().is_empty());
}

#[test]
fn a_common_lock_guards() {
    let scratch = Scratch::new();
    let halves = program("halves.c");
    let (cab, cba) = (kept(&scratch, &halves, "CAB"), kept(&scratch, &halves, "CBA"));
    let run = merge(&scratch, &[], &[&cab, &cba]);
    assert_eq!(run.verdicts(), [("circular-dependency", "guarded")], "{}", run.stderr);
    assert!(run.stderr.contains("1 guarded cycle not shown"), "{}", run.stderr);
}

#[test]
fn what_is_known_is_not_told() {
    let scratch = Scratch::new();
    let halves = program("halves.c");
    let (ab, ba) = (kept(&scratch, &halves, "AB"), kept(&scratch, &halves, "BA"));
    let known = scratch.join("known.json");
    let known = known.to_str().unwrap();
    merge(&scratch, &["--write-baseline", known], &[&ab, &ba]);
    let run = merge(&scratch, &["--fail-on", "possible", "--baseline", known], &[&ba, &ab]);
    assert_eq!(
        (run.code(), &run.finding()["baseline"]),
        (0, &Value::from("known")),
        "{}",
        run.stderr
    );
    let rules = scratch.join("known.supp");
    let rules = rules.to_str().unwrap();
    merge(&scratch, &[&format!("--gen-suppressions={rules}")], &[&ab, &ba]);
    let run = merge(&scratch, &["--fail-on", "possible", "--suppressions", rules], &[&ab, &ba]);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(run.stderr.contains("1 suppressed by"), "{}", run.stderr);
}

#[test]
fn one_process_is_told_to_be_too_few() {
    let scratch = Scratch::new();
    let ab = kept(&scratch, &program("halves.c"), "AB");
    let run = merge(&scratch, &[], &[&ab, &ab]);
    assert_eq!(run.code(), 125);
    assert!(run.stderr.contains("is named twice"), "{}", run.stderr);
    assert!(
        run.stderr.contains("only one ledger") && run.stderr.contains("--keep"),
        "{}",
        run.stderr
    );
}
