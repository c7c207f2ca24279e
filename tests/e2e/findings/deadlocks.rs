//! Programs that really deadlock, the first time they could: reported while they hang.

use crate::harness::{
    FOUND, check, check_with, functions, is_alive, lock_names, program, signal, thread_names, until,
};

#[test]
fn two_threads_are_reported_and_killed() {
    let run = check(program("deadlock.c")).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    let finding = run.finding();
    assert_eq!(lock_names(finding), ["fork_1", "fork_2"]);
    let mut threads = thread_names(finding);
    threads.sort_unstable();
    assert_eq!(threads, ["kant", "plato"]);
    assert!(functions(finding).contains(&"dine"), "{finding:#}");
    assert_eq!(run.code(), FOUND);
    let pid: u32 = run.text().trim().parse().unwrap_or_else(|_| panic!("stdout: {}", run.text()));
    assert!(!is_alive(pid));
}

#[test]
fn three_threads_in_a_ring() {
    let run = check(program("deadlock.c")).arg("3").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    let finding = run.finding();
    assert_eq!(lock_names(finding), ["fork_1", "fork_2", "fork_3"]);
    let mut threads = thread_names(finding);
    threads.sort_unstable();
    assert_eq!(threads, ["hegel", "kant", "plato"]);
    for step in finding["steps"].as_array().unwrap() {
        assert_eq!(step["held"].as_array().unwrap().len(), 1, "{step:#}");
    }
    assert_eq!(run.code(), FOUND);
}

#[test]
fn abort_lets_the_program_end_itself() {
    let run = check_with(&["--on-deadlock=abort"], program("deadlock.c")).run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert!(run.text().ends_with("aborted\n"), "its SIGABRT handler ran: {}", run.text());
    assert_eq!(run.code(), FOUND);
}

#[test]
fn report_leaves_the_program_hanging() {
    let mut running = check_with(&["--on-deadlock=report"], program("deadlock.c")).spawn();
    let pid = running.program_id();
    running.await_stderr("fork_2");
    assert!(running.is_running() && is_alive(pid), "it hangs on: {}", running.stderr());
    signal(pid, libc::SIGTERM);
    let run = running.wait();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn kill_really_ends_it_while_it_hangs() {
    let running = check_with(&["--on-deadlock=kill"], program("deadlock.c")).spawn();
    let pid = running.program_id();
    until("the end of the program", || (!is_alive(pid)).then_some(()));
    assert_eq!(running.wait().code(), FOUND);
}

#[test]
fn a_mutex_locked_twice_by_one_thread() {
    let run = check(program("aa.c")).arg("normal").run();
    assert_eq!(run.verdicts(), [("recursive-locking", "deadlocked")], "{}", run.stderr);
    let finding = run.finding();
    assert_eq!(lock_names(finding), ["mutex"]);
    let functions = functions(finding);
    assert!(functions.contains(&"inner"), "{finding:#}");
    assert_eq!(run.code(), FOUND);
}

#[test]
fn reader_writer_locks() {
    let run = check(program("rwlock.c")).arg("deadlock").run();
    assert_eq!(run.verdicts(), [("circular-dependency", "deadlocked")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["catalogue", "index_"]);
    assert_eq!(run.code(), FOUND);
}

#[test]
fn a_reader_behind_a_waiting_writer() {
    let run = check(program("reader_behind_writer.c")).run();
    assert_eq!(run.verdicts()[0], ("circular-dependency", "deadlocked"), "{}", run.stderr);
    assert_eq!(run.findings()[0]["title"], "two threads wait for each other: `table`");
    assert_eq!(run.code(), FOUND);
}

#[test]
fn a_join_for_a_thread_that_needs_a_held_lock() {
    for last in ["worker", "joiner"] {
        let run = check(program("join.c")).arg(last).run();
        assert_eq!(run.verdicts(), [("join-with-lock-held", "deadlocked")], "{}", run.stderr);
        assert!(lock_names(run.finding()).contains(&"state"), "{:#}", run.finding());
        assert_eq!(run.code(), FOUND);
    }
}

#[test]
fn exit_code_is_the_users_choice() {
    let run = check_with(&["--exit-code", "9"], program("deadlock.c")).run();
    assert_eq!(run.code(), 9);
}
