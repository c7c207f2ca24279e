//! `lockwright-lab sim --explore`: that it finds what is planted, and shows it again.

use serde_json::Value;

use crate::harness::{Run, run, tool};

fn explore(arguments: &[&str]) -> Run {
    let mut command = tool();
    command.args(["sim", "--explore"]).args(arguments);
    run(command)
}

#[test]
fn a_failure_is_found_again_by_its_commands() {
    let found = explore(&["--lock", "busted_no_wake", "--threads", "8"]);
    assert_eq!(found.code(), 101, "{}", found.stderr);
    let text = found.text();
    assert!(text.contains("and nobody is left to wake them"), "{text}");
    let commands: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("lockwright-lab sim --explore "))
        .map(|it| it.1)
        .collect();
    assert_eq!(commands.len(), 2, "{text}");
    let wrong = |text: &str| text.lines().find(|line| line.starts_with("!!!")).map(str::to_owned);
    for command in commands {
        let again = explore(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(again.code(), 101, "{command}: {}", again.stderr);
        assert_eq!(wrong(&again.text()), wrong(&text), "{command}");
    }
}

#[test]
fn each_planted_fault_is_found() {
    let mut list = tool();
    list.args(["sim", "--list"]);
    let list = run(list).text();
    let faults = list.split("faults planted for --explore, which must be found:\n").nth(1);
    let names: Vec<&str> = faults
        .expect("a section")
        .lines()
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 15, "{list}");
    let found = explore(&["--lock", &names.join(",")]);
    assert_eq!(found.code(), 101, "{}", found.stderr);
    for name in names {
        let failure = format!("!!! {name}, 4 threads: ");
        assert!(found.text().contains(&failure), "{name}: {}", found.text());
    }
    let said = |said: &str| assert!(found.text().contains(said), "{said}: {}", found.text());
    said("read what was half written: ");
    said(" ns before its deadline.");
}

#[test]
fn sound_locks_pass_and_json_has_standard_output_for_itself() {
    let run = explore(&["--lock", "all", "--threads", "8", "--count", "100", "--json", "-"]);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let json: Value = serde_json::from_str(&run.text()).expect("JSON and nothing else");
    assert!(json["explored"].as_array().is_some_and(|locks| locks.len() > 10), "{json}");
    assert!(run.stderr.contains("overtaken"), "the table: {}", run.stderr);
}

#[test]
fn all_schedules_of_a_bound_are_said_to_be_all() {
    let arguments =
        ["--lock", "ticket", "--threads", "2", "--operations", "1", "--preemptions", "2"];
    let run = explore(&arguments);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    assert!(run.text().contains("ok: all schedules of the bound"), "{}", run.text());
}

#[test]
fn what_cannot_be_explored_is_told() {
    for (arguments, said) in [
        (&["--lock", "no-such"][..], "there is no lock to be explored `no-such`"),
        (&["--threads", "65"], "--explore can have 64 threads at most"),
        (&["--schedule", "3:1,2:0"], "write `POINT:THREAD,...` in order"),
        (&["--machine", "epyc-9654"], "cannot be used with"),
    ] {
        let run = explore(arguments);
        assert_eq!(run.code(), 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
}
