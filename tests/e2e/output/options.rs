//! Options of `check` and `report`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use crate::executable;
use crate::harness::{
    FOUND, Scratch, check, check_with, files, kept_ledger, ledgers, program, run, signal, tool,
    under,
};

#[test]
fn fail_on_moves_the_threshold() {
    let instances = program("instances.c");
    let possible = check_with(&["--fail-on", "possible"], &instances).arg("classes").run();
    assert_eq!(possible.code(), FOUND);
    let deadlocked = check_with(&["--fail-on", "deadlocked"], &instances).arg("same").run();
    assert_eq!(deadlocked.verdicts(), [("circular-dependency", "likely")]);
    assert_eq!(deadlocked.code(), 0);
    let single = check_with(&["--fail-on", "single-thread"], program("abba.c")).arg("single").run();
    assert_eq!(single.code(), FOUND);
}

#[test]
fn exit_code_is_free_to_choose() {
    let run = check_with(&["--exit-code", "9"], program("abba.c")).run();
    assert_eq!(run.code(), 9);
    let run = check_with(&["--exit-code", "0"], program("abba.c")).run();
    assert_eq!((run.code(), run.findings().len()), (0, 1));
    // It is for findings, not for the program's own end.
    let run = check_with(&["--exit-code", "9"], program("ending.c")).args(["exit", "3"]).run();
    assert_eq!(run.code(), 3);
}

#[test]
fn output_goes_to_a_file() {
    let scratch = Scratch::new();
    let file = scratch.join("report.txt");
    let run = check_with(&["-o", file.to_str().unwrap()], program("abba.c")).run();
    let report = fs::read_to_string(&file).expect("the report");
    assert!(report.contains("likely") && report.contains("turn-2"), "{report}");
    assert_eq!(run.stderr, "", "stderr stays the program's");
    assert_eq!(run.code(), FOUND);
}

#[test]
fn with_an_output_file_standard_error_is_the_programs() {
    let scratch = Scratch::new();
    let file = scratch.join("report.txt");
    let to_file = ["-o", file.to_str().unwrap()];
    // What there is to remark on, too: ledgers that are kept, a program that is ended, one that was
    // not watched.
    for (command, options, source, arguments, remark) in [
        ("check", &["--keep"] as &[&str], "ending.c", &["exit", "0"] as &[&str], "ledgers kept in"),
        ("meter", &["--keep"], "ending.c", &["exit", "0"], "ledgers kept in"),
        ("run", &["--keep"], "ending.c", &["exit", "0"], "ledgers kept in"),
        ("check", &[], "deadlock.c", &[], "deadlocked"),
        ("run", &[], "deadlock.c", &[], "deadlocked"),
    ] {
        let options = [options, &to_file].concat();
        let run = under(command, &options, program(source)).args(arguments).run();
        assert_eq!(run.stderr, "", "{command} {source}");
        let report = fs::read_to_string(&file).expect("the report");
        assert!(report.contains(remark), "{command} {source}: {report}");
        fs::remove_file(&file).unwrap();
    }
    let mut later = tool();
    later.arg("report").args(to_file).arg(kept_ledger(&scratch)).arg(scratch.join("no-such.lwl"));
    let later = run(later);
    assert_eq!(later.stderr, "", "report");
    assert!(fs::read_to_string(&file).unwrap().contains("no-such.lwl"));
}

#[test]
fn grades_of_no_concern_are_counted_and_shown_on_demand() {
    let brief = check(program("abba.c")).arg("single").run();
    assert!(brief.stderr.contains("single-thread"), "{}", brief.stderr);
    let full = check_with(&["--all"], program("abba.c")).arg("single").run();
    assert!(full.stderr.lines().count() > brief.stderr.lines().count(), "{}", full.stderr);
    assert!(full.stderr.contains("abba.c"), "{}", full.stderr);
}

