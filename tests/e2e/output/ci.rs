//! Output for CI services, and test runners that run each test under the tool.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::errors::Tmpfs;
use super::speedscope::fetched;
use crate::harness::{FOUND, Scratch, build, check_with, installed, program, run, tests_dir, tool};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// The lines that GitHub would take for commands.
fn commands(output: &str) -> Vec<&str> {
    output.lines().filter(|line| line.starts_with("::")).collect()
}

#[test]
fn findings_are_told_to_github() {
    let scratch = Scratch::new();
    let summary = scratch.join("summary.md");
    fs::write(&summary, "# Before\n").expect("a file");
    let run =
        check_with(&["--github"], program("abba.c")).env("GITHUB_STEP_SUMMARY", &summary).run();
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    let commands = commands(&run.stderr);
    let source = tests_dir().join("programs/abba.c");
    let head = format!(
        "::error file={},line=7,col=2,title=lockwright%3A circular-dependency (likely)::",
        fs::canonicalize(&source).expect("the source").display()
    );
    assert_eq!(commands.len(), 1, "{}", run.stderr);
    assert!(commands[0].starts_with(&head), "{}", commands[0]);
    let message = commands[0].strip_prefix(&head).expect("checked");
    assert!(message.starts_with("`A` and `B` are taken in both orders%0Alikely: "), "{message}");
    assert!(message.contains("(turn-2) acquires `A` in turn_2 ("), "{message}");
    assert!(message.ends_with("%0Ain: abba"), "{message}");

    let page = fs::read_to_string(&summary).expect("the summary");
    assert!(page.starts_with("# Before\n## lockwright\n"), "{page}");
    assert!(page.contains("| **fails** | circular-dependency (likely): `A` and `B`"), "{page}");
    assert!(page.contains("```text\nerror[circular-dependency]"), "{page}");
}

#[test]
fn nothing_is_told_where_there_is_nothing() {
    let scratch = Scratch::new();
    let (summary, junit) = (scratch.join("summary.md"), scratch.join("locks.xml"));
    let run = check_with(&["--github", "--junit", text(&junit)], program("inorder.c"))
        .env("GITHUB_STEP_SUMMARY", &summary)
        .run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert_eq!(commands(&run.stderr), [""; 0], "{}", run.stderr);
    assert!(!summary.exists());
    let xml = fs::read_to_string(&junit).expect("a document");
    assert!(xml.contains("<testsuites name=\"lockwright\" tests=\"1\" failures=\"0\""), "{xml}");
    assert!(xml.contains("<testcase classname=\"inorder\" name=\"no findings\"/>"), "{xml}");
}

#[test]
fn a_summary_that_cannot_be_written_is_an_error() {
    let scratch = Scratch::new();
    let out = tool()
        .args(["check", "--github", "--ledger-dir", text(scratch.path()), "--"])
        .arg(program("abba.c"))
        .env("GITHUB_STEP_SUMMARY", "/no/such/folder/summary.md")
        .output()
        .expect("the tool");
    let said = said(&out);
    assert!(said.contains("cannot write /no/such/folder/summary.md"), "{said}");
    assert!(said.contains("error[circular-dependency]"), "{said}");
    assert_eq!(commands(&said).len(), 1, "{said}");
}

#[test]
fn documents_of_many_processes_have_a_suite_for_each() {
    let scratch = Scratch::new();
    let (junit, page) = (scratch.join("locks.xml"), scratch.join("locks.md"));
    let options = ["--junit", text(&junit), "--markdown", text(&page)];
    let (bad, good) = (program("abba.c"), program("inorder.c"));
    let script = format!("'{}' '<&\"'; '{}' ']]>'", bad.display(), good.display());
    let run = check_with(&options, "/bin/sh").args(["-c", &script]).run();
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    let xml = fs::read_to_string(&junit).expect("a document");
    let python = "import sys, xml.etree.ElementTree as t\n\
                  for s in t.parse(sys.argv[1]).getroot():\n \
                  print(s.get('name'), s.get('tests'), s.get('failures'), len(s.findall('testcase/failure')))";
    let Some(interpreter) = installed(&["python3"], "python3") else { return };
    let parsed = Command::new(interpreter).args(["-c", python]).arg(&junit).output();
    let parsed = parsed.expect("python");
    let suites = String::from_utf8_lossy(&parsed.stdout).into_owned();
    assert!(suites.contains("abba <&\" 1 1 1\n"), "{suites}{xml}");
    assert!(suites.contains("inorder ]]> 1 0 0\n"), "{suites}{xml}");
    let page = fs::read_to_string(&page).expect("a page");
    assert!(page.contains("| abba &#60;&#38;\" |"), "{page}");
}

/// Jenkins' schema has room for findings, with and without a place, for runs without any, and for gaps.
#[test]
fn the_junit_document_is_as_the_schema_says() {
    let Some(schema) = fetched("junit", "test/resources/jenkins-junit.xsd") else { return };
    let Some(xmllint) = installed(&["xmllint"], "libxml2-utils") else { return };
    let scratch = Scratch::new();
    let junit = scratch.join("locks.xml");
    let is_valid = || {
        let mut command = Command::new(&xmllint);
        command.args(["--noout", "--schema"]).arg(&schema).arg(&junit);
        let out = command.output().expect("xmllint");
        (out.status.success(), said(&out))
    };
    let Some(small) = Tmpfs::new("3500k,noexec") else { return };
    let stripped = build("abba.c", &["-s"]);
    let jobs: [(&Path, &Path, i32); 4] = [
        (&program("many.c"), small.path(), 125),
        (&program("abba.c"), scratch.path(), FOUND),
        (&stripped, scratch.path(), FOUND),
        (&program("inorder.c"), scratch.path(), 0),
    ];
    for (program, ledgers, code) in jobs {
        let mut command = tool();
        command.args(["check", "--junit", text(&junit), "--ledger-dir"]).arg(ledgers);
        command.arg("--").arg(program).arg("stacks");
        let run = run(command);
        assert_eq!(run.code(), code, "{}", run.stderr);
        let (is_valid, said) = is_valid();
        assert!(is_valid, "{said}{}", fs::read_to_string(&junit).unwrap());
    }
    // The schema does refuse what it does not know.
    let xml = fs::read_to_string(&junit).unwrap().replace("<testcase ", "<testcase file=\"a.c\" ");
    fs::write(&junit, xml).unwrap();
    assert!(!is_valid().0);
}

