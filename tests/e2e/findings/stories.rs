//! The kernel's locking-selftest stories, as C programs.

use crate::harness::{Run, check, lock_names, program, thread_names};

/// A story that closes a cycle: its source, the locks of the shortest cycle, the turns that form
/// it.
const CIRCLES: &[(&str, &[&str], &[&str])] = &[
    ("abba.c", &["A", "B"], &["turn-1", "turn-2"]),
    ("abbcca.c", &["A", "B", "C"], &["turn-1", "turn-2", "turn-3"]),
    ("abcabc.c", &["A", "B", "C"], &["turn-1", "turn-2", "turn-3"]),
    ("abbccdda.c", &["A", "B", "C", "D"], &["turn-1", "turn-2", "turn-3", "turn-4"]),
    ("abcdbcda.c", &["A", "B", "C", "D"], &["turn-1", "turn-2", "turn-3", "turn-4"]),
    ("abcdbdda.c", &["A", "B", "D"], &["turn-1", "turn-3", "turn-4"]),
    ("deep.c", &["A", "C", "D"], &["turn-1", "turn-2", "turn-3"]),
];

fn story(source: &str, how: &str) -> Run {
    let run = check(program(source)).arg(how).run();
    assert_eq!(run.text(), "the end\n", "{source} {how}: {}", run.stderr);
    run
}

#[test]
fn a_circle_in_several_threads_is_likely() {
    for (source, locks, turns) in CIRCLES {
        let run = story(source, "threads");
        assert_eq!(run.verdicts(), [("circular-dependency", "likely")], "{source}: {}", run.stderr);
        let finding = run.finding();
        assert_eq!(lock_names(finding), *locks, "{source}: {finding:#}");
        let mut threads = thread_names(finding);
        threads.sort_unstable();
        assert_eq!(threads, *turns, "{source}: {finding:#}");
        assert_eq!(run.code(), 66, "{source}");
        assert!(run.stderr.contains("likely"), "{source}: {}", run.stderr);
    }
}

#[test]
fn every_step_holds_one_lock_of_the_circle_and_takes_the_next() {
    for (source, locks, _) in CIRCLES {
        let run = story(source, "threads");
        let finding = run.finding();
        let steps = finding["steps"].as_array().unwrap();
        assert_eq!(steps.len(), locks.len(), "{source}: {finding:#}");
        let mut taken: Vec<_> = steps.iter().map(|step| step["lock"].as_u64().unwrap()).collect();
        let mut held: Vec<_> = steps
            .iter()
            .map(|step| {
                let held = step["held"].as_array().unwrap();
                // It holds one of the cycle's locks, and may hold others as well.
                let in_circle: Vec<_> = held.iter().filter_map(|h| h["lock"].as_u64()).collect();
                assert!(!in_circle.contains(&step["lock"].as_u64().unwrap()), "{source}: {step:#}");
                assert!(!in_circle.is_empty(), "{source}: {step:#}");
                in_circle[0]
            })
            .collect();
        taken.sort_unstable();
        held.sort_unstable();
        let all: Vec<_> = (0..locks.len() as u64).collect();
        assert_eq!((&taken, &held), (&all, &all), "{source}: {finding:#}");
    }
}

#[test]
fn a_circle_in_one_thread_is_single_thread() {
    for (source, locks, _) in CIRCLES {
        let run = story(source, "single");
        assert_eq!(run.verdicts(), [("circular-dependency", "single-thread")], "{source}");
        assert_eq!(lock_names(run.finding()), *locks, "{source}");
        assert_eq!(run.code(), 0, "{source}");
    }
}

#[test]
fn a_circle_in_threads_that_never_met_is_ordered() {
    for (source, _, _) in CIRCLES {
        let run = story(source, "ordered");
        assert_eq!(
            run.verdicts(),
            [("circular-dependency", "ordered")],
            "{source}: {}",
            run.stderr
        );
        assert_eq!(run.code(), 0, "{source}");
    }
}

#[test]
fn a_circle_under_a_common_lock_is_guarded() {
    let run = story("guarded.c", "threads");
    assert_eq!(run.verdicts(), [("circular-dependency", "guarded")], "{}", run.stderr);
    assert_eq!(lock_names(run.finding()), ["A", "B"]);
    assert_eq!(run.code(), 0);
}

#[test]
fn one_order_is_no_finding() {
    let run = story("inorder.c", "threads");
    assert!(run.findings().is_empty(), "{:#}", run.report());
    assert_eq!(run.code(), 0);
    assert_eq!(run.count("classes"), 4);
    assert_eq!(run.count("locks"), 4);
    assert_eq!(run.count("threads"), 5);
    assert_eq!(run.count("acquisitions"), 4 + 2 + 2 + 4);
    // As the kernel has it, a lock depends on the one taken before it, not on all that are held.
    assert_eq!(run.count("dependencies"), 5, "AB BC CD, AC, BD");
}

#[test]
fn a_trylock_depends_on_nothing_held() {
    let run = story("trylock.c", "threads");
    assert!(run.findings().is_empty(), "{:#}", run.report());
    assert_eq!(run.count("acquisitions"), 4);
}

#[test]
fn a_recursive_mutex_locked_twice_is_no_finding() {
    let run = check(program("aa.c")).arg("recursive").run();
    assert_eq!((run.text().as_str(), run.code()), ("recursive: locked twice\n", 0));
    assert!(run.findings().is_empty(), "{:#}", run.report());
}

#[test]
fn an_errorcheck_mutex_locked_twice_is_no_deadlock() {
    let run = check(program("aa.c")).arg("errorcheck").run();
    assert_eq!((run.text().as_str(), run.code()), ("errorcheck: EDEADLK\n", 0));
    assert!(run.verdicts().iter().all(|(_, grade)| *grade != "deadlocked"), "{:#}", run.report());
}
