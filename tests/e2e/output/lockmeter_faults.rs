//! `--compat lockmeter` on a program that the kernel's lockmeter would have counted wrongly.

use crate::harness::{Scratch, build, run, tool};

/// A line of the table whose name begins so, in columns: the fields of HOLD, and the rest.
struct Line {
    hold_mean_us: f64,
    hold_max_us: f64,
    total: u64,
}

/// A time as lockmeter wrote it, in microseconds.
fn us(text: &str) -> f64 {
    let text = text.trim();
    let (number, by) = match text.strip_suffix("us") {
        Some(number) => (number, 1.0),
        None => (text.strip_suffix("ms").expect("a time"), 1000.0),
    };
    number.trim().parse::<f64>().expect("a number") * by
}

fn line(text: &str, section: &str, place: &str, total_at: usize) -> Line {
    let lines = text.lines().skip_while(|line| !line.starts_with(section));
    let line = lines.skip(3).find(|line| line.contains(place)).unwrap_or_else(|| panic!("{text}"));
    let total = line[total_at..total_at + 10].trim().parse().expect("a count");
    Line { hold_mean_us: us(&line[13..19]), hold_max_us: us(&line[20..26]), total }
}

/// Faults: an acquisition time kept per site, which nested holds clobber; and a write trylock that
/// succeeds charged to the place that took the lock last.
#[test]
fn nested_holds_and_trylocks_are_counted_where_they_are() {
    let scratch = Scratch::new();
    let table = scratch.join("table.txt");
    let mut command = tool();
    command.args(["meter", "--compat", "lockmeter", "-o"]).arg(&table);
    command.arg("--ledger-dir").arg(scratch.join("ledgers")).arg("--");
    let run = run({
        command.arg(build("lockmeter_faults.c", &["-fno-inline"]));
        command
    });
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let text = std::fs::read_to_string(&table).unwrap();

    // One place, two mutexes: the outer hold is long, though the inner one began in it.
    let nest = line(&text, "SPINLOCKS", " nest+0x", 49);
    assert_eq!(nest.total, 2, "{text}");
    assert!(nest.hold_max_us >= 30_000.0, "{text}");
    assert!(nest.hold_mean_us >= 15_000.0, "the mean of 30 ms and 1 ms: {text}");

    let writer = line(&text, "RWLOCK WRITES", " writer+0x", 64);
    let taker = line(&text, "RWLOCK WRITES", " taker+0x", 64);
    assert_eq!((writer.total, taker.total), (3, 7), "{text}");
    assert!(taker.hold_mean_us >= 2_000.0 && writer.hold_mean_us < 1_000.0, "{text}");
    // Rejected requests count as contention, and not as holds.
    assert!(text.contains("28.6%"), "2 of 7: {text}");
}
