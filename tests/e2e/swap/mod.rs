//! `lockwright swap`: programs with their locks replaced.

mod native;
mod only;
mod real;

use serde_json::json;

use crate::harness::{Scratch, build, installed, native, program, tool, under};

/// The locks that the command says there are.
fn locks() -> Vec<String> {
    let out = tool().args(["swap", "--lock", "list"]).output().expect("the tool");
    let text = String::from_utf8(out.stdout).expect("text");
    let rows = text.lines().skip(1).take_while(|line| !line.is_empty());
    rows.map(|row| row.split_whitespace().next().expect("a name").to_owned()).collect()
}

#[test]
fn every_lock_excludes_counts_and_wakes() {
    let program = program("swap_all.c");
    let natively = native(&program).run();
    let locks = locks();
    assert!(locks.len() > 5, "{locks:?}");
    for lock in &locks {
        let run = under("swap", &["--lock", lock], &program).run();
        assert_eq!((run.code(), run.text()), (natively.code(), natively.text()), "{lock}");
        assert!(run.stderr.contains(&format!("ran on `{lock}`")), "{}", run.stderr);
    }
}

#[test]
fn no_signal_is_lost_and_nothing_touched_after_its_end() {
    let program = program("swap_conditions.c");
    for lock in locks() {
        let run = under("swap", &["--lock", &lock], &program).run();
        assert_eq!(
            (run.code(), run.text().as_str()),
            (0, "eaten 6000\nnothing touched\n"),
            "{lock}"
        );
    }
}

#[test]
fn readers_and_writers_that_give_up_keep_nobody_waiting() {
    let run = under("swap", &[] as &[&str], program("swap_rwlocks.c")).run();
    assert_eq!((run.code(), run.text().as_str()), (0, "free\n"), "{}", run.stderr);
}

#[test]
fn what_is_replaced_and_what_is_not_is_counted() {
    let run = under("swap", &["--lock", "tas"], program("swap_counts.c")).run();
    assert_eq!(run.code(), 7, "the program's own");
    let replaced = json!({
        "mutexes": 3, "reader_writer_locks": 1, "spinlocks": 1, "condition_variables": 1
    });
    let kept = json!({
        "process_shared_mutexes": 1, "robust_mutexes": 1, "priority_inheriting_mutexes": 1,
        "priority_protected_mutexes": 0, "process_shared_reader_writer_locks": 0,
        "process_shared_spinlocks": 1, "process_shared_condition_variables": 0
    });
    let report = run.report();
    assert_eq!((&report["lock"], &report["programs"]), (&json!("tas"), &json!(1)));
    assert_eq!((&report["replaced"], &report["kept"]), (&replaced, &kept));
    let said = "note: ran on `tas`: 3 mutexes, 1 reader-writer lock, 1 spinlock, 1 condition variable; \
                stayed the C library's: 1 process-shared mutex, 1 robust mutex, \
                1 priority-inheriting mutex, 1 process-shared spinlock";
    assert!(run.stderr.contains(said), "{}", run.stderr);
}

#[test]
fn a_lock_that_is_none_is_an_error_that_names_them() {
    let run = under("swap", &["--lock", "padlock"], "true").run();
    assert_eq!(run.code(), 2);
    for lock in locks() {
        assert!(run.stderr.contains(&lock), "{}", run.stderr);
    }
}

#[test]
fn no_program_is_an_error() {
    let out = tool().args(["swap", "--lock", "tas"]).output().expect("the tool");
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("no program to run"));
}

#[test]
fn programs_that_would_take_locks_past_it_are_refused() {
    let run = under("swap", &[] as &[&str], build("ending.c", &["-static"])).run();
    assert_eq!(run.code(), 126);
    assert!(run.stderr.contains("statically linked"), "{}", run.stderr);

    let own = build("swap_own.c", &[]);
    let run = under("swap", &[] as &[&str], &own).run();
    assert_eq!(run.code(), 126);
    assert!(run.stderr.contains("has its own pthread_mutex_lock"), "{}", run.stderr);
}

#[test]
fn a_measurement_sees_the_locks_that_are_replaced() {
    let swap = tool().get_program().to_owned();
    let job = under("meter", &["--follow=swap_all"], swap);
    let run = job.args(["swap", "--lock", "hybrid", "--"]).args([program("swap_all.c")]).run();
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let json = run.report().to_string();
    assert!(json.contains("turn_mutex") && json.contains("readers_first"), "{}", run.stderr);
}

#[test]
fn python_and_sqlite_run_on_every_lock() {
    let Some(python) = installed(&["python3"], "python3") else { return };
    let script = "
import sqlite3, threading, queue
database = sqlite3.connect(':memory:', check_same_thread=False)
database.execute('create table t(x)')
todo, lock = queue.Queue(), threading.RLock()
def work():
    while (item := todo.get()) is not None:
        with lock: database.execute('insert into t values(?)', (item,))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for item in range(500): todo.put(item)
for thread in threads: todo.put(None)
for thread in threads: thread.join()
print(database.execute('select sum(x) from t').fetchone()[0])
";
    for lock in locks() {
        let run = under("swap", &["--lock", &lock], &python).args(["-c", script]).run();
        assert_eq!((run.code(), run.text().as_str()), (0, "124750\n"), "{lock}: {}", run.stderr);
    }
}

#[test]
fn nothing_stays_in_the_ledger_directory() {
    let scratch = Scratch::new();
    let mut command = tool();
    command.arg("swap").arg("--ledger-dir").arg(scratch.path()).args(["--", "true"]);
    assert!(command.output().expect("the tool").status.success());
    assert_eq!(std::fs::read_dir(scratch.path()).expect("there").count(), 0);
}
