//! The holders of what is waited for: semaphores that are locks, routines that are run once, locks that processes share.

use lockwright_analysis::lockmeter::model::{WaitKind, WakerKind};
use lockwright_ledger::rows::lock_kind;

use super::run::{EXACT, How, meter, repeatedly, within};
use crate::harness::program;

const BOTH: How = How { command: "run", ..EXACT };

#[test]
fn a_semaphore_that_is_used_as_a_lock_is_one() {
    for how in [EXACT, BOTH] {
        repeatedly(|| {
            let run = meter(how, &program("meter_semaphores.c"), &[]);
            let (lock, site) = (run.lock("takes"), run.site("takes"));
            assert_eq!(lock.kind, lock_kind::SEMAPHORE);
            assert_eq!(lock.name, "as_lock");
            let numbers = &site.numbers;
            assert_eq!(numbers.acquisitions as f64, run.truth("taken"));
            assert_eq!((numbers.hold.count, numbers.held), (numbers.acquisitions, 0));
            assert_eq!(run.site("tries").numbers.rejects as f64, run.truth("rejected"));
            assert_eq!(run.report.locks.len(), 1, "{:#?}", run.report.locks);
            // Another thread's posts show that the others are none.
            let waits: u64 = run
                .report
                .waits
                .iter()
                .filter(|w| w.kind == WaitKind::Semaphore)
                .map(|w| w.waits)
                .sum();
            assert_eq!(waits as f64, run.truth("waits"));
            within(5.0, "held", numbers.hold.total_ns, run.truth("held"))?;
            within(5.0, "waited", numbers.wait.total_ns, run.truth("waited"))?;
            // The holders are known.
            let blamed = run.blame("takes", "takes");
            match blamed > 0.5 * numbers.wait.total_ns {
                true => Ok(()),
                false => Err(format!("{blamed} of {} ns", numbers.wait.total_ns)),
            }
        });
    }
}

#[test]
fn routines_that_are_run_once_are_waited_for() {
    for how in [EXACT, BOTH] {
        repeatedly(|| {
            let run = meter(how, &program("meter_once.cc"), &[]);
            for (function, truth) in [("once", "pthread_once"), ("call", "call_once")] {
                let is_it = |frame: &lockwright_analysis::finding::Frame| {
                    frame.function.as_deref().is_some_and(|name| name.starts_with(function))
                };
                let waits = run.report.waits.iter().filter(|wait| wait.kind == WaitKind::Once);
                let found: Vec<_> =
                    waits.filter(|wait| wait.stack.iter().take(3).any(is_it)).collect();
                let [wait] = found.as_slice() else { panic!("{function}: {found:#?}") };
                assert_eq!(wait.waits, 3, "{wait:#?}");
                within(5.0, truth, wait.wait.total_ns, run.truth(truth))?;
                let [waker] = wait.wakers.as_slice() else { panic!("{wait:#?}") };
                assert_eq!((waker.kind, waker.count), (WakerKind::Routine, 3), "{wait:#?}");
            }
            Ok(())
        });
    }
}

#[test]
fn a_lock_that_processes_share_is_held_by_another() {
    for how in [EXACT, BOTH] {
        repeatedly(|| {
            let run = meter(how, &program("meter_shared.c"), &[]);
            let numbers = &run.site("takes").numbers;
            assert_eq!(numbers.acquisitions as f64, run.truth("taken"));
            within(5.0, "waited", numbers.wait.total_ns, run.truth("waited"))?;
            let blamed = run.blame("takes", "takes");
            match blamed > 0.9 * numbers.wait.total_ns {
                true => Ok(()),
                false => Err(format!("{blamed} of {} ns", numbers.wait.total_ns)),
            }
        });
    }
}

#[test]
fn a_holder_without_a_processor_does_not_run() {
    for how in [EXACT, BOTH] {
        repeatedly(|| {
            let run = meter(how, &program("meter_preempted.c"), &[]);
            within(
                15.0,
                "without a processor",
                run.site("keeps").preempted_ns(),
                run.truth("stood"),
            )
        });
    }
    // Of holds that are short where they keep it, the thread's processor time is all that is left; where it was lost outside of holds,
    // too, that is estimated.
    for how in [EXACT, BOTH] {
        let run = meter(how, &program("meter_short.c"), &[]);
        let (site, ran) = (run.site("takes"), run.truth("ran"));
        let (held, lost) = (site.numbers.hold_ns, site.preempted_ns());
        assert!(held - lost <= ran + 0.3 * lost, "{lost} of {held} ns lost, {ran} ns ran");
        assert!(held < ran * 1.2 || lost > 0.0, "{lost} of {held} ns lost, {ran} ns ran");
    }
    // One that has its processor runs.
    let run = meter(EXACT, &program("meter_contention.c"), &["2"]);
    let sites = run.report.locks.iter().flat_map(|lock| &lock.sites);
    assert!(sites.clone().any(|site| site.numbers.contended > 0));
    for site in sites {
        assert!(site.preempted_ns() <= site.numbers.hold_ns, "{site:#?}");
    }
}
