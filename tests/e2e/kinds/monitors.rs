//! Monitors: locks that a program or a library builds of a mutex, a condition variable and a flag. They are locks also in runs in
//! which nobody had to wait for one. And what only looks like one.

use std::path::Path;

use crate::harness::{FOUND, Run, build, check, due, lock_names, skip, under};

const LIKELY: (&str, &str) = ("circular-dependency", "likely");
/// How the compiler optimises; the last is without symbols, too.
const LEVELS: [&[&str]; 4] = [&["-O0"], &["-O1"], &["-O2"], &["-O2", "-s"]];

fn finds(source: &str, flags: &[&str], how: &[&str], verdicts: &[(&str, &str)]) -> Run {
    let run = check(build(source, flags)).args(how).run();
    assert_eq!(run.verdicts(), verdicts, "{source} {flags:?} {how:?}: {}", run.stderr);
    let code = if verdicts.contains(&LIKELY) { FOUND } else { 0 };
    assert_eq!(
        (run.text(), run.code()),
        ("done\n".into(), code),
        "{flags:?} {how:?}: {}",
        run.stderr
    );
    run
}

#[test]
fn taken_in_both_orders() {
    for level in LEVELS {
        for how in ["ab-ba", "mixed", "heap"] {
            finds("monitor_locks.c", level, &[how], &[LIKELY]);
        }
        finds("monitor_locks.c", level, &["ab-ba", "contended"], &[LIKELY]);
    }
}

#[test]
fn kept_apart_or_in_one_order() {
    for level in LEVELS {
        for (how, verdicts) in [
            ("same", &[][..]),
            ("try", &[]),
            ("joined", &[(LIKELY.0, "ordered")]),
            ("outer", &[(LIKELY.0, "guarded")]),
        ] {
            finds("monitor_locks.c", level, &[how], verdicts);
        }
        finds("monitor_locks.c", level, &["same", "contended"], &[]);
        finds("monitor_locks.c", level, &["joined", "contended"], &[(LIKELY.0, "ordered")]);
    }
}

#[test]
fn named_by_their_mutexes() {
    let run = finds("monitor_locks.c", &[], &["ab-ba"], &[LIKELY]);
    let mut locks = lock_names(run.finding());
    locks.sort_unstable();
    assert_eq!(locks, ["monitor of a.mutex", "monitor of b.mutex"]);
    // Neither is counted as a lock of its own.
    assert!(run.stderr.contains("watched 2 locks in 2 classes"), "{}", run.stderr);
}

#[test]
fn deadlocked_ones_are_found() {
    let run = check(build("monitor_locks.c", &[])).arg("deadlock").run();
    assert_eq!(run.verdicts(), [("all-threads-asleep", "deadlocked"), LIKELY], "{}", run.stderr);
}

#[test]
fn measured_as_well() {
    let run = under("run", &[] as &[&str], build("monitor_locks.c", &[])).arg("ab-ba").run();
    assert_eq!(run.verdicts(), [LIKELY], "{}", run.stderr);
}

#[test]
fn guards_and_predicates() {
    for level in due(&LEVELS[..3], 3) {
        finds("monitor_cxx.cc", level, &[], &[LIKELY]);
        finds("monitor_cxx.cc", level, &["predicate"], &[LIKELY]);
    }
}

#[test]
fn of_boost() {
    let header = "/usr/include/boost/thread.hpp";
    if !Path::new(header).exists() {
        return skip(&format!("{header} is not there (Debian package libboost-thread-dev)"));
    }
    for lock in ["-DLOCK=boost::timed_mutex", "-DLOCK=boost::recursive_timed_mutex"] {
        for level in due(LEVELS, 2) {
            let flags = [level, &[lock, "-lboost_thread"]].concat();
            finds("monitor_boost.cc", &flags, &[], &[LIKELY]);
            finds("monitor_boost.cc", &flags, &["same"], &[]);
            if lock.contains("recursive") {
                finds("monitor_boost.cc", &flags, &["again"], &[LIKELY]);
            }
        }
    }
}

#[test]
fn what_only_looks_like_one_is_none() {
    let ways = [
        "bounded",
        "unbounded",
        "event",
        "drain",
        "pool",
        "pool-full",
        "token",
        "token-contended",
        "once",
    ];
    for level in [LEVELS[0], LEVELS[2]] {
        for how in ways {
            let run = finds("monitor_lookalikes.c", level, &[how], &[]);
            assert_eq!(run.count("dependencies"), 0, "{how}: {}", run.stderr);
        }
    }
}