#[test]
fn kept_ledgers_give_the_same_report_later() {
    let scratch = Scratch::new();
    let folder = scratch.join("kept");
    let json = scratch.join("now.json");
    let mut now = tool();
    now.args(["check", "--keep", "--json"]).arg(&json).arg("--ledger-dir").arg(&folder);
    now.arg("--").arg(program("abba.c"));
    let now = run(now);
    assert_eq!(now.code(), FOUND, "{}", now.stderr);
    let kept = ledgers(&folder);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(now.stderr.contains(folder.to_str().unwrap()), "it says where: {}", now.stderr);

    for what in [kept[0].clone(), kept[0].parent().unwrap().to_owned()] {
        let later_json = scratch.join("later.json");
        let mut later = tool();
        later.args(["report", "--json"]).arg(&later_json).arg(&what);
        let later = run(later);
        assert_eq!(later.code(), FOUND, "{}", later.stderr);
        let read = |path| -> serde_json::Value {
            serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
        };
        let (now, later) = (read(&json), read(&later_json));
        assert_eq!(now["findings"], later["findings"]);
        assert_eq!(now["summary"]["acquisitions"], later["summary"]["acquisitions"]);
    }
}

#[test]
fn report_of_a_program_that_was_killed() {
    let running = check_with(&["--keep"], program("ending.c")).arg("wait").spawn();
    let pid = running.program_id();
    signal(pid, libc::SIGKILL);
    let folder = running.ledger_dir();
    let mut running = running;
    crate::harness::until("the end", || (!running.is_running()).then_some(()));
    let kept = ledgers(&folder);
    assert_eq!(kept.len(), 1);
    let mut later = tool();
    later.args(["report", "--json", "-"]).arg(&kept[0]);
    let later = run(later);
    let report: serde_json::Value = serde_json::from_slice(&later.stdout).unwrap();
    assert_eq!(report["summary"]["acquisitions"], 2, "{report:#}");
    assert_eq!(report["processes"][0]["exited"], false);
    assert_eq!(running.wait().status.signal(), Some(libc::SIGKILL));
}

#[test]
fn report_of_a_program_that_runs_on() {
    let running = check(program("ending.c")).arg("wait").spawn();
    let pid = running.program_id();
    let live = ledgers(&running.ledger_dir());
    assert_eq!(live.len(), 1, "{live:?}");
    let mut report = tool();
    report.args(["report", "--json", "-"]).arg(&live[0]);
    let report: serde_json::Value = serde_json::from_slice(&run(report).stdout).unwrap();
    assert_eq!(report["processes"][0]["pid"], pid);
    assert_eq!(report["summary"]["acquisitions"], 2);
    signal(pid, libc::SIGTERM);
    assert_eq!(running.wait().status.code(), Some(7));
}

#[test]
fn the_one_file_works_wherever_it_is_moved() {
    let scratch = Scratch::new();
    let moved = scratch.join("lw");
    executable::copy(Path::new(env!("CARGO_BIN_EXE_lockwright")), &moved);
    let mut command = std::process::Command::new(&moved);
    command.env_clear().arg("check").arg("--ledger-dir").arg(scratch.join("ledgers"));
    command.arg("--").arg(program("abba.c"));
    let run = run(command);
    assert_eq!((run.text().as_str(), run.code()), ("the end\n", FOUND), "{}", run.stderr);
}

#[test]
fn the_demo_finds_what_was_planted() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.join("here")).expect("a folder");
    let mut demo = tool();
    demo.arg("demo").current_dir(scratch.join("here"));
    let run = run(demo);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(run.stderr.contains("likely"), "{}", run.stderr);
}

