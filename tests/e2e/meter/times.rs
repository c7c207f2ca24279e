//! Times: holds, waits, whose fault they were. Counts are exact; times are within 5 % of what the
//! program measured itself.

use lockwright_analysis::lockmeter::model::{Holds, Mode, WaitKind};

use super::run::{EXACT, How, Metered, agree, is_close, meter, repeatedly, sites_in, within};
use std::path::Path;

use crate::harness::{build, program, tests_dir};

const HOLDS: [(&str, u64); 3] = [("hold_10us", 1000), ("hold_100us", 100), ("hold_1ms", 100)];

fn holds(how: How) -> Metered {
    let run = meter(how, &program("meter_holds.c"), &["100"]);
    for (site, count) in HOLDS {
        let numbers = &run.site(site).numbers;
        assert_eq!(numbers.acquisitions, count, "{site}");
        assert_eq!((numbers.contended, numbers.rejects, numbers.held), (0, 0, 0), "{site}");
    }
    assert_eq!(run.lock("hold_1ms").name, "lock");
    run
}

fn holds_agree(how: How) {
    repeatedly(|| {
        let run = holds(how);
        for (site, count) in HOLDS {
            let numbers = &run.site(site).numbers;
            assert_eq!(numbers.hold.count, count, "{site}");
            agree(site, numbers.hold.total_ns, run.truth(site))?;
            // None can be shorter than asked for; a bucket is 1.6 % wide.
            let asked = run.truth(site) / count as f64;
            let median = numbers.hold.percentile_ns(50.0).expect("holds");
            assert!(median <= asked * 1.05, "{site}: median {median}, mean {asked}");
        }
        Ok(())
    });
}

#[test]
fn holds_are_as_long_as_the_program_says() {
    holds_agree(EXACT);
}

#[test]
fn the_other_clock_tells_the_same() {
    holds_agree(How { clock: Some("monotonic"), ..EXACT });
}

#[test]
fn sampled_holds_have_the_same_mean_and_all_are_counted() {
    repeatedly(|| {
        const HELD: u64 = 16_000;
        let program = program("meter_holds.c");
        let sampled = How { options: &["--hold=sample:16"], ..EXACT };
        let run = meter(sampled, &program, &["0", &HELD.to_string()]);
        assert_eq!(run.report.holds(), Some(Holds::Sampled(16)));
        let numbers = &run.site("hold_in_turn").numbers;
        assert_eq!(numbers.acquisitions, HELD);
        // One in sixteen by chance: the deviation of the count is at most what a binomial one has.
        within(15.0, "holds timed", numbers.hold.count as f64, HELD as f64 / 16.0)?;
        // As the program does: without those during which the processor was taken away.
        let usual = numbers.hold.histogram.buckets().filter(|&(ns, _)| ns < 1e6);
        let (sum, count) =
            usual.fold((0.0, 0), |(sum, count), (ns, n)| (sum + ns * n as f64, count + n));
        within(10.0, "mean", sum / count as f64, run.truth("mean"))
    });
}

#[test]
fn holds_that_are_not_asked_for_are_not_timed() {
    let run = holds(How { options: &["--hold=off"], ..EXACT });
    assert_eq!(run.report.holds(), Some(Holds::Off));
    assert!(HOLDS.iter().all(|(site, _)| run.site(site).numbers.hold.count == 0));
}

fn contention(threads: u64) {
    contention_in(EXACT, &program("meter_contention.c"), threads);
}

fn contention_in(how: How, program: &Path, threads: u64) {
    repeatedly(|| contention_once(how, program, threads));
}

