//! Condition waits: up to the signal they are for the condition, and after it for the mutex. And the threads that signals woke in vain.

use lockwright_analysis::lockmeter::model::{Site, Wait, WaitKind, Waker, WakerKind};
use lockwright_report::lockmeter::advice::advise;

use super::run::{EXACT, How, Metered, meter, repeatedly, within};
use crate::harness::program;

const BOTH: How = How { command: "run", ..EXACT };

/// The site that takes the mutex back.
fn again(run: &Metered) -> &Site {
    let sites = run.report.locks.iter().flat_map(|lock| &lock.sites);
    let found: Vec<_> = sites.filter(|site| site.cond_reacquire).collect();
    let [site] = found.as_slice() else { panic!("{found:#?}") };
    site
}

/// The program's waits, of which all but so many at most had to wait for the mutex, and how long that and the waits before were.
fn agrees(how: How, way: &str, unknown: u64) -> Result<(), String> {
    let run = meter(how, &program("meter_conditions.c"), &[way]);
    let waits = run.truth("waits") as u64;
    let waited = run.report.waits.iter().find(|wait| wait.kind == WaitKind::Condition);
    let (waited, again) = (waited.expect("waits"), again(&run));
    assert_eq!((waited.waits, again.numbers.acquisitions), (waits, waits), "{way}");
    let timeouts = if way == "timeout" { waits } else { 0 };
    assert_eq!(waited.timeouts, timeouts, "{way}");
    // The processor may be taken away from a thread that has been woken, for longer than the mutex is held.
    if again.numbers.contended + unknown < waits {
        return Err(format!("{way}: {} of {waits} contended", again.numbers.contended));
    }
    let known = again.numbers.contended as f64 / waits as f64;
    within(10.0, way, again.numbers.wait.total_ns, run.truth("to_return") * known)?;
    if unknown == 0 {
        within(10.0, way, waited.wait.total_ns, run.truth("to_signal"))?;
    }
    // Nearly all of it is the fault of holders that are known.
    let lock = run.report.locks.iter().find(|lock| lock.sites.iter().any(|s| s.cond_reacquire));
    let nobody: f64 =
        lock.expect("a lock").blame.iter().filter(|b| b.holder.is_none()).map(|b| b.ns).sum();
    match nobody < again.numbers.wait.total_ns * 0.2 {
        true => Ok(()),
        false => Err(format!("{way}: {nobody} ns are nobody's fault")),
    }
}

#[test]
fn a_condition_wait_ends_at_the_signal() {
    for way in ["wait", "timed", "clock", "c11"] {
        repeatedly(|| agrees(EXACT, way, 0));
    }
    repeatedly(|| agrees(BOTH, "wait", 0));
}

#[test]
fn a_condition_wait_ends_when_its_time_is_over() {
    // The first wait that is late does not know the holder.
    for how in [EXACT, BOTH] {
        repeatedly(|| agrees(how, "timeout", 1));
    }
}

#[test]
fn a_condition_wait_ends_when_its_thread_is_cancelled() {
    for how in [EXACT, BOTH] {
        repeatedly(|| agrees(how, "cancel", 0));
    }
}

/// The only wait of a kind for which threads slept again and again.
fn woken(run: &Metered, kind: WaitKind) -> &Wait {
    let waits = run.report.waits.iter().filter(|wait| wait.kind == kind);
    waits.max_by_key(|wait| (wait.in_vain, wait.blocked)).expect("waits")
}

/// At a futex and at a semaphore as on a condition: nearly as often as the program says, and of the clean twin hardly ever.
#[test]
fn threads_woken_in_vain_at_futexes_and_semaphores_are_counted_and_named() {
    const RULE: &str = "woken in vain";
    let ways = [
        (WaitKind::Futex, "futex", "all", "one", "in at_futex"),
        (WaitKind::Semaphore, "semaphore", "taken", "left", "the semaphore `post` again"),
    ];
    for how in [EXACT, BOTH] {
        for (kind, at, faulty, clean, says) in ways {
            // The processor may be taken away from a thread between two waits.
            repeatedly(|| {
                let run = meter(how, &program("meter_woken.c"), &[at, faulty]);
                let truth = run.truth("in_vain");
                let counted = woken(&run, kind).in_vain as f64;
                let advice = advise(&run.report);
                let named = advice.iter().find(|advice| advice.rule == RULE);
                match named {
                    Some(advice) if (0.9..=1.1).contains(&(counted / truth)) => {
                        assert!(advice.text.contains(says), "{}", advice.text);
                        Ok(())
                    }
                    _ => Err(format!("{at}: {counted} of {truth}, {named:?}")),
                }
            });
            let run = meter(how, &program("meter_woken.c"), &[at, clean]);
            let wait = woken(&run, kind);
            assert!(wait.in_vain * 10 <= wait.blocked, "{wait:#?}");
            assert!(advise(&run.report).iter().all(|advice| advice.rule != RULE));
        }
    }
}

/// The calls in `sell`, of the only wait for a condition.
fn seller(run: &Metered) -> &Waker {
    let waits: Vec<_> =
        run.report.waits.iter().filter(|wait| wait.kind == WaitKind::Condition).collect();
    let [wait] = waits.as_slice() else { panic!("{waits:#?}") };
    let in_sell =
        |waker: &&Waker| waker.stack.iter().any(|f| f.function.as_deref() == Some("sell"));
    wait.wakers.iter().find(in_sell).expect("signals")
}

#[test]
fn a_herd_is_counted_and_named_and_is_gone_when_one_is_woken() {
    for how in [EXACT, BOTH] {
        let herd = meter(how, &program("meter_herd.c"), &["broadcast"]);
        let waker = seller(&herd);
        assert_eq!(waker.kind, WakerKind::Broadcast);
        assert_eq!(waker.calls as f64, herd.truth("signals"));
        // The last broadcast is another.
        let woken: u64 = herd.report.waits.iter().flat_map(|w| &w.wakers).map(|w| w.count).sum();
        assert_eq!(woken as f64, herd.truth("woken"));
        // The processor may be taken away from a thread between two waits.
        let in_vain = waker.in_vain as f64 / herd.truth("in_vain");
        assert!((0.97..=1.0).contains(&in_vain), "{waker:#?}");
        let advice = advise(&herd.report);
        let named = advice.iter().find(|advice| advice.rule == "thundering herd").expect("advice");
        assert!(named.text.contains("broadcast on `ready` in sell"), "{}", named.text);

        let mended = meter(how, &program("meter_herd.c"), &["signal"]);
        let waker = seller(&mended);
        assert_eq!(waker.kind, WakerKind::Signal);
        assert_eq!(waker.calls as f64, mended.truth("signals"));
        // A thread that comes by may take the ticket of one that was woken.
        assert!(waker.in_vain as f64 <= mended.truth("in_vain"), "{waker:#?}");
        assert!(advise(&mended.report).iter().all(|advice| advice.rule != "thundering herd"));
    }
}
