//! Locks taken through functions made for taking locks: who wanted them is what counts.

use serde_json::Value;

use crate::golden::golden;
use crate::harness::{FOUND, Run, build, check, program};

/// Names of the functions on the stacks that a finding shows, those of held locks among them.
fn shown(run: &Run) -> String {
    fn walk(value: &Value, out: &mut String) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| walk(item, out)),
            Value::Object(fields) => {
                if let Some(Value::String(name)) = fields.get("function") {
                    out.push_str(name);
                    out.push('\n');
                }
                fields.values().for_each(|field| walk(field, out));
            }
            _ => {}
        }
    }
    let mut names = String::new();
    walk(&run.finding()["steps"], &mut names);
    names
}

/// Two orders, by `deposit` and `balance`; each lock was taken by `look_into_*` before.
fn names_those_that_nest(run: &Run, what: &str) {
    assert_eq!(run.text(), "the end\n");
    assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{what}: {}", run.stderr);
    let names = shown(run);
    for name in ["deposit", "balance"] {
        // The held lock's stack and the acquired one's.
        assert_eq!(names.matches(name).count(), 2, "{what}: {name} in\n{names}{}", run.stderr);
    }
    assert!(!names.contains("look_into"), "{what}: in\n{names}{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn the_caller_that_nests_is_named() {
    for how in ["one", "two", "held", "kept"] {
        let run = check(program("wrappers.c")).arg(how).run();
        names_those_that_nest(&run, how);
    }
}

#[test]
fn lock_guards_of_a_debug_build() {
    let run = check(build("lock_guards.cc", &["-O0"])).run();
    names_those_that_nest(&run, "-O0");
}

#[test]
fn reports_read_well() {
    golden("wrapper", check(program("wrappers.c")).arg("one"));
    golden("wrapper-two-levels", check(program("wrappers.c")).arg("two"));
    golden("wrapper-lock-guard", check(build("lock_guards.cc", &["-O0"])));
}

/// Such a function is where the locks are taken, in text and in all other formats.
#[test]
fn a_function_that_holds_one_lock_and_takes_another_is_no_wrapper() {
    let run = check(program("named_lock.c")).run();
    assert_eq!((run.verdicts(), run.code()), (vec![("circular-dependency", "likely")], FOUND));
    for words in ["acquires `big` in unixLock", "pthread_mutex_lock(&big);", "in closes"] {
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
    }
}