fn contention_once(how: How, program: &Path, threads: u64) -> Result<(), String> {
    const ROUNDS: u64 = 3;
    let run = meter(how, program, &[&threads.to_string(), &ROUNDS.to_string()]);
    let (holder, waiter) = (&run.site("holder").numbers, &run.site("waiter").numbers);
    let waits = ROUNDS * (threads - 1);
    assert_eq!((holder.acquisitions, holder.contended), (ROUNDS, 0));
    assert_eq!((waiter.acquisitions, waiter.contended), (waits, waits), "all of them waited");
    assert_eq!(waiter.wait.count, waits);

    run.is_bounded("wait", waiter.wait.total_ns)?;
    run.is_bounded("hold", holder.hold.total_ns)?;
    run.is_bounded("waiters_hold", waiter.hold.total_ns)?;
    run.is_bounded("by_holder", run.blame("waiter", "holder"))?;
    if threads > 2 {
        run.is_bounded("by_waiter", run.blame("waiter", "waiter"))?;
    }
    // What is nobody's: the time that a thread takes to wake up.
    let blamed: f64 = run.lock("waiter").blame.iter().map(|blame| blame.ns).sum();
    assert!(is_close(blamed, waiter.wait.total_ns, 0.001), "{blamed} of {}", waiter.wait.total_ns);
    Ok(())
}

#[test]
fn two_threads_wait_for_the_right_one() {
    contention(2);
}

#[test]
fn four_threads_wait_for_the_right_ones() {
    contention(4);
}

#[test]
fn eight_threads_wait_for_the_right_ones() {
    contention(8);
}

#[test]
fn locks_of_the_programs_own_are_measured() {
    let include = format!("-I{}", tests_dir().join("../include").display());
    let program = build("meter_contention.c", &["-DOWN", &include]);
    contention_in(EXACT, &program, 2);
    contention_in(EXACT, &program, 4);
    contention_in(How { command: "run", ..EXACT }, &program, 4);
}

#[test]
fn readers_overlap_and_writers_wait_for_them() {
    const READERS: u64 = 4;
    const ROUNDS: u64 = 5;
    let program = program("meter_rwlock.c");
    repeatedly(|| {
        let run = meter(EXACT, &program, &["4", "5"]);
        let lock = run.lock("reader");
        let (reader, writer) = (run.site("reader"), run.site("writer"));
        assert_eq!((reader.mode, writer.mode), (Mode::Read, Mode::Write));
        assert_eq!(reader.numbers.acquisitions, READERS * ROUNDS);
        assert_eq!((writer.numbers.acquisitions, writer.numbers.contended), (ROUNDS, ROUNDS));
        assert_eq!(reader.numbers.contended, 0, "readers come first");
        let readers = lock.readers.as_ref().expect("it has readers");
        assert_eq!((readers.most, readers.busy.count), (READERS, ROUNDS));
        assert_eq!(reader.numbers.readers_max, READERS);

        run.is_bounded("busy", readers.busy.total_ns)?;
        run.is_bounded("read_hold", reader.numbers.hold.total_ns)?;
        run.is_bounded("write_hold", writer.numbers.hold.total_ns)?;
        run.is_bounded("write_wait", writer.numbers.wait.total_ns)?;
        // All of the wait, except the time to wake up.
        run.is_bounded("write_wait", run.blame("writer", "reader"))
    });
}

#[test]
fn blame_goes_down_a_chain_of_waits() {
    let program = program("meter_chain.c");
    repeatedly(|| {
        let run = meter(EXACT, &program, &[]);
        for site in ["a_wants_near", "b_wants_far"] {
            let numbers = &run.site(site).numbers;
            assert_eq!((numbers.acquisitions, numbers.contended), (1, 1), "{site}");
        }
        let (a_wait, b_wait) = (run.truth("a_wait"), run.truth("b_wait"));
        agree("A's wait", run.site("a_wants_near").numbers.wait.total_ns, a_wait)?;
        agree("B's wait", run.site("b_wants_far").numbers.wait.total_ns, b_wait)?;
        agree("B's hold", run.site("b_holds_near").numbers.hold.total_ns, run.truth("b_held"))?;
        let of_a = run.blame("a_wants_near", "b_holds_near");
        let of_b = run.blame("b_wants_far", "c_holds_far");
        agree("C's part in B's wait", of_b, run.truth("c_part_of_b"))?;
        if of_a < 0.9 * a_wait || of_b < 0.9 * b_wait {
            return Err(format!("{of_a} of {a_wait}, {of_b} of {b_wait}"));
        }
        agree("B waits while it holds", run.nested("b_holds_near", "b_wants_far"), b_wait)
    });
}