/// The demo leaves the file that its report quotes, under the name that the report prints.
#[test]
fn the_demo_says_where_its_source_is() {
    let scratch = Scratch::new();
    let (here, other) = (scratch.join("here"), scratch.join("other"));
    let demo = |folder: &Path, options: &[&str]| {
        fs::create_dir_all(folder).expect("a folder");
        let mut demo = tool();
        demo.arg("demo").args(options).current_dir(folder);
        run(demo)
    };
    let printed = demo(&here, &["--source"]);
    assert_eq!((printed.code(), printed.stderr.as_str()), (0, ""));
    let source = printed.text();
    assert!(!here.join("demo.c").exists(), "it is printed, and not left");

    // The lines that the report quotes are lines of it, by their numbers. A second run finds its own file.
    for _ in 0..2 {
        let report = demo(&here, &[]).stderr;
        assert!(report.contains("--> demo.c:"), "{report}");
        assert!(
            report.contains("demo.c, which the report quotes, is in this directory"),
            "{report}"
        );
        assert_eq!(fs::read_to_string(here.join("demo.c")).expect("the source"), source);
        let quoted: Vec<(usize, &str)> = report
            .lines()
            .filter_map(|line| line.split_once(" | "))
            .filter_map(|(number, line)| Some((number.trim().parse().ok()?, line.trim())))
            .collect();
        assert!(quoted.len() >= 4, "{report}");
        for (number, line) in quoted {
            let expected = source.lines().nth(number - 1).expect("a line");
            assert_eq!(line, expected.trim(), "line {number}");
        }
    }

    // A file of the reader's stays.
    fs::create_dir_all(&other).expect("a folder");
    fs::write(other.join("demo.c"), "mine").expect("a file");
    let report = demo(&other, &[]).stderr;
    assert!(report.contains("`lockwright demo --source` prints it"), "{report}");
    assert_eq!(fs::read_to_string(other.join("demo.c")).expect("a file"), "mine");

    let folder = scratch.join("kept");
    let kept = demo(&other, &["--keep", "--ledger-dir", folder.to_str().expect("UTF-8")]).stderr;
    assert!(!kept.contains("--source"), "{kept}");
    let file = files(&folder).into_iter().find(|file| file.ends_with("demo.c"));
    let file = file.unwrap_or_else(|| panic!("no demo.c: {kept}"));
    assert_eq!(fs::read_to_string(file).expect("the source"), source);
}

#[test]
fn counters_and_listings() {
    let scratch = Scratch::new();
    let folder = scratch.join("kept");
    let mut watched = tool();
    watched.args(["check", "--keep", "--stats", "--ledger-dir"]).arg(&folder);
    let watched = run({
        watched.arg("--").arg(program("abba.c"));
        watched
    });
    assert!(watched.stderr.contains("\n lock-classes: "), "{}", watched.stderr);
    assert!(watched.stderr.contains("\n chain lookup hits: "), "{}", watched.stderr);
    let file = scratch.join("report.txt");
    let mut later = tool();
    later.args(["report", "--stats", "-o"]).arg(&file).arg(&ledgers(&folder)[0]);
    assert_eq!(run(later).code(), FOUND);
    let report = fs::read_to_string(&file).expect("the report");
    let at = |text: &str| report.find(text).unwrap_or_else(|| panic!("no {text} in {report}"));
    assert!(at("1 finding") < at(" lock-classes: "), "{report}");
    for (option, expected) in
        [("--classes", "all lock classes of process "), ("--chains", "in process, segments: 1")]
    {
        let mut listing = tool();
        listing.args(["report", option]).arg(&ledgers(&folder)[0]);
        let listing = run(listing);
        assert_eq!((listing.code(), listing.stderr.as_str()), (0, ""), "{option}");
        let shown = String::from_utf8(listing.stdout).expect("UTF-8");
        assert!(shown.contains(expected), "{option}: {shown}");
    }
    let mut graph = tool();
    graph.args(["report", "--graph"]).arg(&ledgers(&folder)[0]);
    let graph = String::from_utf8(run(graph).stdout).expect("UTF-8");
    assert!(graph.starts_with("digraph lockdep {"), "{graph}");
    assert_eq!(graph.matches("[color=red, style=\"bold\"").count(), 2, "{graph}");
}
