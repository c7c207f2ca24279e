//! Bounces and minima, which `--compat lock_stat` has counted: of a program whose threads take
//! locks in turns on two CPUs, and so knows how many there are.

use std::collections::BTreeMap;
use std::fs;

use crate::harness::{Scratch, build, ledgers, program, skip, tool, under};

const ROUNDS: u64 = 20;

/// Two CPUs that this process may use.
fn cpus() -> Option<[String; 2]> {
    let status = fs::read_to_string("/proc/self/status").expect("status");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let cpus = list.trim().split(',').flat_map(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse::<u32>().expect("a number");
        number(from)..=number(to)
    });
    let mut cpus = cpus.map(|cpu| cpu.to_string());
    Some([cpus.next()?, cpus.next()?])
}

/// By class: the columns.
fn classes(table: &str) -> BTreeMap<String, Vec<f64>> {
    assert!(table.starts_with("lock_stat version 0.4\n"), "{table}");
    let lines = table.lines().filter_map(|line| line.rsplit_once(':'));
    let values = |text: &str| {
        let numbers = text.split_whitespace().map(|value| value.parse().expect("a number"));
        numbers.collect::<Vec<f64>>()
    };
    let classes: BTreeMap<_, _> =
        lines.map(|(name, text)| (name.trim().to_owned(), values(text))).collect();
    for (name, values) in &classes {
        assert_eq!(values.len(), 12, "{name}: {table}");
        for [min, max, total] in
            [[values[2], values[3], values[4]], [values[8], values[9], values[10]]]
        {
            // Rounded to a hundredth.
            assert!(min <= max && max <= total + 0.011, "{name}: {table}");
        }
    }
    classes
}

fn counts(values: &[f64]) -> [u64; 4] {
    [values[0], values[1], values[6], values[7]].map(|value| value as u64)
}

#[test]
fn bounces_are_those_of_the_program() {
    let Some([one, other]) = cpus() else { return skip("it takes two CPUs") };
    let bounced = build("meter_bounces.c", &[]);
    for command in ["meter", "run"] {
        let scratch = Scratch::new();
        let file = scratch.join("table");
        let output = format!("--output={}", file.display());
        let run = under(command, &["--compat=lock_stat", &output], &bounced)
            .args([&ROUNDS.to_string(), &one, &other])
            .run();
        assert_eq!((run.text().as_str(), run.code()), ("done\n", 0), "{}", run.stderr);
        let table = fs::read_to_string(&file).expect("a table");
        let at = table.find("lock_stat version").expect("the table");
        let table = &table[at..];
        assert!(!table.contains("*WARNING*"), "{table}");
        let only_table: String = table
            .lines()
            .take_while(|line| !line.starts_with("lockwright:"))
            .map(|line| format!("{line}\n"))
            .collect();
        let classes = classes(&only_table);
        // con-bounces, contentions, acq-bounces, acquisitions.
        let turns = 2 * ROUNDS;
        assert_eq!(counts(&classes["shared"]), [0, 0, turns - 1, turns], "{table}");
        assert_eq!(counts(&classes["read_in_turns-R"]), [0, 0, turns - 1, turns], "{table}");
        assert_eq!(counts(&classes["own"]), [0, 0, 0, ROUNDS], "{table}");
        assert_eq!(counts(&classes["fought"]), [ROUNDS, ROUNDS, turns - 1, turns], "{table}");
        assert!(classes["fought"][2] > 0.0, "a wait took time: {table}");
    }
}

#[test]
fn a_ledger_without_bounces_says_so_and_has_the_rest() {
    let scratch = Scratch::new();
    let dir = format!("--ledger-dir={}", scratch.path().display());
    let mut command = tool();
    command.args(["meter", "--keep", "--output=/dev/null", &dir, "--"]);
    let run = crate::harness::run({
        command.arg(program("meter_contention.c")).args(["2", "2"]);
        command
    });
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let mut command = tool();
    command.args(["report", "--compat=lock_stat"]).args(ledgers(scratch.path()));
    let again = crate::harness::run(command);
    let at = again.stderr.find("lock_stat version").expect("the table");
    let table = &again.stderr[at..];
    assert!(table.contains("\n*WARNING* bounces were not counted"), "{table}");
    let classes = classes(table);
    let lock = &classes["lock"];
    assert_eq!(counts(lock)[0], 0, "{table}");
    assert!(lock[1] > 0.0 && lock[2] > 0.0 && lock[8] > 0.0, "{table}");
}