#[test]
fn a_holder_that_sleeps_is_found_sleeping() {
    let program = program("meter_chain.c");
    repeatedly(|| {
        let run = meter(EXACT, &program, &["sleep"]);
        let call = run.wait(WaitKind::Call, "c_holds_far");
        assert!(call.waits > 0);
        assert_eq!(run.lock("c_holds_far").name, "far");
        // Most of it is the one long sleep, the rest is what it takes to wait for the others.
        let (slept, in_calls) = (run.truth("slept"), run.in_calls("c_holds_far"));
        if in_calls < slept * 0.95 {
            return Err(format!("{in_calls} of {slept}"));
        }
        agree("the longest", call.wait.max_ns, slept)
    });
}

#[test]
fn nested_locks_at_one_site_are_timed_each() {
    let program = program("meter_calls.c");
    repeatedly(|| {
        let run = meter(EXACT, &program, &["nested"]);
        let numbers = &run.site("take").numbers;
        assert_eq!((numbers.acquisitions, numbers.hold.count), (40, 40));
        assert_eq!(run.lock("take").locks, 2);
        agree("held", numbers.hold.total_ns, run.truth("held"))
    });
}

#[test]
fn instances_are_kept_apart_on_demand() {
    let program = program("meter_calls.c");
    repeatedly(|| {
        let run = meter(How { options: &["--instances"], ..EXACT }, &program, &["nested"]);
        assert!(run.report.by_instance);
        let instances = &run.lock("take").instances;
        let counts: Vec<_> = instances.iter().map(|i| i.total.acquisitions).collect();
        assert_eq!(counts, [20, 20]);
        assert_ne!(instances[0].addr, instances[1].addr);
        let both: f64 = instances.iter().map(|i| i.total.hold.total_ns).sum();
        agree("held", both, run.truth("held"))
    });
}

#[test]
fn a_spinlock_is_spun_for() {
    let program = program("meter_calls.c");
    repeatedly(|| {
        let run = meter(EXACT, &program, &["spinlock"]);
        let (holder, waiter) = (&run.site("holds_spinlock").numbers, &run.site("spins").numbers);
        assert_eq!((holder.acquisitions, waiter.acquisitions), (1, 1));
        if waiter.contended != 1 {
            return Err("it came too late to wait: it had no processor".to_owned());
        }
        run.is_bounded("held", holder.hold.total_ns)?;
        run.is_bounded("wait", waiter.wait.total_ns)?;
        assert_eq!(waiter.spin_ns, waiter.wait.total_ns, "all of it spinning");
        // Whenever it works, the holder has it; but it may be free before the waiter has a
        // processor.
        run.is_bounded("wait", run.blame("spins", "holds_spinlock"))
    });
}

#[test]
fn the_callers_of_a_wrapper_are_told_apart() {
    let program = program("meter_calls.c");
    repeatedly(|| {
        let run = meter(EXACT, &program, &["wrapper"]);
        let lock = run.lock("acquire");
        let called_from = |caller: &str| {
            let of = |stack: &[lockwright_analysis::finding::Frame]| {
                stack.get(1).and_then(|frame| frame.function.as_deref()) == Some(caller)
            };
            let found = sites_in(lock, "acquire").into_iter().filter(|(_, s)| of(&s.stack));
            let found: Vec<_> = found.map(|(_, site)| site).collect();
            assert_eq!(found.len(), 1, "one site in {caller}");
            found[0]
        };
        let (often, seldom) = (called_from("often"), called_from("seldom"));
        assert_eq!(often.numbers.acquisitions + seldom.numbers.acquisitions, 220);
        assert_eq!((often.numbers.acquisitions, seldom.numbers.acquisitions), (200, 20));
        agree("held by the second", seldom.numbers.hold.total_ns, run.truth("seldom"))
    });
}
