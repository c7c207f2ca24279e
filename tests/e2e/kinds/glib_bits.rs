//! GLib's bit locks: known by their words and bits, and no longer than the memory that these are in.

use crate::golden::golden_findings;
use crate::harness::{FOUND, Run, check, lock_names, under};
use crate::kinds::annotations::CIRCULAR;
use crate::kinds::glib::{glib_program, told_by};

fn told(what: &str) -> Option<Run> {
    told_by("glib_bits.c", what)
}

#[test]
fn bits_in_both_orders() {
    for (what, locks) in [("bits", ["first", "second"]), ("pointers", ["head", "tail"])] {
        let Some(run) = told(what) else { return };
        assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
        assert_eq!(lock_names(run.finding()), locks, "{}", run.stderr);
        assert_eq!(run.count("acquisitions"), 4);
    }
}

#[test]
fn two_bits_of_a_word_are_two_locks() {
    let Some(run) = told("one_word") else { return };
    assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
    let names = lock_names(run.finding());
    assert!(names.iter().all(|name| name.starts_with("flags")), "{names:?}");
    assert_ne!(names[0], names[1]);
    assert_eq!(run.count("locks"), 2);
}

#[test]
fn a_word_of_the_heap_is_known_as_long_as_its_block() {
    let Some(run) = told("heap") else { return };
    assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
    assert!(lock_names(run.finding()).contains(&"first"), "{}", run.stderr);
    for what in ["freed", "sliced", "chained", "let_go"] {
        let run = told(what).expect("as above");
        assert!(run.findings().is_empty(), "{what}: {}", run.stderr);
        // Not silent because nothing was seen: one of the word in each of its lives.
        assert_eq!((run.count("locks"), run.code()), (3, 0), "{what}: {}", run.stderr);
    }
}

#[test]
fn one_order_is_silent() {
    let Some(run) = told("ordered") else { return };
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!((run.count("locks"), run.code()), (6, 0));
}

#[test]
fn who_unlocks_need_not_have_locked() {
    let Some(run) = told("handed") else { return };
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!((run.count("locks"), run.code()), (2, 0));
}

/// Nobody hears when such a word is gone.
#[test]
fn words_in_frames_are_left_out() {
    let Some(run) = told("frame") else { return };
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!((run.count("locks"), run.code()), (1, 0));
}

#[test]
fn a_deadlock_is_told_as_it_happens() {
    let Some(program) = glib_program("glib_bits.c", &[]) else { return };
    let run = check(program).arg("hang").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["first", "second"]);
}

#[test]
fn both_engines_see_them() {
    let Some(program) = glib_program("glib_bits.c", &[]) else { return };
    let run = under("run", &[] as &[&str], program).arg("bits").run();
    assert_eq!((run.text().as_str(), run.verdicts()), ("bits: done\n", vec![CIRCULAR]));
}

#[test]
fn waits_are_measured_and_blamed() {
    let Some(program) = glib_program("glib_bits.c", &[]) else { return };
    let run = under("meter", &[] as &[&str], program).arg("contended").run();
    assert_eq!(run.text(), "contended: done\n", "{}", run.stderr);
    let locks = run.report()["locks"].as_array().unwrap();
    let head = locks.iter().find(|lock| lock["name"] == "head").expect("it is measured");
    let total = &head["total"];
    assert_eq!((&total["acquisitions"], &total["contended"]), (&2.into(), &1.into()), "{head:#}");
    // A waiter may be woken long after that.
    assert!(total["hold_ns"].as_f64().unwrap() > 0.0, "{head:#}");
    assert!(total["wait"]["total_ns"].as_f64().unwrap() > 0.0, "{head:#}");
    assert!(run.stderr.contains("A = keeper"), "{}", run.stderr);
}

#[test]
fn a_report_of_bits_reads_well() {
    let Some(program) = glib_program("glib_bits.c", &[]) else { return };
    golden_findings("glib-bits", check(program).arg("one_word"));
}
