//! `--follow`: which of the processes that a program starts are watched, and what is reported about
//! the others.

use std::fs;
use std::path::{Path, PathBuf};

use crate::executable;
use crate::harness::{Run, Scratch, build, check_with, program, rust_program, under};

/// A shell that starts `middle`, a copy of the shell that takes no locks, which starts `abba`.
struct Tree {
    _scratch: Scratch,
    outer: PathBuf,
}

impl Tree {
    fn new() -> Self {
        let scratch = Scratch::new();
        let (outer, middle) = (scratch.join("outer"), scratch.join("middle"));
        executable::copy(&fs::canonicalize("/bin/sh").unwrap(), &middle);
        let abba = program("abba.c");
        // Not the last command: a shell would become that instead of starting it.
        let script = format!(
            "#!/bin/sh\n'{}' -c \"'{}' >/dev/null; exit 3\"\nexit 4\n",
            middle.display(),
            abba.display()
        );
        executable::write(&outer, script.as_bytes());
        Self { _scratch: scratch, outer }
    }

    fn check(&self, follow: &[&str]) -> Run {
        check_with(follow, &self.outer).run()
    }
}

fn names(run: &Run, of: &str) -> Vec<String> {
    let processes = run.report()[of].as_array().unwrap();
    let name = |exe: &str| Path::new(exe).file_name().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<String> =
        processes.iter().map(|process| name(process["exe"].as_str().unwrap())).collect();
    names.sort();
    names
}

fn shell() -> String {
    let shell = fs::canonicalize("/bin/sh").unwrap();
    shell.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn all_processes_are_watched_by_default() {
    let run = Tree::new().check(&[]);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    let mut expected = vec!["abba".to_owned(), shell(), "middle".into()];
    expected.sort();
    assert_eq!(names(&run, "processes"), expected);
    assert_eq!(run.report()["unwatched"], serde_json::Value::Array(vec![]));
    // A line for each that has locks in the text, with the command.
    let table: Vec<&str> =
        run.stderr.lines().skip_while(|line| *line != "processes:").skip(2).take(2).collect();
    assert!(
        table.iter().any(|line| line.contains(" exit ") && line.ends_with("abba")),
        "{table:?}"
    );
    assert_eq!(table[1], "  and 2 processes without locks", "{}", run.stderr);
}

#[test]
fn a_grandchild_alone_by_its_name() {
    let run = Tree::new().check(&["--follow=ab*a"]);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    let mut expected = vec!["abba".to_owned(), shell()];
    expected.sort();
    assert_eq!(names(&run, "processes"), expected, "the program itself, and who is named");
    assert_eq!(names(&run, "unwatched"), ["middle"], "the environment went through it");
    assert!(run.stderr.contains("not watched, by --follow: "), "{}", run.stderr);
    let abba = run.report()["processes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|process| process["exe"].as_str().unwrap().ends_with("/abba"));
    assert_eq!(abba.unwrap()["acquisitions"], 4, "{:#}", run.report());
}

#[test]
fn nobody_but_the_program() {
    let run = Tree::new().check(&["--follow", "none"]);
    assert_eq!(run.verdicts(), [], "{}", run.stderr);
    assert_eq!(run.code(), 4);
    assert_eq!(names(&run, "processes"), [shell()]);
    assert_eq!(names(&run, "unwatched"), ["middle"], "it starts without the library");
}

#[test]
fn several_names_and_a_script_by_its_own() {
    let run = Tree::new().check(&["--follow=middle,nobody", "--follow=abba"]);
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(names(&run, "unwatched"), [] as [&str; 0]);

    // Started by another shell, whose executable is the same as the script's.
    let tree = Tree::new();
    let start = format!("'{}'; exit 5", tree.outer.display());
    let run = check_with(&["--follow=outer"], "/bin/sh").args(["-c", &start]).run();
    assert_eq!(run.code(), 5, "{}", run.stderr);
    assert_eq!(names(&run, "processes"), [shell(), shell()], "{}", run.stderr);
    assert_eq!(names(&run, "unwatched"), ["abba", "middle"]);
}

#[test]
fn forked_children_run_the_same_executable() {
    let forking = program("forking.c");
    let run = check_with(&["--follow=none"], &forking).run();
    assert_eq!(run.verdicts(), [], "only the child has it: {}", run.stderr);
    assert_eq!(names(&run, "unwatched"), ["forking"]);
    let run = check_with(&["--follow=forking"], &forking).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{}", run.stderr);
    assert_eq!(names(&run, "unwatched"), [] as [&str; 0]);
}

#[test]
fn measured_processes_are_chosen_alike() {
    let tree = Tree::new();
    let run = under("meter", &["--follow=abba"], &tree.outer).run();
    assert_eq!(names(&run, "unwatched"), ["middle"]);
    assert!(run.stderr.contains("not watched, by --follow: "), "{}", run.stderr);
    assert!(run.stderr.contains("\nprocesses:\n"), "{}", run.stderr);
}

#[test]
fn kept_ledgers_keep_the_record() {
    let tree = Tree::new();
    let scratch = Scratch::new();
    let mut check = crate::harness::tool();
    check.args(["check", "--keep", "--follow=none", "--ledger-dir"]).arg(scratch.path());
    check.arg(&tree.outer);
    let run = crate::harness::run(check);
    let dir = run.stderr.split("ledgers kept in ").nth(1).unwrap().lines().next().unwrap();
    let mut report = crate::harness::tool();
    report.args(["report", dir]);
    let report = crate::harness::run(report);
    assert!(report.stderr.contains("not watched, by --follow: "), "{}", report.stderr);
}

#[test]
fn an_empty_report_says_why() {
    for command in ["check", "meter", "run"] {
        let run = under(command, &[] as &[&str], build("go_mark.c", &[])).run();
        let why = "no locks were seen: the locks of Go's sync are its runtime's own";
        assert_eq!(run.stderr.matches(why).count(), 1, "{command}: {}", run.stderr);
        assert!(run.stderr.contains("lockwright doctor "), "{command}: {}", run.stderr);
        assert!(
            !run.stderr.contains("lockwright sees calls of"),
            "not the general words: {}",
            run.stderr
        );
    }
    // Those of Rust's std are seen.
    let run = check_with(&[] as &[&str], rust_program("std_mutex.rs")).run();
    assert!(!run.stderr.contains("locks were seen"), "{}", run.stderr);
    let run = check_with(&[] as &[&str], program("abba.c")).run();
    assert!(!run.stderr.contains("locks were seen"), "{}", run.stderr);
    // Few acquisitions, but nothing that is known to be hidden.
    let run = check_with(&[] as &[&str], program("ending.c")).args(["exit", "0"]).run();
    assert!(!run.stderr.contains("locks were seen"), "{}", run.stderr);
}
