//! Lives of synchronisation objects: initialised twice or never, destroyed too early or twice, gone
//! with their memory.

mod cxx;
mod ends;

use crate::golden::golden;
use crate::harness::{FOUND, Run, check, check_with, program};

/// What is certainly wrong: case, kind, and how its title ends.
const CERTAIN: &[(&str, &str)] = &[
    ("never_mutex", "object-uninitialised"),
    ("never_sem", "object-uninitialised"),
    ("never_spin", "object-uninitialised"),
    ("tried_spin", "object-uninitialised"),
    ("dead_cond", "use-after-destroy"),
    ("dead_sem", "use-after-destroy"),
    ("dead_spin", "use-after-destroy"),
    ("again_rwlock", "use-after-destroy"),
    ("again_cond", "use-after-destroy"),
    ("active_cond", "object-initialised-active"),
    ("active_sem", "object-destroyed-active"),
    ("active_barrier", "object-initialised-active"),
    ("freed_cond", "object-gone-active"),
    ("freed_static_cond", "object-gone-active"),
    ("freed_static_cond_beside", "object-gone-active"),
    ("unmapped_sem", "object-gone-active"),
];

fn run(how: &str) -> Run {
    check(program("objects.c")).arg(how).run()
}

#[test]
fn what_is_certainly_wrong_fails_the_run() {
    for (how, kind) in CERTAIN {
        let run = run(how);
        assert_eq!(run.verdicts(), [(*kind, "likely")], "{how}: {}", run.stderr);
        assert_eq!(run.code(), FOUND, "{how}");
        assert!(run.text().ends_with("the end\n"), "{how}: {}", run.text());
        let file = run.finding()["steps"][0]["stack"][0]["file"].as_str().unwrap_or_default();
        assert!(file.ends_with("objects.c"), "{how}: the program's own place: {:#}", run.finding());
    }
}

#[test]
fn an_init_without_a_destroy_before_is_possible() {
    for how in ["twice_mutex", "twice_cond", "twice_sem"] {
        let run = run(how);
        assert_eq!(run.verdicts(), [("object-initialised-twice", "possible")], "{}", run.stderr);
        assert_eq!(run.code(), 0, "{how}");
    }
}

#[test]
fn what_goes_undestroyed_is_counted() {
    for (how, end) in [
        ("untidy_freed", "before its memory was freed"),
        ("untidy_moved", "before realloc moved it"),
        ("untidy_unmapped", "before its memory was unmapped"),
        ("untidy_frame", "before its function returned"),
        ("untidy_twice", "before its memory was initialised again"),
        ("untidy_block", "before its memory was initialised again"),
        ("untidy_pool", "before its memory was initialised again"),
        ("untidy_thread", "before its thread ended"),
        ("untidy_exit", "before the process ended"),
    ] {
        let run = run(how);
        assert!(run.findings().is_empty(), "{how}: {}", run.stderr);
        let title = |finding: &serde_json::Value| finding["title"].as_str().unwrap().to_owned();
        let titles: Vec<String> = run.untidy().iter().map(title).collect();
        assert_eq!(titles.len(), 1, "{how}: {titles:?}");
        assert!(titles[0].contains(end), "{how}: {titles:?}");
        assert!(run.stderr.contains("1 object never destroyed not shown: --all"), "{}", run.stderr);
        assert_eq!(run.code(), 0, "{how}");
    }
}

#[test]
fn all_shows_what_goes_undestroyed() {
    let run = check_with(&["--all"], program("objects.c")).arg("untidy_freed").run();
    assert!(run.stderr.contains("note[object-never-destroyed]"), "{}", run.stderr);
}

#[test]
fn lives_as_they_should_be_are_no_finding() {
    let run = run("clean");
    assert!(run.findings().is_empty() && run.untidy().is_empty(), "{}", run.stderr);
    assert_eq!(run.code(), 0);
}

#[test]
fn it_can_be_left_out() {
    let run = check_with(&["--no-objects"], program("objects.c")).arg("dead_sem").run();
    assert!(run.findings().is_empty() && run.untidy().is_empty(), "{}", run.stderr);
}

#[test]
fn without_memory_it_ends_says_so_and_the_program_goes_on() {
    let run = run("starved");
    // The ledger cannot grow either, where the process may map nothing more.
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert!(
        run.stderr.contains("tracking of objects ended because there was no memory"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("could map no more memory for the ledger"), "{}", run.stderr);
    assert_eq!(run.text(), "the end\n");
}

#[test]
fn reports_read_well() {
    for (name, how) in [
        ("object-initialised-twice", "twice_cond"),
        ("object-initialised-active", "active_cond"),
        ("object-uninitialised", "never_sem"),
        ("object-used-after-destroy", "dead_sem"),
        ("object-destroyed-twice", "again_rwlock"),
        ("object-destroyed-active", "active_sem"),
        ("object-gone-active", "freed_cond"),
    ] {
        golden(name, check(program("objects.c")).arg(how));
    }
    golden(
        "object-never-destroyed",
        check_with(&["--all"], program("objects.c")).arg("untidy_freed"),
    );
}
