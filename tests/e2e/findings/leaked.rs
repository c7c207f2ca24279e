//! Locks that a way out of a function forgot to unlock, found where the thread idles or the process
//! exits. And what is meant so: not reported.

use crate::golden::golden;
use crate::harness::{
    FOUND, Run, build, check, functions, lock_names, program, signal, under, until_asleep,
};

const LIKELY: (&str, &str) = ("leaked-lock", "likely");

fn run(case: &str, how: &[&str]) -> Run {
    let run = check(program("leaked.c")).arg(case).args(how).run();
    assert_eq!(run.text(), "done\n", "{case} {how:?}: {}", run.stderr);
    run
}

/// The case, the lock, and the function that forgets it.
const LEAKS: &[(&str, &str, &str)] = &[
    ("error-path", "table", "handle"),
    ("recursive", "base", "dispatch"),
    ("wrapped", "table", "answer"),
    ("at-exit", "table", "handle"),
];

#[test]
fn a_forgotten_unlock_is_found_where_the_thread_idles_or_the_process_exits() {
    for (case, lock, function) in LEAKS {
        let leak = run(case, &[]);
        assert_eq!(leak.verdicts(), [LIKELY], "{case}: {}", leak.stderr);
        let finding = leak.finding();
        assert_eq!(lock_names(finding), [*lock], "{case}: {finding:#}");
        assert!(functions(finding).contains(function), "{case}: {finding:#}");
        let title = finding["title"].as_str().unwrap();
        assert!(title.contains(&format!("`{function}` has returned")), "{case}: {title}");
        assert_eq!(leak.code(), FOUND, "{case}");

        let fixed = run(case, &["fixed"]);
        assert!(fixed.report()["findings"].as_array().unwrap().is_empty(), "{}", fixed.stderr);
        assert_eq!(fixed.code(), 0, "{case}");
    }
}

#[test]
fn what_is_meant_so_is_not_reported() {
    for case in ["gives-up", "pair", "sometimes", "inside"] {
        let run = run(case, &[]);
        assert!(run.report()["findings"].as_array().unwrap().is_empty(), "{case}: {}", run.stderr);
    }
}

#[test]
fn a_lock_that_is_taken_for_good_is_counted_only() {
    let run = run("whole-life", &[]);
    assert_eq!(run.verdicts(), [], "{}", run.stderr);
    assert!(run.stderr.contains("1 untidy finding not shown"), "{}", run.stderr);
    assert_eq!(run.code(), 0);
}

/// A condition wait gives the lock up inside the function. That is no unlock in another pass.
#[test]
fn a_condition_wait_is_no_unlock_before_the_function_returns() {
    for command in ["check", "run"] {
        for case in ["when-ready", "when-ready-nested"] {
            let run = under(command, &[""; 0], program("leaked.c")).arg(case).run();
            let verdicts = run.verdicts();
            let leaked = verdicts.iter().find(|(kind, _)| *kind == "leaked-lock");
            assert_eq!(leaked, Some(&("leaked-lock", "possible")), "{command}: {}", run.stderr);
        }
    }
}

#[test]
fn who_waits_for_itself_had_forgotten_an_unlock() {
    let hung = check(program("leaked.c")).arg("again").run();
    let verdicts = hung.verdicts();
    assert_eq!(verdicts, [("recursive-locking", "deadlocked"), LIKELY], "{}", hung.stderr);
    let fixed = run("again", &["fixed"]);
    assert_eq!(fixed.verdicts(), [], "{}", fixed.stderr);
}

#[test]
fn a_hang_says_of_the_holder_that_its_function_has_returned() {
    let mut running = under("check", &[""; 0], program("leaked.c")).arg("hang").spawn();
    let pid = running.program_id();
    until_asleep(pid, 2);
    assert!(running.is_running());
    signal(pid, libc::SIGKILL);
    let run = running.wait();
    assert_eq!(run.verdicts(), [LIKELY], "{}", run.stderr);
    assert!(run.stderr.contains("taken in handle ("), "{}", run.stderr);
    assert!(run.stderr.contains("), which has returned\n"), "{}", run.stderr);
    let holder = &run.report()["waiting"][0]["holders"][0];
    assert_eq!(holder["has_returned"], true, "{holder:#}");
}

#[test]
fn leaks_read_well() {
    for (name, case) in [("leaked-lock", "error-path"), ("leaked-lock-exit", "at-exit")] {
        golden(name, check(program("leaked.c")).arg(case));
    }
}

/// The join is no second fault. Where the function is inlined, the leak is not seen by itself, but the join says whose it is.
#[test]
fn a_leak_that_ends_in_a_join_is_a_leak() {
    let run = check(program("leak_joined.c")).run();
    assert_eq!((run.verdicts(), run.code()), (vec![LIKELY], FOUND), "{}", run.stderr);
    let inlined = build("leak_joined.c", &["-DINLINED=__attribute__((always_inline)) inline"]);
    let run = check(&inlined).run();
    let join = ("join-with-lock-held", "likely");
    assert_eq!((run.verdicts(), run.code()), (vec![join], FOUND), "{}", run.stderr);
    let words = "`add`, which took `cache`, has returned without unlocking it";
    assert!(run.stderr.contains(words), "{}", run.stderr);
    assert!(
        run.stderr.contains("help: unlock `cache` on every way out of `add`"),
        "{}",
        run.stderr
    );
    for program in [program("leak_joined.c"), inlined] {
        let clean = check(program).arg("ok").run();
        assert_eq!((clean.verdicts(), clean.code()), (vec![], 0), "{}", clean.stderr);
    }
}

/// The case, what it must report, and the function to blame.
const FORGETS: &[(&str, &str, &str)] = &[
    ("forgets", "possible", "add"),
    ("forgets-deeper", "possible", "add"),
    ("forgets-past-wrapper", "possible", "put"),
];

/// Runs the cases with and without the optimiser.
fn blames(cases: &[(&str, &str, &str)]) {
    for level in ["-O0", "-O1", "-O2"] {
        let program = build("leak_or_wrapper.c", &[level]);
        for (case, grade, function) in cases {
            let run = check(&program).arg(case).run();
            assert_eq!(run.verdicts(), [("leaked-lock", *grade)], "{level} {case}: {}", run.stderr);
            let title = run.finding()["title"].as_str().unwrap();
            let words = format!("`{function}` has returned without unlocking it");
            assert!(title.contains(&words), "{level} {case}: {title}");
        }
    }
}

#[test]
fn a_lock_that_is_taken_next_hides_no_leak_and_who_forgot_is_blamed() {
    blames(FORGETS);
}

/// The threads never came to unlock them.
#[test]
fn locks_of_threads_in_a_deadlock_are_not_leaked() {
    let run = check(program("deadlock_past_wrapper.c")).run();
    let verdicts = [("circular-dependency", "deadlocked")];
    assert_eq!((run.verdicts(), run.code()), (verdicts.to_vec(), FOUND), "{}", run.stderr);
}

#[test]
fn who_is_called_for_the_lock_has_forgotten_nothing() {
    for how in [&["-O0"][..], &["-O1"], &["-O2"], &["-O2", "-DOWN=inline"]] {
        let program = build("leak_or_wrapper.c", how);
        for case in ["keeps", "keeps-alone", "keeps-by-jump", "gives-back", "never-forgets"] {
            let run = check(&program).arg(case).run();
            assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{how:?} {case}: {}", run.stderr);
        }
    }
}