/// A copy of a project in `tests/projects`, as a build may write into its folder.
fn project(scratch: &Scratch, name: &str) -> std::path::PathBuf {
    let from = tests_dir().join("projects");
    let status = Command::new("cp").arg("-r").arg(&from).arg(scratch.join("projects")).status();
    assert!(status.expect("cp").success());
    scratch.join("projects").join(name)
}

fn succeed(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = said(&out);
    assert!(out.status.success(), "{command:?}\n{said}");
    said
}

fn said(out: &Output) -> String {
    let [stdout, stderr] = [&out.stdout, &out.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{stdout}{stderr}")
}

#[test]
fn ctest_runs_each_test_under_the_tool() {
    let Some(cmake) = installed(&["cmake"], "cmake") else { return };
    let scratch = Scratch::new();
    let source = project(&scratch, "ctest");
    let build = scratch.join("build");
    let launcher = format!("{};check;--github;--", text(Path::new(tool().get_program())));
    let emulator = format!("-DCMAKE_CROSSCOMPILING_EMULATOR={launcher}");
    // From 3.29 on that is for cross builds only, and this for all.
    let later = format!("-DCMAKE_TEST_LAUNCHER={launcher}");
    let configure = ["-S", text(&source), "-B", text(&build), &emulator, &later];
    succeed(Command::new(&cmake).args(configure));
    succeed(Command::new(&cmake).arg("--build").arg(&build));
    let ctest = Command::new(cmake.with_file_name("ctest"))
        .args(["--output-on-failure", "--test-dir", text(&build)])
        .output()
        .expect("ctest");
    let said = said(&ctest);
    assert!(!ctest.status.success(), "{said}");
    assert!(said.contains("50% tests passed, 1 tests failed out of 2"), "{said}");
    assert!(said.contains("both_orders (Failed)"), "{said}");
    assert!(said.contains("%0Ain: both_orders"), "{said}");

    // All at once: one document for all tests.
    let junit = scratch.join("locks.xml");
    let plain = scratch.join("plain");
    succeed(Command::new(&cmake).args(["-S", text(&source), "-B", text(&plain)]));
    succeed(Command::new(&cmake).arg("--build").arg(&plain));
    let run = check_with(&["--junit", text(&junit)], cmake.with_file_name("ctest"))
        .args(["--test-dir", text(&plain)])
        .run();
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    let xml = fs::read_to_string(&junit).expect("a document");
    assert!(xml.contains("<testsuite name=\"both_orders\" tests=\"1\" failures=\"1\""), "{xml}");
    assert!(xml.contains("<testcase classname=\"one_order\" name=\"no findings\"/>"), "{xml}");
}

#[test]
fn meson_runs_each_test_under_the_tool() {
    let Some(meson) = installed(&["meson"], "meson") else { return };
    if installed(&["ninja"], "ninja-build").is_none() {
        return;
    }
    let scratch = Scratch::new();
    let source = project(&scratch, "meson");
    let build = scratch.join("build");
    succeed(Command::new(&meson).arg("setup").args([&build, &source]));
    let wrapper = format!("{} check --", text(Path::new(tool().get_program())));
    let mut test = Command::new(&meson);
    test.args(["test", "--print-errorlogs", "--wrapper", &wrapper, "-C"]).arg(&build);
    let out = test.output().expect("meson");
    let said = said(&out);
    assert!(!out.status.success(), "{said}");
    assert!(said.contains("error[circular-dependency]: `stock` and `orders`"), "{said}");
    let count = |what: &str| said.lines().find(|line| line.starts_with(what)).map(str::trim_end);
    assert!(count("Ok:").is_some_and(|line| line.ends_with(" 1")), "{said}");
    assert!(count("Fail:").is_some_and(|line| line.ends_with(" 1")), "{said}");
}

#[test]
fn cargo_runs_each_test_program_under_the_tool() {
    let scratch = Scratch::new();
    let source = project(&scratch, "cargo");
    let runner = format!("{} check --github --", text(Path::new(tool().get_program())));
    let variable =
        format!("CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_RUNNER", std::env::consts::ARCH.to_uppercase());
    let out = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--test", "locks", "--", "--test-threads", "1"])
        .current_dir(&source)
        .env("CARGO_TARGET_DIR", scratch.join("target"))
        .env(variable, &runner)
        .output()
        .expect("cargo");
    let said = said(&out);
    assert!(!out.status.success(), "{said}");
    assert!(said.contains("test result: ok. 2 passed"), "{said}");
    let commands = commands(&said);
    assert_eq!(commands.len(), 1, "{said}");
    assert!(commands[0].starts_with("::error file=tests/locks.rs,line="), "{said}");
    let test = "%0Ain: locks --test-threads 1 selling_takes_both_locks_in_both_orders";
    assert!(commands[0].ends_with(test), "{said}");
}
