//! Other ways to take a lock, and waits for what is none.

use lockwright_analysis::lockmeter::model::WaitKind;

use super::run::{EXACT, agree, meter, repeatedly};
use crate::harness::program;

#[test]
fn trylocks_that_fail_are_rejects_and_not_acquisitions() {
    let run = meter(EXACT, &program("meter_calls.c"), &["trylock"]);
    let numbers = &run.site("try_it").numbers;
    assert_eq!((run.truth("rejected"), run.truth("had")), (20.0, 3.0));
    assert_eq!((numbers.rejects, numbers.acquisitions), (20, 3));
    assert_eq!((numbers.contended, numbers.timeouts, numbers.hold.count), (0, 0, 3));
}

#[test]
fn acquisitions_that_are_given_up_are_waits_and_no_acquisitions() {
    repeatedly(|| {
        let run = meter(EXACT, &program("meter_calls.c"), &["timeout"]);
        let numbers = &run.site("give_up").numbers;
        assert_eq!((run.truth("rejected"), run.truth("had")), (20.0, 3.0));
        assert_eq!((numbers.timeouts, numbers.acquisitions), (20, 3));
        assert_eq!((numbers.contended, numbers.rejects, numbers.hold.count), (20, 0, 3));
        agree("wait", numbers.wait.total_ns, run.truth("waited"))?;
        agree("blame", run.blame("give_up", "hold_it"), numbers.wait.total_ns)
    });
}

#[test]
fn taking_a_recursive_mutex_again_is_no_acquisition() {
    repeatedly(|| {
        let run = meter(EXACT, &program("meter_calls.c"), &["recursive"]);
        let numbers = &run.site("outermost").numbers;
        assert_eq!((numbers.acquisitions, numbers.hold.count), (20, 20));
        assert_eq!(run.acquisitions("deeper"), 0);
        agree("held", numbers.hold.total_ns, run.truth("held"))
    });
}

#[test]
fn waits_for_what_is_no_lock_have_their_own_account() {
    const ROUNDS: u64 = 20;
    repeatedly(|| {
        let run = meter(EXACT, &program("meter_calls.c"), &["waits"]);
        for (kind, function, truth, count) in [
            (WaitKind::Condition, "wait_cond", "cond", ROUNDS),
            (WaitKind::Semaphore, "wait_sem", "sem", ROUNDS),
            (WaitKind::Barrier, "wait_barrier", "barrier", ROUNDS),
            (WaitKind::Join, "wait_end", "join", 1),
        ] {
            let wait = run.wait(kind, function);
            assert_eq!((wait.waits, wait.blocked), (count, count), "{function}");
            agree(function, wait.wait.total_ns, run.truth(truth))?;
        }
        let condition = run.wait(WaitKind::Condition, "wait_cond");
        let mutex = condition.lock.and_then(|i| run.report.locks.get(i)).expect("its mutex");
        assert_eq!(mutex.name, "lock");
        // The mutex is taken by its own site each round, and back by the condition wait.
        assert_eq!(run.acquisitions("wait_cond"), 2 * ROUNDS);
        Ok(())
    });
}
