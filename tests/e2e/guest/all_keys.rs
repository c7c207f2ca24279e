//! A program gets all keys of thread-specific data that there are; the ends of its threads are
//! noticed all the same.

use crate::harness::{Run, check, native, program, under};
use crate::kinds::annotations::CIRCULAR;

fn of_kind<'r>(run: &'r Run, kind: &str) -> Vec<&'r serde_json::Value> {
    run.findings().iter().filter(|finding| finding["kind"] == kind).collect()
}

#[test]
fn all_keys_are_the_programs() {
    let program = program("all_keys.c");
    let alone = native(&program).run();
    assert_eq!((alone.text().as_str(), alone.code()), ("1024\n", 0));
    for command in ["check", "meter", "run"] {
        let run = under(command, &[] as &[&str], &program).args(["held", "destructors"]).run();
        assert_eq!(run.text(), alone.text(), "{command}: {}", run.stderr);
    }
}

#[test]
fn thread_that_ends_with_a_lock_held_without_a_key() {
    let run = check(program("all_keys.c")).arg("held").run();
    let held = of_kind(&run, "exit-with-lock-held");
    assert_eq!(held.len(), 1, "{}", run.stderr);
    assert!(held[0].to_string().contains("end_with"), "{:#}", held[0]);
}

#[test]
fn detached_threads_end_without_a_key() {
    for command in ["check", "run"] {
        let run = under(command, &[] as &[&str], program("all_keys.c")).arg("detached").run();
        let held = of_kind(&run, "exit-with-lock-held");
        assert_eq!(held.len(), 1, "{command}: {}", run.stderr);
    }
}

#[test]
fn destructors_that_lock_are_seen_without_a_key() {
    let run = check(program("all_keys.c")).arg("destructors").run();
    assert!(run.verdicts().contains(&CIRCULAR), "{}", run.stderr);
    assert!(run.stderr.contains("lock_both"), "{}", run.stderr);
}
