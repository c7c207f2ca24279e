//! `--compat lockmeter` and `--compat lock_stat`: which line a lock and a place have.

use crate::harness::{Scratch, build, run, tool};

/// The table of `program`, compiled with `flags`.
fn table(compat: &str, program: &str, flags: &[&str]) -> String {
    let scratch = Scratch::new();
    let file = scratch.join("table.txt");
    let mut command = tool();
    command.args(["meter", "--compat", compat, "-o"]).arg(&file);
    command.arg("--ledger-dir").arg(scratch.join("ledgers")).arg("--").arg(build(program, flags));
    let run = run(command);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    std::fs::read_to_string(&file).expect("the table")
}

/// Debug information knows lines, by which two locks would be taken at one place and have no line of
/// their own. The kernel's lockmeter knew return addresses.
#[test]
fn two_locks_that_one_line_takes_are_two_rows() {
    for flags in [&["-g"][..], &["-g0"]] {
        let text = table("lockmeter", "one_line_two_locks.c", flags);
        let names: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with("SPINLOCKS"))
            .filter_map(|line| line.split_whitespace().last())
            .collect();
        let at = |wanted: &str| names.iter().position(|name| *name == wanted);
        for lock in ["first", "second"] {
            let row = at(lock).unwrap_or_else(|| panic!("{flags:?}: no {lock}: {text}"));
            assert!(names[row + 1].starts_with("both+0x"), "{flags:?}: {text}");
        }
        // One call takes both of these: it stands alone, as in lockmeter.
        assert_eq!((at("third"), at("fourth")), (None, None), "{flags:?}: {text}");
        let touched = names.iter().filter(|name| name.starts_with("touch+0x")).count();
        assert_eq!(touched, 1, "{flags:?}: {text}");
    }
}

/// The kernel charges each contention to one place that waited and to one that held.
#[test]
fn both_lists_of_places_have_the_contentions_as_their_sum() {
    let text = table("lock_stat", "three_places_contend.c", &["-g"]);
    let class =
        text.lines().find(|line| line.trim_start().starts_with("lock:")).expect("the class");
    let contentions: u64 = class.split_whitespace().nth(2).expect("a column").parse().unwrap();
    assert!(contentions > 0, "{text}");
    let mut lists: Vec<u64> = Vec::new();
    for line in text.lines().skip_while(|line| *line != class).skip(1) {
        if line.trim_start().starts_with('-') {
            lists.push(0);
        } else if let (Some(sum), Some(count)) = (lists.last_mut(), line.split_whitespace().nth(1))
        {
            *sum += count.parse::<u64>().unwrap_or(0);
        }
    }
    assert_eq!(lists, [contentions; 2], "{text}");
}
