//! Every acquisition of a run is in the sum, however busy the machine is; and a run that was not
//! watched whole says so, and fails.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{Run, Scratch, build, due, ledgers, program, run, tool, under};
use crate::output::errors::Tmpfs;

/// Processes that keep all processors busy.
struct Burners(Vec<Child>);

impl Burners {
    fn new() -> Self {
        let burn = |_| {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
            shell.spawn().expect("a shell")
        };
        Self((0..4).map(burn).collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for burner in &mut self.0 {
            let _ = burner.kill();
            let _ = burner.wait();
        }
    }
}

/// The acquisitions in the reports of a run: the checker's, the meter's, or both.
fn acquisitions(run: &Run) -> Vec<u64> {
    let report = run.report();
    let measured = report.get("meter").or_else(|| report.get("locks").map(|_| report));
    let of_meter = measured.map(|measured| {
        let locks = measured["locks"].as_array().expect("locks").iter();
        locks.map(|lock| lock["total"]["acquisitions"].as_u64().expect("a count")).sum()
    });
    let of_check = report.get("summary").map(|s| s["acquisitions"].as_u64().expect("a count"));
    of_check.into_iter().chain(of_meter).collect()
}

/// Whether it was watched whole, and why not.
fn completeness(run: &Run) -> (bool, Vec<&str>) {
    completeness_of(run.report())
}

fn completeness_of(report: &Value) -> (bool, Vec<&str>) {
    let of = report.get("summary").unwrap_or(report);
    let reasons = of["incomplete"].as_array().expect("reasons").iter();
    (
        of["complete"].as_bool().expect("complete"),
        reasons.map(|gap| gap["reason"].as_str().expect("a reason")).collect(),
    )
}

/// Waiters for the engine's lock gave up after lost races, and recording stopped.
#[test]
fn every_acquisition_is_in_the_sum_while_others_burn_the_processors() {
    let _burners = Burners::new();
    let library = build("dlopen_race_library.c", &["-shared", "-fPIC"]);
    let programs: [(&str, &[&str]); 3] = [
        ("lock_churn.c", &["48", "200"]),
        ("threads_at_once.c", &["2000"]),
        ("dlopen_race.c", &[library.to_str().expect("a path")]),
    ];
    for command in due(["check", "meter", "run"], 3) {
        for (source, args) in programs {
            let run = under(command, &[] as &[&str], program(source)).args(args).run();
            assert_eq!(completeness(&run), (true, vec![]), "{command} {source}: {}", run.stderr);
            assert_eq!(run.code(), 0, "{command} {source}: {}", run.stderr);
            match run.text().trim().parse::<u64>() {
                Ok(taken) => assert!(
                    acquisitions(&run).iter().all(|&sum| sum == taken),
                    "{command} {source}: {:?} of {taken}",
                    acquisitions(&run)
                ),
                // How often that loads depends on which thread comes first.
                Err(_) => assert_eq!(run.text(), "loaded\n", "{command} {source}"),
            }
        }
    }
}

/// A folder of 3.5 MB: it was reported that 0 locks were watched, and the exit code was 0.
#[test]
fn a_run_whose_ledger_folder_is_full_fails_and_names_the_remedy() {
    // Without noexec the library would take most of it.
    let Some(small) = Tmpfs::new("3500k,noexec") else { return };
    let scratch = Scratch::new();
    let json = scratch.join("report.json");
    let commands: [(&str, &[&str]); 3] =
        [("check", &[]), ("meter", &["--instances"]), ("run", &["--instances"])];
    for (command, options) in due(commands, commands.len()) {
        for (option, code) in [("--allow-incomplete", 0), ("--keep", 125)] {
            let mut command_line = tool();
            command_line.args([command, option]).args(options).arg("--json").arg(&json);
            command_line.arg("--ledger-dir").arg(small.path());
            command_line.arg("--").arg(program("many.c")).arg("stacks");
            let run = run(command_line);
            assert_eq!(run.code(), code, "{command} {option}: {}", run.stderr);
            let told =
                "recording stopped before the program ended: the ledger's file system is full; ";
            assert!(run.stderr.contains(told), "{command}: {}", run.stderr);
            assert!(run.stderr.contains("--ledger-dir DIR"), "{command}: {}", run.stderr);
            let text = std::fs::read_to_string(&json).expect("a report");
            let report: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(completeness_of(&report), (false, vec!["no-space"]), "{command}");
        }
        for ledger in ledgers(small.path()) {
            let mut again = tool();
            again.arg("report").arg(&ledger);
            assert_eq!(crate::harness::run(again).code(), 125, "{command}");
            std::fs::remove_file(ledger).expect("ours");
        }
    }
}
