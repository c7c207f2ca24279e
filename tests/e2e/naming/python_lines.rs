//! Python's locks by the lines that take them.

use std::process::Command;

use crate::golden::golden_findings;
use crate::harness::{FOUND, Job, Scratch, check_with, tests_dir};
use crate::kinds::semaphores::{is_python_watched, python_itself};

/// Whether the lines of this Python's functions are known, which depends on its version.
pub fn has_lines() -> bool {
    if !is_python_watched() {
        return false;
    }
    let version = "import sys; print('%d.%d' % sys.version_info[:2])";
    let output = Command::new(python_itself()).args(["-c", version]).output().expect("python3");
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let is_known = ["3.11", "3.12", "3.13", "3.14"].contains(&version.as_str());
    if !is_known {
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "python3 is {version}");
        println!("skipped: python3 is {version}");
    }
    is_known
}

fn lines(args: &[&str], how: &str) -> Job {
    check_with(args, python_itself()).arg(tests_dir().join("programs/lines.py")).arg(how)
}

#[test]
fn python_lines_of_both_orders() {
    if has_lines() {
        golden_findings("python-lines", lines(&[], "both"));
    }
}

#[test]
fn python_lines_of_one_order_are_clean() {
    if has_lines() {
        let run = lines(&[], "one").run();
        assert!(run.findings().is_empty(), "{}", run.stderr);
        assert_eq!(run.code(), 0, "{}", run.stderr);
    }
}

/// Formats for tools have the lines, and rules can name the functions and the files.
#[test]
fn python_lines_are_in_every_format_and_rule() {
    if !has_lines() {
        return;
    }
    let dir = Scratch::new();
    let sarif = dir.join("report.sarif");
    let run = lines(&["--sarif", sarif.to_str().unwrap()], "both").run();
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    let frames = run.findings()[0].to_string();
    for function in ["transfer", "write", "show"] {
        assert!(frames.contains(&format!("\"function\":\"{function}\"")), "{function}: {frames}");
    }
    let text = std::fs::read_to_string(&sarif).expect("SARIF");
    assert!(text.contains("programs/lines.py"), "{text}");
    assert!(text.contains("\"startLine\": 28") || text.contains("\"startLine\":28"), "{text}");

    let rules = dir.join("rules.supp");
    for (rule, code) in [
        ("[a]\nkind: circular-dependency\nstack:\n  ...\n  write\n  transfer\n  ...\n", 0),
        ("[a]\nkind: circular-dependency\nstack:\n  write\n  somebody_else\n", FOUND),
    ] {
        std::fs::write(&rules, rule).expect("rules");
        let run = lines(&["--suppressions", rules.to_str().unwrap()], "both").run();
        assert_eq!(run.code(), code, "{rule}: {}", run.stderr);
    }
}

fn known_lines(how: &str) -> Job {
    check_with(&["--all-instances"], python_itself())
        .arg(tests_dir().join("programs/known_lines.py"))
        .arg(how)
}

/// The first locks and orders of some lines are looked up, the others known.
#[test]
fn python_lines_that_are_known_stay_apart() {
    if !has_lines() {
        return;
    }
    let run = known_lines("both").run();
    let findings = run.findings();
    let circles: Vec<String> = findings
        .iter()
        .filter(|finding| finding["kind"] == "circular-dependency")
        .map(|finding| finding.to_string())
        .collect();
    assert!(!circles.is_empty(), "{}", run.stderr);
    for circle in &circles {
        for place in ["known_lines.py:8 (first)", "known_lines.py:12 (second)"] {
            assert!(circle.contains(place), "{place}: {circle}");
        }
        for function in ["forward", "backward"] {
            let function = format!("\"function\":\"{function}\"");
            assert!(circle.contains(&function), "{function}: {circle}");
        }
    }
    let run = known_lines("one").run();
    assert!(run.findings().is_empty(), "{}", run.stderr);
}
