//! Rust's locks, which are made of futexes, annotated by `lockwright::traced` and
//! `lockwright::sync`.

use crate::golden::golden;
use crate::harness::{FOUND, check, check_with, example, native};
use crate::kinds::annotations::{CIRCULAR, finds};
use crate::meter::run::{EXACT, How, meter, repeatedly};

/// `lockwright run`: both tools at once.
const BOTH: How = How { command: "run", ..EXACT };

#[test]
fn traced_locks_are_validated() {
    let program = example("traced");
    assert_eq!(native(&program).arg("orders").run().code(), 0);

    let run = check(&program).arg("orders").run();
    // One has a name, the other is a static; and the places are the program's own.
    finds(&run, CIRCULAR, &["journal", "traced::ACCOUNTS"], "the same two locks");
    for place in ["ACCOUNTS.lock(), *journal", "*JOURNAL.lock() += 1"] {
        assert!(run.stderr.contains(place), "{place}: {}", run.stderr);
    }
    assert_eq!(run.count("acquisitions"), 4);

    let run = check(&program).arg("readers").run();
    assert_eq!((run.findings().len(), run.code()), (0, 0), "{}", run.stderr);
    let run = check(&program).arg("timeout").run();
    // The lock's holder joins it, and backs out.
    assert_eq!(run.verdicts(), [("join-with-lock-held", "possible")], "{}", run.stderr);
    assert_eq!(run.code(), 0);
}

#[test]
fn traced_locks_are_measured() {
    let program = example("traced");
    for how in [EXACT, BOTH] {
        repeatedly(|| {
            let run = meter(how, &program, &["times"]);
            let (holder, waiter) = (run.site("traced::holder"), run.site("traced::waiter"));
            assert_eq!((holder.numbers.acquisitions, holder.numbers.contended), (1, 0));
            assert_eq!((waiter.numbers.acquisitions, waiter.numbers.contended), (1, 1));
            let often = &run.site("traced::often").numbers;
            assert_eq!((often.acquisitions, often.hold.count, often.contended), (1000, 1000, 0));
            assert_eq!(run.lock("traced::holder").name, "traced::ACCOUNTS");

            run.is_bounded("hold", holder.numbers.hold.total_ns)?;
            run.is_bounded("wait", waiter.numbers.wait.total_ns)?;
            run.is_bounded("by_holder", run.blame("traced::waiter", "traced::holder"))
        });
    }
}

#[test]
fn what_comes_to_nothing_is_counted_as_that() {
    let run = meter(EXACT, &example("traced"), &["timeout"]);
    let sum = |count: fn(&lockwright_analysis::lockmeter::model::Numbers) -> u64| -> u64 {
        run.lock("traced::main").sites.iter().map(|site| count(&site.numbers)).sum()
    };
    assert_eq!(sum(|n| n.acquisitions), 1);
    assert_eq!((sum(|n| n.rejects), sum(|n| n.timeouts)), (1, 1));
}

/// A waiting writer holds up new readers, so that one thread must not read twice; unless it says
/// that it does.
#[test]
fn readers_of_a_fair_lock_wait_behind_writers() {
    let program = example("readers");
    for how in ["twice", "parked"] {
        let run = check(&program).arg(how).run();
        assert_eq!(run.verdicts(), [("recursive-locking", "likely")], "{how}: {}", run.stderr);
        assert_eq!(run.code(), FOUND, "{how}");
    }
    for how in ["once", "tried", "recursive"] {
        let run = check_with(&["--all"], &program).arg(how).run();
        assert_eq!((run.findings().len(), run.code()), (0, 0), "{how}: {}", run.stderr);
        assert!(run.count("acquisitions") >= 3, "{how}: {}", run.stderr);
    }
    golden("traced-readers", check(&program).arg("twice"));
}
