//! Processes, threads and locks that come and go: totals add up.

use std::time::Duration;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::meter::{Cell, Meter, Site, wait_kind};

use super::run::{EXACT, How, agree, finish, meter, repeatedly, start};
use crate::harness::{program, repeats, signal};

#[test]
fn a_killed_process_leaves_its_totals_and_what_it_held() {
    repeatedly(|| {
        let run = meter(EXACT, &program("meter_lives.c"), &["killed"]);
        assert_eq!(run.run.code(), 128 + libc::SIGKILL);
        assert!(!run.report.processes[0].exited);
        let count = &run.site("count").numbers;
        assert_eq!((count.acquisitions, count.hold.count, count.held), (12345, 12345, 0));
        let kept = &run.site("keep").numbers;
        assert_eq!((kept.acquisitions, kept.hold.count, kept.held), (1, 0, 1));
        // The acquisition under way is counted, as it would be an instant later.
        let waiter = &run.site("wait_in_vain").numbers;
        assert_eq!((waiter.acquisitions, waiter.held, waiter.hold.count), (1, 0, 0));
        agree("the hold under way", kept.hold_ns, run.truth("held"))
    });
}

#[test]
fn kills_lose_nothing() {
    let program = program("pairs.c");
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..repeats(50, 15) {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let delay = Duration::from_micros(random >> 33 & 0x7fff);
        let running = start(EXACT, &program, &[]);
        let pid = running.program_id();
        std::thread::sleep(delay);
        signal(pid, libc::SIGKILL);
        let run = finish(running);
        let promised = run.run.stdout.iter().filter(|&&b| b == b'.').count() as u64;
        let total = run.report.total();
        assert!(
            total.acquisitions >= 2 * promised,
            "round {round}: {} acquisitions, {promised} pairs",
            total.acquisitions
        );
        assert!(total.hold.count + total.held <= total.acquisitions, "round {round}");
        let in_buckets = total.hold.histogram.count();
        // Each of its four threads may have been counting one.
        assert!(
            (0..=4).contains(&(total.hold.count as i64 - in_buckets as i64)),
            "round {round}: {} holds, {in_buckets} in histograms",
            total.hold.count
        );
    }
}

#[test]
fn a_forked_child_counts_for_itself() {
    let run = meter(EXACT, &program("meter_lives.c"), &["fork"]);
    assert_eq!(run.ledgers.len(), 2);
    let of = |who: &str| {
        let pid = run.truth(who) as u32;
        let is_its = |ledger: &&Ledger| ledger.header().pid == pid;
        let ledger = run.ledgers.iter().find(is_its).expect("a ledger");
        (sum(ledger, |cell| cell.acquisitions), sum(ledger, |cell| cell.holds))
    };
    assert_eq!(of("parent"), (124, 124), "100 and 23, and the lock held over the fork");
    let (acquisitions, holds) = of("child");
    assert_eq!(acquisitions, 50, "what it inherits has been counted");
    assert!((50..=51).contains(&holds), "{holds}");
    assert_eq!(run.site("count").numbers.acquisitions, 123);
    assert_eq!(run.acquisitions("in_child"), 50);
    assert_eq!(run.run.code(), 0);
}

#[test]
fn a_program_that_becomes_another_leaves_both_totals() {
    let run = meter(EXACT, &program("meter_lives.c"), &["exec"]);
    let totals: Vec<u64> = run.ledgers.iter().map(|l| sum(l, |cell| cell.acquisitions)).collect();
    assert_eq!(totals, [11, 7]);
    assert_eq!(run.site("count").numbers.acquisitions, 18, "one place in both");
}

/// The sum of a number over the cells of locks.
fn sum(ledger: &Ledger, number: impl Fn(&Cell) -> u64) -> u64 {
    let is_locks = |cell: &Cell| {
        ledger.get::<Site>(cell.site).is_some_and(|site| site.wait == wait_kind::LOCK)
    };
    ledger.rows::<Cell>().filter(|(_, cell)| is_locks(cell)).map(|(_, cell)| number(&cell)).sum()
}

#[test]
fn a_hundred_thousand_threads_add_up() {
    let run = meter(EXACT, &program("meter_lives.c"), &["threads", "100000"]);
    let numbers = &run.site("once").numbers;
    assert_eq!((numbers.acquisitions, numbers.hold.count), (100_000, 100_000));
    assert_eq!(numbers.wait.count, numbers.contended);
    let meters: Vec<_> = run.ledgers[0].rows::<Meter>().map(|(_, meter)| meter).collect();
    assert!(meters.len() <= 64, "{} meters for eight threads at a time", meters.len());
    let had: u64 = meters.iter().map(|meter| u64::from(meter.threads)).sum();
    assert!(had >= 100_000, "each had one: {had}");
    assert_eq!(run.report.processes[0].threads, had);
}

#[test]
fn what_a_thread_leaves_locked_was_held_until_it_ended() {
    repeatedly(|| {
        let run = meter(EXACT, &program("meter_lives.c"), &["left"]);
        let first = &run.site("leave_first").numbers;
        assert_eq!((first.acquisitions, first.hold.count, first.held), (1, 1, 0));
        assert_eq!(first.hold.histogram.count(), 1);
        let after_wait = &run.site("leaver").numbers;
        assert_eq!((after_wait.acquisitions, after_wait.hold.count, after_wait.held), (1, 1, 0));
        assert_eq!((after_wait.contended, after_wait.wait.count), (1, 1));
        agree("the hold", first.hold_ns, run.truth("held"))
    });
}

#[test]
fn two_million_mutexes_on_reused_memory_add_up() {
    let run = meter(EXACT, &program("meter_lives.c"), &["mutexes", "2000000"]);
    let numbers = &run.site("live").numbers;
    assert_eq!((numbers.acquisitions, numbers.hold.count), (2_000_000, 2_000_000));
    assert_eq!(numbers.contended, 0);
    assert_eq!(numbers.hold.histogram.count(), 2_000_000, "those carried over 2^16 included");
}

#[test]
fn what_is_checked_and_metered_at_once_is_both() {
    let run = meter(How { command: "run", ..EXACT }, &program("abba.c"), &[]);
    assert_eq!(run.run.verdicts(), [("circular-dependency", "likely")], "{}", run.run.stderr);
    let counts = run.report.locks.iter().map(|lock| lock.total.acquisitions);
    assert_eq!(counts.collect::<Vec<_>>(), [2, 2], "two locks, each taken in both orders");
}

/// Two threads of a forked child that take its first locks at once: one ledger, and every
/// acquisition in it.
#[test]
fn a_childs_first_two_threads_begin_one_ledger() {
    for _ in 0..5 {
        let metered = meter(EXACT, &program("meter_daemon.c"), &[]);
        assert_eq!(metered.truth("status"), 0.0, "{}", metered.run.stderr);
        let taken = metered.site("worker").numbers.acquisitions;
        assert_eq!(taken as f64, metered.truth("acquisitions"));
    }
}
