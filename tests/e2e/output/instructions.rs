//! How many instructions a lock's turn takes, counted by callgrind: their number is the same on every run of a build,
//! however busy the machine is. More than here would be a loss that no measured time shows.

use std::path::Path;
use std::process::Command;

use crate::harness::{Scratch, installed, native, program, run, under};

/// Turns of the two runs that are compared. What comes but once is the same in both.
const FEW: u64 = 1_000;
const MANY: u64 = 5_000;

/// The loops of `instructions.c`: so many instructions a turn takes, natively and under `check`, `meter` and `run`, at most.
/// A mutex's natively are 63 of the C library's and the loop's.
const MOST: [(&str, [f64; 4]); 5] = [
    ("mutexes", [66.0, 149.0, 198.0, 372.0]),
    ("nested", [130.0, 295.0, 395.0, 745.0]),
    ("readers", [72.0, 171.0, 345.0, 571.0]),
    ("new_locks", [330.0, 1_360.0, 1_060.0, 1_475.0]),
    ("initialised", [65.0, 1_790.0, 980.0, 1_790.0]),
];

/// Loops of `malloc` and `free`, by number and name, and how many instructions a turn takes at most that it does not take
/// natively, with these options of `check`.
const MORE: [(usize, &str, &[&str], f64); 6] = [
    (5, "blocks", &[], 3.0),
    (6, "blocks_and_a_lock", &[], 11.0),
    (7, "blocks_and_a_handler", &[], 17.0),
    (5, "blocks", TRACKING, 220.0),
    (6, "blocks_and_a_lock", TRACKING, 230.0),
    (7, "blocks_and_a_handler", TRACKING, 240.0),
];
const TRACKING: &[&str] = &["--track-allocations"];

/// How the program runs: under a command of the tool with options, or natively.
type Way<'a> = Option<(&'a str, &'a [&'a str])>;

/// Instructions that a turn takes of the loop of this number and name.
fn of_a_turn(valgrind: &Path, way: Way<'_>, number: usize, name: &str) -> f64 {
    let [few, many] = [FEW, MANY].map(|turns| instructions(valgrind, way, (number, name), turns));
    (many - few) as f64 / (MANY - FEW) as f64
}

/// Instructions of a loop in a run of so many turns.
fn instructions(valgrind: &Path, way: Way<'_>, (number, name): (usize, &str), turns: u64) -> u64 {
    let scratch = Scratch::new();
    let counts = scratch.join("counts");
    let job = match way {
        Some((command, options)) => under(command, options, valgrind),
        None => native(valgrind),
    };
    let mut out = std::ffi::OsString::from("--callgrind-out-file=");
    out.push(&counts);
    let run_by_valgrind = job
        .args(["--tool=callgrind".as_ref(), "--quiet".as_ref(), out.as_os_str()])
        .arg(program("instructions.c"))
        .args([number.to_string(), turns.to_string()])
        .run();
    assert_eq!(run_by_valgrind.code(), 0, "{}", run_by_valgrind.stderr);
    let mut annotate = Command::new("callgrind_annotate");
    annotate.args(["--inclusive=yes", "--threshold=100"]).arg(&counts);
    let text = String::from_utf8(run(annotate).stdout).expect("UTF-8");
    let of = format!("instructions.c:{name} [");
    let line = text.lines().find(|line| line.contains(&of)).expect("the loop");
    let count = line.trim_start().split([' ', '(']).next().expect("a number");
    count.replace(',', "").parse().unwrap_or_else(|e| panic!("{line}: {e}"))
}

#[test]
fn no_turn_takes_more_instructions_than_it_did() {
    let Some(valgrind) = installed(&["valgrind"], "valgrind") else { return };
    for (number, (name, most)) in MOST.iter().enumerate() {
        let mut natively = None;
        for (command, most) in
            [None, Some("check"), Some("meter"), Some("run")].into_iter().zip(most)
        {
            let way = command.map(|command| (command, &[] as &[&str]));
            let each = of_a_turn(&valgrind, way, number, name);
            println!("{name}, {}: {each}", command.unwrap_or("natively"));
            assert!(each <= *most, "{name}, {command:?}: {each} instructions, {most} at most");
            // The count does see the tool.
            assert!(
                each > natively.map_or(0.0, |natively| natively + 50.0),
                "{name}, {command:?}: {each}"
            );
            natively.get_or_insert(each);
        }
    }
}

#[test]
fn blocks_take_few_more_instructions_than_alone() {
    let Some(valgrind) = installed(&["valgrind"], "valgrind") else { return };
    for (number, name, options, most) in MORE {
        let alone = of_a_turn(&valgrind, None, number, name);
        let more = of_a_turn(&valgrind, Some(("check", options)), number, name) - alone;
        println!("{name}, {options:?}: {alone} and {more}");
        assert!(more <= most, "{name}, {options:?}: {more} more instructions, {most} at most");
        // The count does see the tool.
        assert!(more >= most / 2.0, "{name}, {options:?}: {more}");
    }
}
