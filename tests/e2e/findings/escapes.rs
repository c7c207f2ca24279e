//! Threads that wait for each other and go on nevertheless: another thread unlocks, a wait is
//! cancelled, a signal's handler jumps out. Such a program is let be, and its report says nothing
//! of a deadlock. One that cannot go on is ended.

use crate::harness::{FOUND, Run, native, program, under};

/// The run under each of the commands, which comes to the same end as natively.
fn unharmed(source: &str, arguments: &[&str]) -> Vec<Run> {
    let program = program(source);
    let alone = native(&program).args(arguments).run();
    assert_eq!(alone.code(), 0);
    let commands = ["check", "meter", "run"];
    let run = |command| under(command, &[] as &[&str], &program).args(arguments).run();
    let runs = commands.map(|command| (command, run(command)));
    runs.into_iter()
        .map(|(command, run)| {
            assert_eq!(run.text(), alone.text(), "{command} {source}: {}", run.stderr);
            assert!([0, FOUND].contains(&run.code()), "{command} {source}: {}", run.stderr);
            assert!(!run.stderr.contains("deadlocked"), "{command} {source}: {}", run.stderr);
            run
        })
        .collect()
}

/// What check and run found.
fn kinds(runs: &[Run]) -> Vec<Vec<(&str, &str)>> {
    [0, 2].map(|at| runs[at].verdicts()).to_vec()
}

#[test]
fn a_mutex_that_another_thread_unlocks_is_no_deadlock() {
    for delays in [&["50"] as &[&str], &["5000"], &["50", "5000"]] {
        let runs = unharmed("gate.c", delays);
        for found in kinds(&runs) {
            let is_unlock = |finding: &(&str, &str)| *finding == ("bad-unlock-balance", "likely");
            assert!(!found.is_empty() && found.iter().all(is_unlock), "{found:?}");
        }
    }
}

#[test]
fn a_join_that_is_cancelled_is_no_deadlock() {
    let runs = unharmed("join_cancelled.c", &["4000"]);
    for found in kinds(&runs) {
        assert!(found.is_empty(), "{}", runs[0].stderr);
    }
}

#[test]
fn a_cycle_that_is_left_by_asynchronous_cancellation_has_ended() {
    let runs = unharmed("cycle_cancelled.c", &["4000"]);
    // Both orders are there nevertheless.
    for found in kinds(&runs) {
        assert_eq!(found, [("circular-dependency", "likely")], "{}", runs[0].stderr);
    }
}

#[test]
fn a_wait_that_a_handler_jumps_out_of_is_no_deadlock() {
    for how in ["alarm", "again", "timer"] {
        let runs = unharmed("alarm_jump.c", &[how]);
        for run in &runs {
            assert!(!run.stderr.to_lowercase().contains("still waiting"), "{how}: {}", run.stderr);
        }
    }
}

/// Ended, as nothing can bring it forward; and the run fails.
fn is_ended(how: &str) {
    let kind = if how == "join" { "join-with-lock-held" } else { "circular-dependency" };
    for command in ["check", "run"] {
        let run = under(command, &[] as &[&str], program("stuck.c")).arg(how).run();
        assert_eq!(run.verdicts(), [(kind, "deadlocked")], "{}", run.stderr);
        assert_eq!(run.code(), FOUND, "{how}: {}", run.stderr);
        assert_eq!(run.report()["processes"][0]["end"]["signal"], libc::SIGKILL, "{}", run.stderr);
    }
}

#[test]
fn a_handler_for_the_end_does_not_keep_a_deadlocked_program_from_being_ended() {
    is_ended("handler");
}

#[test]
fn a_timer_that_went_off_does_not_either() {
    is_ended("timer");
}

#[test]
fn a_wait_that_nobody_cancels_does_not_either() {
    is_ended("join");
}

#[test]
fn a_thread_that_ran_for_a_while_does_not_either() {
    is_ended("runner");
}

#[test]
fn an_idle_thread_does_not_either() {
    is_ended("pool");
}
