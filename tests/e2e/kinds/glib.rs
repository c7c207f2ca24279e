//! GLib's locks, which are no pthread locks, are seen where they are taken.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{FOUND, Run, build, check, functions, lock_names, native, skip, under};
use crate::kinds::annotations::{CIRCULAR, finds};

/// How a program is built with GLib, and what has its headers.
const FLAGS: &[&str] =
    &["-I/usr/include/glib-2.0", "-I/usr/lib/x86_64-linux-gnu/glib-2.0/include", "-lglib-2.0"];

/// What is made of a source, if GLib's headers are there.
pub fn glib_program(source: &str, more: &[&str]) -> Option<PathBuf> {
    let header = "/usr/include/glib-2.0/glib.h";
    if !Path::new(header).exists() {
        let why = format!("{header} is not there (Debian package libglib2.0-dev)");
        assert!(std::env::var_os("LOCKWRIGHT_CI").is_none(), "{why}");
        skip(&why);
        return None;
    }
    Some(build(source, &[FLAGS, more].concat()))
}

fn told(what: &str) -> Option<Run> {
    told_by("glib_locks.c", what)
}

/// Runs what is made of a source under the tool, and without it, with the same result.
pub fn told_by(source: &str, what: &str) -> Option<Run> {
    let program = glib_program(source, &[])?;
    let alone = native(&program).arg(what).run();
    assert_eq!((alone.text(), alone.code()), (format!("{what}: done\n"), 0), "{}", alone.stderr);
    let run = check(program).arg(what).run();
    assert_eq!(run.text(), alone.text(), "{}", run.stderr);
    assert_eq!(run.count("lost"), 0, "{}", run.stderr);
    Some(run)
}

#[test]
fn mutexes_in_both_orders() {
    let Some(run) = told("mutexes") else { return };
    finds(&run, CIRCULAR, &["first", "second"], "the same two locks");
    // The guard of GLib's headers is no place.
    for at in ["`second` in first_then_second", "`first` in second_then_first"] {
        assert!(run.stderr.contains(&format!("acquires {at}")), "{}", run.stderr);
    }
    assert_eq!(run.count("acquisitions"), 4);
}

#[test]
fn one_order_is_silent() {
    let Some(run) = told("ordered") else { return };
    assert!(run.findings().is_empty(), "{}", run.stderr);
    assert_eq!(run.code(), 0);
    // Two mutexes, two each of GRecMutex and GRWLock, and what is initialised once.
    assert_eq!(run.count("locks"), 7);
    assert!(!run.stderr.contains("locks were seen"), "{}", run.stderr);
}

#[test]
fn recursive_mutexes_and_rwlocks_in_both_orders() {
    for what in ["recursive", "rwlocks"] {
        let Some(run) = told(what) else { return };
        assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
    }
}

#[test]
fn locks_of_the_heap_go_by_where_they_are_made() {
    let Some(run) = told("heap") else { return };
    assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
    for maker in ["(open_giver)", "(open_taker)"] {
        assert!(run.stderr.contains(maker), "{}", run.stderr);
    }
}

#[test]
fn a_condition_wait_gives_the_mutex_up_and_takes_it_again() {
    let Some(run) = told("cond") else { return };
    finds(&run, CIRCULAR, &["first", "second"], "the same two locks");
    assert!(functions(run.finding()).contains(&"wait_for_change"), "{}", run.stderr);
}

#[test]
fn a_deadlock_is_told_as_it_happens() {
    let Some(program) = glib_program("glib_locks.c", &[]) else { return };
    let run = check(program).arg("hang").run();
    // That both wait for each other's signal with a lock held is no finding of its own.
    let told = run.verdicts();
    let deadlocked = ("circular-dependency", "deadlocked");
    assert_eq!(told, [deadlocked, ("wait-with-lock-held", "ordered")], "{}", run.stderr);
    assert_eq!(lock_names(&run.findings()[0]), ["first", "second"]);
}

/// GLib ends the process for it, and says no more than that some mutex was not locked.
#[test]
fn an_unlock_of_an_unlocked_mutex_names_the_mutex() {
    let Some(program) = glib_program("glib_unlocked.c", &[]) else { return };
    for how in ["twice", "other"] {
        let run = check(&program).arg(how).run();
        assert_eq!(run.verdicts(), [("bad-unlock-balance", "likely")], "{how}: {}", run.stderr);
        assert_eq!(lock_names(run.finding()), ["shelf"], "{how}: {}", run.stderr);
        assert_eq!(functions(run.finding())[0], "main", "{how}: {}", run.stderr);
        assert_eq!(run.text(), "", "{how}: GLib has ended it");
    }
    let Some(run) = told_by("glib_unlocked.c", "once") else { return };
    assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{}", run.stderr);
}

#[test]
fn both_engines_see_them() {
    let Some(program) = glib_program("glib_locks.c", &[]) else { return };
    let run = under("run", &[] as &[&str], program).arg("mutexes").run();
    assert_eq!(run.text(), "mutexes: done\n");
    assert_eq!(run.verdicts(), [CIRCULAR], "{}", run.stderr);
}

#[test]
fn waits_are_measured_and_blamed() {
    let Some(program) = glib_program("glib_locks.c", &[]) else { return };
    let run = under("meter", &[] as &[&str], program).arg("contended").run();
    assert_eq!(run.text(), "contended: done\n", "{}", run.stderr);
    let locks = run.report()["locks"].as_array().unwrap();
    let first = locks.iter().find(|lock| lock["name"] == "first").expect("it is measured");
    let total = &first["total"];
    assert_eq!((&total["acquisitions"], &total["contended"]), (&2.into(), &1.into()), "{first:#}");
    assert!(run.stderr.contains("A = keeper"), "{}", run.stderr);
    // The lock sleeps in a futex by `syscall`: that wait is the lock's, and is not told twice.
    let waits = run.report()["waits"].as_array().unwrap();
    let for_locks =
        |wait: &&Value| ["lock", "unknown"].iter().any(|of| wait["futex"]["used_as"] == **of);
    assert_eq!(waits.iter().filter(for_locks).count(), 0, "{waits:#?}");
}

/// Nothing is there that would not be without the tool; what is loaded later is seen from then on.
#[test]
fn who_asks_for_glib_finds_what_is_there() {
    let plugin = ["-shared", "-fPIC", "-Dmain=plugin_main"];
    let Some(plugin) = glib_program("glib_locks.c", &plugin) else { return };
    let host = build("glib_late.c", &["-rdynamic", "-ldl"]);
    let alone = native(&host).arg(&plugin).arg("mutexes").run();
    assert_eq!(alone.code(), 0, "{}", alone.stderr);
    assert!(alone.text().starts_with("weak 0 0 0\nnamed 0 0\n"), "{}", alone.text());
    let run = check(&host).arg(&plugin).arg("mutexes").run();
    assert_eq!(run.text(), alone.text(), "{}", run.stderr);
    finds(&run, CIRCULAR, &["first", "second"], "the same two locks");
    for command in ["meter", "run"] {
        let run = under(command, &[] as &[&str], &host);
        let run = run.arg(&plugin).arg("ordered").run();
        assert_eq!(run.text(), alone.text().replace("mutexes", "ordered"), "{}", run.stderr);
    }
}

#[test]
fn a_function_of_that_name_of_the_programs_own_is_called() {
    let run = check(build("glib_own.c", &["-rdynamic"])).run();
    assert_eq!((run.text().as_str(), run.code()), ("1 of its own\n", 0), "{}", run.stderr);
}
