//! Locks of Rust's std whose fast paths are inlined: no function is called that could be interposed, and no line is changed.

use crate::harness::{
    FOUND, build, check, check_with, lock_names, native, rust_program, rust_program_with, skip,
    under,
};
use crate::kinds::annotations::CIRCULAR;
use crate::meter::run::{EXACT, How, meter};

const PROGRAM: &str = "inlined_locks.rs";

#[test]
fn locks_of_rusts_std_in_both_orders() {
    for (what, locks) in [
        ("abba", vec!["inlined_locks::ACCOUNTS", "inlined_locks::JOURNAL"]),
        (
            "three",
            vec!["inlined_locks::ACCOUNTS", "inlined_locks::INDEX", "inlined_locks::JOURNAL"],
        ),
        ("heap", vec!["inlined_locks::Bank::audit", "inlined_locks::Bank::ledger"]),
        ("rwlock", vec!["inlined_locks::ACCOUNTS", "inlined_locks::TABLE"]),
    ] {
        let run = check(rust_program(PROGRAM)).arg(what).run();
        assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{what}: {}", run.stderr);
        let mut named = lock_names(run.finding());
        named.sort_unstable();
        assert_eq!(named, locks, "{what}");
        // The places are the program's: neither std's functions nor core's atomics.
        for at in ["acquires", "was taken"] {
            for library in ["core::", "std::"] {
                let inside = format!("{at} in {library}");
                assert!(!run.stderr.contains(&inside), "{inside}: {}", run.stderr);
            }
        }
    }
}

#[test]
fn one_order_of_rusts_locks_is_silent() {
    for what in ["ordered", "join", "condvar"] {
        let run = check(rust_program(PROGRAM)).arg(what).run();
        assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{what}: {}", run.stderr);
        assert!(run.count("acquisitions") > 2, "{what}: {}", run.stderr);
        assert!(!run.stderr.contains("inlined in"), "all are watched: {}", run.stderr);
    }
}

/// They live only while their creator is in `std::thread::scope`, which waits for them by an atomic counter.
#[test]
fn scoped_threads_are_over_after_their_scope() {
    let program = rust_program("inlined_scopes.rs");
    for how in ["after", "before", "nested", "turns", "later"] {
        let run = check_with(&["--all"], &program).arg(how).run();
        assert_eq!(
            (run.verdicts(), run.code()),
            (vec![("circular-dependency", "ordered")], 0),
            "{how}: {}",
            run.stderr
        );
    }
    for how in
        ["inside", "plain", "both", "unscoped", "outer", "together", "earlier", "within", "at_end"]
    {
        let run = check(&program).arg(how).run();
        assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{how}: {}", run.stderr);
    }
}

#[test]
fn a_deadlock_of_rusts_mutexes_is_one() {
    let run = check_with(&["--on-deadlock=kill"], rust_program(PROGRAM)).arg("deadlock").run();
    assert_eq!(run.code(), FOUND, "{}", run.stderr);
    assert!(run.verdicts().contains(&("circular-dependency", "deadlocked")), "{}", run.stderr);
    assert_eq!(
        lock_names(run.finding()),
        ["inlined_locks::ACCOUNTS", "inlined_locks::JOURNAL"],
        "{}",
        run.stderr
    );
}

#[test]
fn guards_that_are_forgotten_and_joins_with_a_lock() {
    for (what, kind) in
        [("forget", "exit-with-lock-held"), ("join-with-lock", "join-with-lock-held")]
    {
        let run = check(rust_program(PROGRAM)).arg(what).run();
        let kinds: Vec<&str> = run.verdicts().iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [kind], "{what}: {}", run.stderr);
    }
}

/// Whatever a call between two instructions overwrites would be seen in the sums.
#[test]
fn registers_are_the_programs() {
    for flags in
        [&["-Copt-level=0"][..], &["-Copt-level=1"], &["-O"], &["-Copt-level=z", "-Cpanic=abort"]]
    {
        let program = rust_program_with(PROGRAM, flags);
        let alone = native(&program).args(["sums", "20000"]).run();
        assert_eq!(alone.code(), 0, "{}", alone.stderr);
        for command in ["check", "meter", "run"] {
            let run = under(command, &[] as &[&str], &program).args(["sums", "20000"]).run();
            assert_eq!((run.text(), run.code()), (alone.text(), 0), "{flags:?}: {}", run.stderr);
            if command != "meter" {
                assert!(run.count("acquisitions") > 60_000, "{flags:?}: {}", run.stderr);
            }
        }
    }
}

#[test]
fn they_can_be_left_out() {
    let run = check_with(&["--no-inlined"], rust_program(PROGRAM)).arg("abba").run();
    assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{}", run.stderr);
}

