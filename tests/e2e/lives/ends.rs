//! The ways in which a process can end are kept apart: by exit, `_exit`, quick_exit, exec or a
//! signal, or not yet.

use serde_json::{Value, json};

use crate::harness::{ledgers, program, report_again, run, signal, tool, under, until};

/// How the report's process number `index` ended.
fn end(report: &Value, index: usize) -> &Value {
    &report["processes"][index]["end"]
}

#[test]
fn how_the_program_ended_is_told_apart() {
    let cases = [
        (&["exit", "3"] as &[&str], json!({ "how": "exit", "code": 3, "signal": null }), None),
        (&["return"], json!({ "how": "exit", "code": 0, "signal": null }), None),
        (
            &["_exit", "0"],
            json!({ "how": "_exit", "code": 0, "signal": null }),
            Some("it ended by _exit(0)"),
        ),
        (
            &["quick", "2"],
            json!({ "how": "quick_exit", "code": 2, "signal": null }),
            Some("it ended by quick_exit(2)"),
        ),
        (
            &["abort"],
            json!({ "how": "signal", "code": null, "signal": 6 }),
            Some("it was killed by SIGABRT"),
        ),
        (
            &["kill", "9"],
            json!({ "how": "signal", "code": null, "signal": 9 }),
            Some("it was killed by SIGKILL"),
        ),
    ];
    for (arguments, expected, note) in cases {
        for command in ["check", "meter", "run"] {
            let running = under(command, &["--keep"], program("ends.c")).args(arguments).spawn();
            let dir = running.ledger_dir();
            let mut running = running;
            until("the end", || (!running.is_running()).then_some(()));
            let (again, text) = report_again_of(&dir);
            let run = running.wait();
            for (report, text) in [(run.report(), &run.stderr), (&again, &text)] {
                assert_eq!(*end(report, 0), expected, "{command} {arguments:?}: {text}");
                for word in ["_exit", "quick_exit", "killed", "unknown", "not known"] {
                    let expected = note.is_some_and(|note| note.contains(word));
                    assert_eq!(text.contains(word), expected, "{command} {arguments:?}: {text}");
                }
                assert!(note.is_none_or(|note| text.contains(note)), "{command}: {text}");
            }
        }
    }
}

/// The output of `report` for the run below a folder.
fn report_again_of(dir: &std::path::Path) -> (Value, String) {
    let run_dir = ledgers(dir)[0].parent().unwrap().to_owned();
    let json = dir.join("again.json");
    let mut report = tool();
    report.args(["report", "--exit-code", "0", "--json"]).arg(&json).arg(run_dir);
    let report = run(report);
    (serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap(), report.stderr)
}

#[test]
fn so_is_how_a_forked_child_ended() {
    for (arguments, how, code) in [
        (&["child", "exit", "3"] as &[&str], "exit", json!(3)),
        (&["child", "_exit", "4"], "_exit", json!(4)),
        (&["child", "quick", "5"], "quick_exit", json!(5)),
    ] {
        for command in ["check", "meter", "run"] {
            let run = under(command, &[] as &[&str], program("ends.c")).args(arguments).run();
            assert_eq!(end(run.report(), 0)["how"], "exit", "{}", run.stderr);
            assert_eq!(end(run.report(), 1)["how"], how, "{}", run.stderr);
            assert_eq!(end(run.report(), 1)["code"], code, "{}", run.stderr);
            assert!(run.stderr.contains(&format!("{how} {code}")), "{}", run.stderr);
        }
    }
}

/// Only its parent can say that, by whatever function it waits.
#[test]
fn so_is_a_child_that_a_signal_killed() {
    for wait in ["wait", "waitpid", "wait3", "wait4", "waitid", "unwanted", "unwatched"] {
        for (command, how, number) in
            [("check", "abort", "6"), ("meter", "kill", "9"), ("run", "kill", "11")]
        {
            let arguments = ["child", how, number];
            let job = under(command, &[] as &[&str], program("ends.c"));
            let run = job.args(arguments).env("WAIT_BY", wait).run();
            assert_eq!(end(run.report(), 0)["how"], "exit", "{}", run.stderr);
            let (end, context) = (end(run.report(), 1), format!("{wait}: {}", run.stderr));
            match wait {
                "unwatched" => assert_eq!(end["how"], "unknown", "{context}"),
                _ => {
                    assert_eq!(end["how"], "signal", "{context}");
                    assert_eq!(end["signal"].to_string(), number, "{context}");
                }
            }
        }
    }
}

#[test]
fn a_program_that_executes_another_is_no_program_that_was_killed() {
    for command in ["check", "meter", "run"] {
        let run = under(command, &[] as &[&str], program("ends.c")).arg("exec").run();
        assert_eq!(end(run.report(), 0)["how"], "exec", "{}", run.stderr);
        assert_eq!(end(run.report(), 1)["how"], "exit", "{}", run.stderr);
    }
}

#[test]
fn a_program_that_still_runs_is_said_to_run() {
    let running = under("check", &["--keep"], program("hang.c")).spawn();
    let pid = running.program_id();
    until("its ledger", || (!ledgers(&running.ledger_dir()).is_empty()).then_some(()));
    let (report, text) = report_again(&running);
    assert_eq!(*end(&report, 0), json!({ "how": "running", "code": null, "signal": null }));
    assert!(text.contains("it still runs"), "{text}");
    signal(pid, libc::SIGKILL);
    let run = running.wait();
    assert_eq!(end(run.report(), 0)["how"], "signal");
}
