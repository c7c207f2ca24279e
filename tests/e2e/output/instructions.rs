//! How many instructions a lock's turn takes, counted by callgrind: their number is the same on every run of a build,
//! however busy the machine is. More than here would be a loss that no measured time shows.

use std::collections::BTreeMap;
use std::path::Path;

use crate::harness::{
    Job, Scratch, due, installed, native, program, rust_program, tests_dir, under,
};
use crate::kinds::semaphores::python_itself;
use crate::naming::python_lines::has_lines;

/// Turns of a loop's first call, in which comes what comes but once; or of the shorter of two runs that are compared, and the longer.
const FEW: u64 = 1_000;
const MANY: u64 = 5_000;

/// The loop's further calls, and the turns of each: so few that hardly one of them loses its processor, as a hold in which a thread
/// does is looked at.
const CALLS: usize = 41;
const EACH: u64 = 100;

/// The loops of `instructions.c`: so many instructions a turn takes, natively and under `check`, `meter` and `run`, at most.
/// A mutex's natively are 63 of the C library's and the loop's.
const MOST: [(&str, [f64; 4]); 5] = [
    ("mutexes", [66.0, 149.0, 198.0, 372.0]),
    ("nested", [130.0, 295.0, 395.0, 745.0]),
    ("readers", [72.0, 171.0, 345.0, 571.0]),
    ("new_locks", [330.0, 1_305.0, 1_028.0, 1_420.0]),
    ("initialised", [65.0, 1_092.0, 697.0, 1_092.0]),
];

/// Loops of `malloc` and `free`, by number and name, and how many instructions a turn takes at most that it does not take
/// natively: under `check`, and with `--track-allocations`.
const MORE: [(usize, &str, [f64; 2]); 3] = [
    (5, "blocks", [3.0, 220.0]),
    (6, "blocks_and_a_lock", [11.0, 230.0]),
    (7, "blocks_and_a_handler", [17.0, 240.0]),
];

/// The loops of `inlined_turns.rs`, and how many instructions a turn takes at most that it does not take natively: under `check`,
/// `meter` and `run`.
const MOST_INLINED: [(&str, [f64; 3]); 3] = [
    ("std_mutexes", [60.0, 245.0, 285.0]),
    ("std_nested", [120.0, 540.0, 620.0]),
    ("std_readers", [60.0, 275.0, 315.0]),
];

/// How the program runs: under a command of the tool with options, or natively.
type Way<'a> = Option<(&'a str, &'a [&'a str])>;

/// Callgrind, to be given a program.
fn by_callgrind(valgrind: &Path, way: Way<'_>, counts: &Path) -> Job {
    let job = match way {
        Some((command, options)) => under(command, options, valgrind),
        None => native(valgrind),
    };
    let mut out = std::ffi::OsString::from("--callgrind-out-file=");
    out.push(counts);
    job.args(["--tool=callgrind".as_ref(), "--quiet".as_ref(), out.as_os_str()])
}

/// Instructions that a turn takes of the program's loop of this number and name: the median of its further calls.
fn of_a_turn(valgrind: &Path, way: Way<'_>, program: &Path, number: usize, name: &str) -> f64 {
    let scratch = Scratch::new();
    let counts = scratch.join("counts");
    let run_by_valgrind = by_callgrind(valgrind, way, &counts)
        // Nothing else is counted, and each call by itself.
        .args([format!("--toggle-collect={name}"), format!("--dump-after={name}")])
        .arg(program)
        .args([number.to_string(), FEW.to_string()])
        .args(vec![EACH.to_string(); CALLS])
        .run();
    assert_eq!(run_by_valgrind.code(), 0, "{}", run_by_valgrind.stderr);
    let mut all: Vec<u64> =
        (2..2 + CALLS).map(|call| counted(&scratch.join(format!("counts.{call}")))).collect();
    all.sort_unstable();
    all[CALLS / 2] as f64 / EACH as f64
}

