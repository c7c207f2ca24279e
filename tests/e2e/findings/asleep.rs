//! Processes in which every thread waits for another one for ever, in no cycle of locks: they are ended, and the report says
//! where each thread waits. And those that something can still end, which the tool leaves alone.

use std::thread;

use crate::golden::golden;
use crate::harness::{
    FOUND, Run, build, check, check_with, is_alive, program, rust_program, signal, under,
};

const ASLEEP: (&str, &str) = ("all-threads-asleep", "deadlocked");

fn all_asleep(how: &str) -> Run {
    check(program("all_asleep.c")).arg(how).run()
}

/// Functions of the steps of the finding, innermost first, in the order of the threads.
fn places(run: &Run) -> Vec<Vec<String>> {
    let findings = run.report()["findings"].as_array().unwrap().clone();
    let finding = findings.into_iter().find(|it| it["kind"] == ASLEEP.0).expect("the finding");
    let steps = finding["steps"].as_array().unwrap().clone();
    let of = |step: &serde_json::Value| {
        let frames = step["stack"].as_array().unwrap().iter();
        frames.filter_map(|it| it["function"].as_str().map(str::to_owned)).collect()
    };
    steps.iter().map(of).collect()
}

#[test]
fn a_condition_that_nobody_is_left_to_signal() {
    let run = all_asleep("condition");
    assert_eq!((run.verdicts(), run.code()), (vec![ASLEEP], FOUND), "{}", run.stderr);
    let places = places(&run);
    assert_eq!(places[0][..2], ["run", "main"], "{}", run.stderr);
    assert_eq!(places[1][..2], ["wait_until_ready", "reader"], "{}", run.stderr);
}

#[test]
fn a_lock_whose_holder_has_ended() {
    let run = all_asleep("left");
    let left = ("exit-with-lock-held", "likely");
    assert_eq!((run.verdicts(), run.code()), (vec![ASLEEP, left], FOUND), "{}", run.stderr);
    let words = "waits for `table`, held by thread 2 (all_asleep), which has ended";
    assert!(run.stderr.contains(words), "{}", run.stderr);
}

#[test]
fn a_wait_with_a_lock_that_the_waker_needs() {
    let run = all_asleep("semaphore");
    assert_eq!((run.verdicts(), run.code()), (vec![ASLEEP], FOUND), "{}", run.stderr);
    let words = "thread 2 (all_asleep) waits for `table`, held by thread 1 (all_asleep)";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    let step = &run.finding()["steps"][0];
    assert_eq!(step["held"][0]["name"], "table", "{step:#}");
}

#[test]
fn threads_that_wait_alike_are_told_once() {
    let run = all_asleep("many");
    assert_eq!(run.verdicts(), [ASLEEP], "{}", run.stderr);
    assert_eq!(places(&run).len(), 2, "{}", run.stderr);
    assert!(run.stderr.contains("all 31 threads of the process wait"), "{}", run.stderr);
    assert!(run.stderr.contains("29 more threads wait as thread "), "{}", run.stderr);
}

#[test]
fn it_reads_well() {
    golden("all-threads-asleep", check(program("all_asleep.c")).arg("semaphore"));
}

#[test]
fn locks_and_channels_of_rust_std() {
    let std = |how| check_with(&["--no-inlined"], rust_program("futex_std.rs")).arg(how).run();
    let run = std("asleep");
    assert_eq!((run.verdicts(), run.code()), (vec![ASLEEP], FOUND), "{}", run.stderr);
    let places = places(&run);
    let is_in = |name: &str| places.iter().any(|it| it.iter().any(|at| at.contains(name)));
    assert!(is_in("left_then_right") && is_in("right_then_left"), "{places:#?}");
    let run = std("channels");
    assert_eq!((run.verdicts(), run.code()), (vec![ASLEEP], FOUND), "{}", run.stderr);
}

#[test]
fn a_latch_of_cxx20_under_a_lock() {
    let run = check(build("latch_asleep.cc", &["-std=c++20", "-O1"])).run();
    assert_eq!((run.verdicts(), run.code()), (vec![ASLEEP], FOUND), "{}", run.stderr);
    assert!(run.stderr.contains("waits for `opened` while holding `table`"), "{}", run.stderr);
}

#[test]
fn it_is_left_hanging_if_that_is_wanted() {
    let mut running =
        check_with(&["--on-deadlock=report"], program("all_asleep.c")).arg("condition").spawn();
    running.await_stderr("left hanging (--on-deadlock=report)");
    assert!(running.is_running());
    signal(running.id(), libc::SIGTERM);
    let run = running.wait();
    assert_eq!((run.verdicts(), run.code()), (vec![ASLEEP], FOUND), "{}", run.stderr);
}

/// None of these is ever ended by the tool, however long it takes: they take seconds, so they run side by side.
#[test]
fn what_something_can_still_end_is_left_alone() {
    let job = |how| under("check", &[] as &[&str], program("all_asleep.c")).arg(how);
    thread::scope(|scope| {
        for how in ["shared", "ended"] {
            scope.spawn(move || {
                let run = job(how).run();
                let last = if how == "ended" { "ended by signal 15\n" } else { "the end\n" };
                assert_eq!(
                    (run.verdicts(), run.text().as_str(), run.code()),
                    (vec![], last, 0),
                    "{how}: {}",
                    run.stderr
                );
            });
        }
        scope.spawn(|| {
            let words = ["-c", "sleep 5 | \"$0\" input"];
            let run = check("sh").args(words).arg(program("all_asleep.c")).run();
            assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{}", run.stderr);
            assert_eq!(run.text(), "the end\n", "{}", run.stderr);
        });
        scope.spawn(|| {
            let running = job("handler").spawn();
            let pid = running.program_id();
            thread::sleep(std::time::Duration::from_secs(5));
            assert!(is_alive(pid), "{}", running.stderr());
            signal(pid, libc::SIGTERM);
            let run = running.wait();
            assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{}", run.stderr);
            assert!(run.text().ends_with("the end\n"), "{}", run.text());
        });
    });
}
