//! `lockwright swap --only` and `--except`: some locks are replaced, the others stay as they are.

use serde_json::json;

use crate::harness::{Run, build, program, under};

/// The locks of the program, in the order in which it prints them.
const LOCKS: [&str; 5] = ["cache_lock", "queue_lock", "other_lock", "heap", "heap, again"];

/// Runs the program under `options`; which of its locks are replaced.
fn replaced(options: &[&str]) -> (Vec<String>, Run) {
    let run = under("swap", options, program("swap_only.c")).run();
    assert_eq!(run.code(), 0, "{}{}", run.text(), run.stderr);
    (said(&run, &LOCKS), run)
}

fn said(run: &Run, locks: &[&str]) -> Vec<String> {
    let text = run.text();
    let mut replaced = Vec::new();
    assert_eq!(text.lines().count(), locks.len(), "{text}");
    for (line, lock) in text.lines().zip(locks) {
        match line.strip_prefix(lock) {
            Some(" replaced") => replaced.push((*lock).to_owned()),
            Some(" left") => {}
            _ => panic!("{text}"),
        }
    }
    replaced
}

/// Where the program makes its heap lock first.
fn line() -> usize {
    let source = include_str!("../../programs/swap_only.c");
    let at = source.find("must(pthread_mutex_init(mutex,").expect("the call");
    source[..at].lines().count()
}

#[test]
fn locks_are_chosen_by_variable_function_line_and_module() {
    let line = format!("swap_only.c:{}", line());
    let name = program("swap_only.c").file_name().expect("a name").to_string_lossy().into_owned();
    let all = &LOCKS[..];
    for (options, expected) in [
        (&["--only", "cache_lock"][..], &["cache_lock"][..]),
        (&["--only", "cache_*", "--only", "other_lock"], &["cache_lock", "other_lock"]),
        (&["--only", "make_lock"], &["heap"]),
        (&["--only", &line], &["heap"]),
        (&["--only", "work"], &["cache_lock", "queue_lock", "other_lock"]),
        (&["--only", "*_lock", "--except", "q*"], &["cache_lock", "other_lock", "heap"]),
        (&["--except", "main"], &["cache_lock", "queue_lock", "other_lock", "heap"]),
        (&["--only", &name], all),
        (&[], all),
    ] {
        assert_eq!(replaced(options).0, expected, "{options:?}");
    }
}

#[test]
fn every_way_of_a_wait_is_kept_on_spinning_locks_too() {
    assert_eq!(replaced(&["--lock", "tas", "--only", "queue_lock"]).0, ["queue_lock"]);
}

#[test]
fn what_is_chosen_and_what_is_not_is_counted() {
    let (_, run) =
        replaced(&["--only", "cache_lock", "--only", "table_lock", "--except", "none_*"]);
    let report = run.report();
    let replaced = json!({
        "mutexes": 1, "reader_writer_locks": 1, "spinlocks": 0, "condition_variables": 1
    });
    let left = json!({ "mutexes": 4, "reader_writer_locks": 0, "spinlocks": 1 });
    assert_eq!((&report["replaced"], &report["not_chosen"]), (&replaced, &left));
    assert_eq!(report["not_looked_up"], 0);
    let patterns = json!([
        { "given": "--only cache_lock", "locks": 1 },
        { "given": "--only table_lock", "locks": 1 },
        { "given": "--except none_*", "locks": 0 },
    ]);
    assert_eq!(report["patterns"], patterns);
    assert!(run.stderr.contains("not chosen: 4 mutexes, 1 spinlock"), "{}", run.stderr);
    assert!(run.stderr.contains("no lock fits `--except none_*`"), "{}", run.stderr);
}

#[test]
fn a_pattern_that_fits_nothing_replaces_nothing_and_is_said() {
    let (replaced, run) = replaced(&["--only", "cache_loc"]);
    assert!(replaced.is_empty(), "{replaced:?}");
    assert!(run.stderr.contains("no lock fits `--only cache_loc`"), "{}", run.stderr);
}

#[test]
fn locks_of_modules_that_are_loaded_later_have_names() {
    let plugin = build("swap_only_plugin.c", &["-shared", "-fPIC"]);
    let name = plugin.file_name().expect("a name").to_string_lossy().into_owned();
    let locks = ["cache_lock", "queue_lock", "other_lock", "heap", "plugin_lock", "heap, again"];
    for pattern in ["plugin_lock", "plugin_use", &name] {
        let job = under("swap", &["--only", pattern], program("swap_only.c"));
        let run = job.args([&plugin]).run();
        assert_eq!(said(&run, &locks), ["plugin_lock"], "{pattern}: {}", run.stderr);
    }
}

#[test]
fn programs_that_are_executed_later_ask_too() {
    let program = program("swap_only.c");
    let job = under("swap", &["--only", "cache_lock"], "sh");
    let run = job.args(["-c", "\"$0\"; exit $?"]).args([&program]).run();
    assert_eq!(said(&run, &LOCKS), ["cache_lock"], "{}", run.stderr);
}

#[test]
fn a_program_that_cannot_ask_runs_and_that_is_said() {
    let program = program("swap_only.c");
    for (option, replaced) in [("--only", &[][..]), ("--except", &LOCKS)] {
        let nowhere = format!("LOCKWRIGHT_SWAP_ONLY={}:/nowhere", u8::from(option == "--only"));
        let job = under("swap", &[option, "cache_lock"], "env");
        let run = job.args([&nowhere]).args([&program]).run();
        assert_eq!(said(&run, &LOCKS), replaced, "{}", run.stderr);
        let said = format!("no pattern was tried on {} locks", LOCKS.len() + 2);
        assert!(run.stderr.contains(&said), "{}", run.stderr);
    }
}

#[test]
fn patterns_that_cannot_be_are_errors() {
    let run = under("swap", &["--only", ""], "true").run();
    assert_eq!(run.code(), 2);
    assert!(run.stderr.contains("an empty pattern"), "{}", run.stderr);
}