/// The sum of what Callgrind counted.
fn counted(counts: &Path) -> u64 {
    let text = std::fs::read_to_string(counts).expect("counts");
    let line = text.lines().find_map(|line| line.strip_prefix("summary: ")).expect("a summary");
    line.trim().parse().unwrap_or_else(|e| panic!("{line}: {e}"))
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
            let each = of_a_turn(&valgrind, way, &program("instructions.c"), number, name);
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
fn no_inlined_lock_takes_more_instructions_than_it_did() {
    let Some(valgrind) = installed(&["valgrind"], "valgrind") else { return };
    let program = rust_program("inlined_turns.rs");
    for (number, (name, most)) in MOST_INLINED.into_iter().enumerate() {
        let alone = of_a_turn(&valgrind, None, &program, number, name);
        for (command, most) in ["check", "meter", "run"].into_iter().zip(most) {
            let way = Some((command, &[] as &[&str]));
            let more = of_a_turn(&valgrind, way, &program, number, name) - alone;
            println!("{name}, {command}: {alone} and {more}");
            assert!(more <= most, "{name}, {command}: {more} more instructions, {most} at most");
            // The count does see the tool.
            assert!(more >= 30.0, "{name}, {command}: {more}");
        }
    }
}

#[test]
fn blocks_take_few_more_instructions_than_alone() {
    let Some(valgrind) = installed(&["valgrind"], "valgrind") else { return };
    let options: [&[&str]; 2] = [&[], &["--track-allocations"]];
    for (number, name, most) in MORE {
        let program = program("instructions.c");
        let alone = of_a_turn(&valgrind, None, &program, number, name);
        for (options, most) in options.into_iter().zip(most) {
            let way = Some(("check", options));
            let more = of_a_turn(&valgrind, way, &program, number, name) - alone;
            println!("{name}, {options:?}: {alone} and {more}");
            assert!(more <= most, "{name}, {options:?}: {more} more instructions, {most} at most");
            // The count does see the tool.
            assert!(more >= most / 2.0, "{name}, {options:?}: {more}");
        }
    }
}

/// CPython's: so many instructions more than natively each takes under a command, at most. Under valgrind there is room for
/// a small ledger only, so none of these has a row of its own.
const MOST_OF_PYTHON: [(&str, &str, f64); 2] =
    [("check", "made", 5_000.0), ("meter", "made", 1_200.0)];

/// As [`instructions`], of all that `new_locks.py` does. The hashes of its strings are fixed: drawn at random they make the
/// interpreter's start differ by hundreds of thousands of instructions from run to run.
fn instructions_of_python(valgrind: &Path, way: Way<'_>, what: &str, turns: u64) -> u64 {
    let scratch = Scratch::new();
    let counts = scratch.join("counts");
    let run_by_valgrind = by_callgrind(valgrind, way, &counts)
        .arg(python_itself())
        .arg(tests_dir().join("programs/new_locks.py"))
        .args([what.to_owned(), turns.to_string()])
        .env("PYTHONHASHSEED", "0")
        .run();
    assert_eq!(run_by_valgrind.code(), 0, "{}", run_by_valgrind.stderr);
    counted(&counts)
}

#[test]
fn no_new_lock_of_python_takes_more_instructions_than_it_did() {
    let Some(valgrind) = installed(&["valgrind"], "valgrind") else { return };
    if !has_lines() {
        return;
    }
    let each = |way, what| {
        let [few, many] =
            [FEW, MANY].map(|turns| instructions_of_python(&valgrind, way, what, turns));
        (many as f64 - few as f64) / (MANY - FEW) as f64
    };
    // The interpreter takes its time under valgrind, and natively the same instructions each time.
    let mut alone = BTreeMap::new();
    for (command, what, most) in due(MOST_OF_PYTHON, MOST_OF_PYTHON.len()) {
        let natively = *alone.entry(what).or_insert_with(|| each(None, what));
        let watched = each(Some((command, &[] as &[&str])), what);
        println!("{what}: {natively} natively, {watched} under {command}");
        assert!(watched - natively <= most, "{what}: {natively}, {watched}; {most} more at most");
        // The count does see the tool.
        assert!(watched - natively > 100.0, "{what}: {natively}, {watched}");
    }
}

/// Calls of `rt_sigprocmask` by `new_locks.py`, under `check`. The slow path makes two, in which it has the core's lock.
fn closings_of_python(strace: &Path, what: &str, turns: u64) -> u64 {
    let scratch = Scratch::new();
    let counts = scratch.join("counts");
    let traced = under("check", &[] as &[&str], strace)
        .args(["-f", "-c", "-e", "trace=rt_sigprocmask", "-o"].map(std::ffi::OsString::from))
        .arg(&counts)
        .arg(python_itself())
        .arg(tests_dir().join("programs/new_locks.py"))
        .args([what.to_owned(), turns.to_string()])
        .run();
    assert_eq!(traced.code(), 0, "{}", traced.stderr);
    let text = std::fs::read_to_string(&counts).expect("counts");
    let line = text.lines().find(|line| line.ends_with("rt_sigprocmask")).expect("the call");
    let calls = line.split_whitespace().nth(3).expect("a number");
    calls.parse().unwrap_or_else(|e| panic!("{line}: {e}"))
}

/// Once a pair of classes has its fill, new locks of it take no lock of ours, nor do those that are taken for none by all that
/// is known of their class. Before, each takes it once, which shows that the calls are counted.
#[test]
fn new_locks_of_python_close_no_signals_once_their_kind_is_known() {
    let Some(strace) = installed(&["strace"], "strace") else { return };
    if !has_lines() {
        return;
    }
    for (what, few, many, expected) in [
        ("made", 1_000, 3_000, 0..500),
        ("nested", 6_000, 8_000, 0..500),
        ("nested", 1_000, 3_000, 4_000..5_000),
        // Sixteen of 256 are watched as locks.
        ("waited", 1_000, 3_000, 300..2_000),
    ] {
        // Two chains of locks may have one place in the thread's table: which ones do is another matter on each run.
        let fewest = |turns| (0..2).map(|_| closings_of_python(&strace, what, turns)).min();
        let [first, last] = [few, many].map(|turns| fewest(turns).expect("runs"));
        println!("{what}: {first} calls for {few}, {last} for {many}");
        assert!(expected.contains(&last.saturating_sub(first)), "{what}: {first} and {last}");
    }
}