/// The holder gives the mutex up only when the other thread has gone to sleep for it, 50 times.
#[test]
fn holds_waits_and_blame_of_rusts_mutex() {
    for command in ["meter", "run"] {
        let run = meter(How { command, ..EXACT }, &rust_program("futex_std.rs"), &[]);
        assert_eq!(run.run.text(), "50\n", "{}", run.run.stderr);
        let numbers = &run.site("futex_std::wants").numbers;
        assert_eq!((numbers.acquisitions, numbers.contended), (50, 50), "{numbers:#?}");
        let blamed = run.blame("futex_std::wants", "futex_std::contended");
        // The rest passes between the release and the moment that the waiter runs again.
        assert!(blamed > 0.0 && blamed <= numbers.wait.total_ns * 1.001, "{blamed}: {numbers:#?}");
        assert_eq!(
            run.lock("futex_std::wants").blame.iter().filter(|it| it.holder.is_some()).count(),
            1
        );
    }
}

#[test]
fn stacks_of_ended_threads_forks_and_handlers_that_unwind() {
    for what in ["stacks", "fork", "profile"] {
        let run = check(rust_program("inlined_lives.rs")).arg(what).run();
        let came = (run.text(), run.verdicts(), run.code());
        assert_eq!(came, ("done\n".to_owned(), vec![], 0), "{what}: {}", run.stderr);
    }
}

/// A thread takes a lock again as it did before: not one that has another's memory.
#[test]
fn a_lock_in_the_memory_of_another_is_another() {
    let program = rust_program("inlined_lives.rs");
    for command in ["check", "run"] {
        let locks = |what| under(command, &[] as &[&str], &program).arg(what).run().count("locks");
        assert_eq!(locks("reborn") - locks("kept"), 99, "{command}");
    }
}

/// Where the system does not let code be changed it is as it was, and the report says so.
#[test]
fn code_that_must_not_be_changed() {
    let program = rust_program(PROGRAM);
    let run = check(build("no_new_code.c", &[])).arg(&program).args(["sums", "1000"]).run();
    if run.code() == 77 {
        return skip("memory that becomes code cannot be forbidden: it takes Linux 6.3");
    }
    assert_eq!((run.text(), run.code()), ("4000 3000 4000\n".to_owned(), 0), "{}", run.stderr);
    assert!(run.stderr.contains("the system does not let code be changed"), "{}", run.stderr);
}

/// More often than there is room for at a time.
#[test]
fn a_library_that_is_loaded_and_unloaded_while_threads_run() {
    let flags = ["--crate-type=cdylib", "-O", "-g", "-Cpanic=abort"];
    let library = rust_program_with("inlined_library.rs", &flags);
    let run = check(build("inlined_loads.c", &[])).arg(library).arg("100").run();
    let came = (run.text(), run.verdicts(), run.code());
    assert_eq!(came, ("done\n".to_owned(), vec![CIRCULAR], FOUND), "{}", run.stderr);
    let mut named = lock_names(run.finding());
    named.sort_unstable();
    assert_eq!(named, ["inlined_library::INDEX", "inlined_library::TABLE"]);
    assert!(!run.stderr.contains("not watched"), "{}", run.stderr);
}

/// Another library, whose locks are not those of the first, though they have the same addresses.
#[test]
fn a_library_that_comes_to_the_place_of_another() {
    let build_as = |name: &str| {
        let name = format!("--crate-name={name}");
        let flags = ["--crate-type=cdylib", "-O", "-g", "-Cpanic=abort", &name];
        rust_program_with("inlined_library.rs", &flags)
    };
    let [first, second] = ["first", "second"].map(build_as);
    let run = check(build("inlined_loads.c", &[])).arg(first).arg("2").arg(second).run();
    assert!(["at the same address\ndone\n", "elsewhere\ndone\n"].contains(&&*run.text()));
    assert_eq!((run.verdicts(), run.code()), (vec![], 0), "{}", run.stderr);
}

/// By a path that begins in the current directory, which is what the loader calls it, too.
#[test]
fn a_library_that_is_loaded_by_a_relative_path() {
    let flags = ["--crate-type=cdylib", "-O", "-g", "-Cpanic=abort"];
    let library = rust_program_with("inlined_library.rs", &flags);
    let (folder, name) = (library.parent().unwrap(), library.file_name().unwrap());
    let path = std::path::Path::new(".").join(name);
    let run = check(build("inlined_loads.c", &[])).arg(path).arg("2").current_dir(folder).run();
    assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
}

#[test]
fn a_program_that_another_executes() {
    let program = rust_program(PROGRAM);
    let run = check("/bin/sh").arg("-c").arg(format!("{} abba", program.display())).run();
    assert_eq!((run.verdicts(), run.code()), (vec![CIRCULAR], FOUND), "{}", run.stderr);
}
