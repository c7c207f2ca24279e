//! Locks whose lives begin where others' lives began: their class is found by the call stack, which is compared and not
//! unwound. Each is counted, and none goes to another's class.

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::Class;

use crate::harness::{Scratch, build, ledgers, run, tool};

/// So many locks that a class's row is not brought up to date with each.
const MANY: u32 = 1_000;

/// How many locks each class has, in each process: of [`MANY`] made as `how` says, by a program that was compiled with
/// `flags`.
fn classes_with(flags: &[&str], engine: &str, how: &str) -> Vec<Vec<u32>> {
    let scratch = Scratch::new();
    let mut command = tool();
    command.args([engine, "--keep", "--ledger-dir"]).arg(scratch.path()).arg("--");
    command.arg(build("births.c", flags)).args([how, &MANY.to_string()]);
    let run = run(command);
    assert_eq!(run.text().lines().last(), Some("the end"), "{how}: {}", run.stderr);
    let processes = ledgers(scratch.path()).into_iter().map(|path| {
        let ledger = Ledger::open(&path).expect("sound");
        let mut locks: Vec<u32> = ledger.rows::<Class>().map(|(_, class)| class.locks).collect();
        assert_eq!(ledger.header().locks_seen, locks.iter().map(|&n| u64::from(n)).sum::<u64>());
        // What the program itself has: the C library's are in the libraries' data.
        locks.retain(|&locks| locks > 1);
        locks.sort_unstable();
        locks
    });
    processes.collect()
}

/// As [`classes_with`], of the only process, by each engine.
fn says(flags: &[&str], how: &str, expected: &[u32]) {
    for engine in ["check", "meter", "run"] {
        assert_eq!(classes_with(flags, engine, how), [expected], "{engine} {flags:?} {how}");
    }
}

/// Functions find their frames by the stack pointer, or by a frame pointer.
const FRAMES: [&str; 2] = ["-fomit-frame-pointer", "-fno-omit-frame-pointer"];

#[test]
fn two_callers_of_one_maker_are_two_classes() {
    for frames in FRAMES {
        says(&[frames], "callers", &[MANY, MANY]);
    }
}

#[test]
fn two_places_of_initialisation_are_two_classes() {
    for frames in FRAMES {
        says(&[frames], "inits", &[MANY, MANY]);
    }
}

#[test]
fn frames_of_any_size_are_one_class() {
    for frames in FRAMES {
        says(&[frames], "frames", &[MANY]);
    }
}

#[test]
fn each_depth_of_calls_is_a_class() {
    for frames in FRAMES {
        says(&[frames], "depths", &[MANY / 5; 5]);
    }
}

#[test]
fn threads_share_a_class_and_lose_no_lock() {
    says(&[], "threads", &[4 * MANY]);
}

#[test]
fn threads_that_come_to_a_new_lock_at_once_agree_which_it_is() {
    says(&[], "race", &[MANY]);
}

#[test]
fn a_mutex_that_is_initialised_again_is_another() {
    says(&[], "again", &[MANY]);
}

#[test]
fn a_child_has_classes_of_its_own() {
    for engine in ["check", "meter", "run"] {
        let mut processes = classes_with(&[], engine, "child");
        processes.sort();
        assert_eq!(processes, [vec![MANY], vec![MANY, MANY]], "{engine}");
    }
}
