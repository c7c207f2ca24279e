//! Each rule of the advice: a measurement that it speaks of, and one like it that it must not speak
//! of.

use std::sync::atomic::Ordering::Relaxed;

use lockwright_analysis::lockmeter::what_if::Why;
use lockwright_ledger::rows::meter::{
    Readers, Site, blame_kind, blocking_call, site_flag, wait_kind,
};
use lockwright_ledger::rows::{Class, lock_kind, mode};
use lockwright_report::lockmeter::advice::{
    About, Advice, COMMON, Confidence, Estimated, RULES, advise, estimates,
};

use super::ledger::{Counts, MS, Process, US, measure};

/// A rule's advice on the locks of a process.
fn says(p: &Process, rule: &str) -> Option<Advice> {
    assert!(RULES.iter().any(|known| known.name == rule), "{rule}");
    let advice = advise(&measure(&[p]));
    for one in &advice {
        assert!(
            !one.text.is_empty() && !one.evidence.is_empty() && !one.text.ends_with('.'),
            "{one:?}"
        );
        assert!(one.evidence.iter().all(|evidence| evidence.value.is_finite()), "{one:?}");
    }
    advice.into_iter().find(|advice| advice.rule == rule)
}

fn evidence(advice: &Advice) -> String {
    advice.evidence.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A lock whose one place holds it for `long` of 1000 ms in 500 holds, another for the rest; the
/// waits are for the holders in that proportion.
fn two_places(long: u64) -> Process {
    let mut p = Process::new(1, 1);
    let lock = p.mutex("pool");
    let (a, b) = (p.site(lock, &["scan:3"]), p.site(lock, &["push:9"]));
    let blame = vec![
        (blame_kind::HOLDER, a, 500, long * MS),
        (blame_kind::HOLDER, b, 500, (1000 - long) * MS),
    ];
    p.cell(a, &Counts { holds: vec![long * MS / 500; 500], ..Counts::default() });
    let holds = vec![(1000 - long) * MS / 500; 500];
    p.cell(b, &Counts { holds, waits: vec![MS; 1000], blame, ..Counts::default() });
    p
}

#[test]
fn a_place_that_dominates_the_holds_is_named() {
    const RULE: &str = "hold dominated by one place";
    let advice = says(&two_places(950), RULE).unwrap();
    assert!(advice.text.contains("scan"), "{}", advice.text);
    assert!(
        evidence(&advice).starts_with("its part of the holds 95.0%; its part of the waits 95.0%")
    );
    assert_eq!(advice.confidence, Confidence::High);
    assert!(says(&two_places(600), RULE).is_none(), "both hold it");
    assert_eq!(says(&two_places(850), RULE).unwrap().confidence, Confidence::Medium);
}

#[test]
fn a_lock_that_nobody_waits_for_needs_no_advice() {
    let mut p = Process::new(1, 1);
    let lock = p.mutex("pool");
    for (place, ns) in [("scan", MS), ("push", US)] {
        let site = p.site(lock, &[place]);
        p.cell(site, &Counts { holds: vec![ns; 500], waits: vec![US], ..Counts::default() });
    }
    assert!(advise(&measure(&[&p])).is_empty());
}

/// An rwlock that readers hold for `shared_ms` of 1000 ms, each for 1 ms; a writer waits for them
/// and another writer in that proportion.
fn reader_and_writer(shared_ms: u64, read_blame_ms: u64) -> Process {
    let mut p = Process::new(1, 1);
    let class = p.lock("table", lock_kind::RWLOCK);
    let read = p.read_site(class, &["lookup:3"]);
    let write = p.site(class, &["insert:9"]);
    let holds = vec![MS; shared_ms as usize];
    p.cell(read, &Counts { holds, readers_max: 3, ..Counts::default() });
    let blame = vec![
        (blame_kind::HOLDER, read, 20, read_blame_ms * MS),
        (blame_kind::HOLDER, write, 20, (400 - read_blame_ms) * MS),
    ];
    p.cell(
        write,
        &Counts { holds: vec![10 * US; 20], waits: vec![20 * MS; 20], blame, ..Counts::default() },
    );
    p.push(Readers {
        class,
        max: 3,
        periods: 10,
        ticks: shared_ms * MS,
        max_ticks: 100 * MS,
        ..Readers::default()
    });
    p
}

#[test]
fn writers_that_wait_for_readers_are_told() {
    const RULE: &str = "writers wait for readers";
    let advice = says(&reader_and_writer(900, 400), RULE).unwrap();
    assert!(advice.text.contains("lookup") && advice.text.contains("WRITER"), "{}", advice.text);
    assert!(
        evidence(&advice).starts_with("writers' waits 400ms; of that for readers 100%"),
        "{}",
        evidence(&advice)
    );
    assert_eq!(advice.confidence, Confidence::High, "it waited for 400 holds of readers");
    assert!(says(&reader_and_writer(900, 100), RULE).is_none(), "they wait for writers");
    assert!(says(&two_places(950), RULE).is_none(), "no readers");
}

#[test]
fn who_holds_it_for_nothing_does_not_dominate() {
    const RULE: &str = "hold dominated by one place";
    // The only place that writes has all holds of writers, but it is readers who hold it.
    assert!(says(&reader_and_writer(900, 400), RULE).is_none());
    assert!(says(&reader_and_writer(900, 0), RULE).is_none());
    // A holder without waiters is not named, however long it holds the lock.
    let mut p = Process::new(1, 1);
    let lock = p.mutex("pool");
    let (a, b) = (p.site(lock, &["scan:3"]), p.site(lock, &["push:9"]));
    p.cell(a, &Counts { holds: vec![900 * MS], ..Counts::default() });
    let blame = vec![(blame_kind::HOLDER, b, 100, 50 * MS)];
    let waits = vec![500 * US; 100];
    p.cell(b, &Counts { holds: vec![MS; 50], waits, blame, ..Counts::default() });
    assert!(says(&p, RULE).is_none());
}

/// A lock that one place takes 500 times, and holds for `held_ms` of 1000 ms in all.
fn one_place(held_ms: u64, waited_ms: u64) -> Process {
    let mut p = Process::new(1, 1);
    let lock = p.mutex("pool");
    let site = p.site(lock, &["work:7"]);
    let holds = vec![held_ms * MS / 500; 500];
    p.cell(site, &Counts { holds, waits: vec![waited_ms * MS / 200; 200], ..Counts::default() });
    p
}

#[test]
fn one_place_that_always_holds_it_is_named() {
    const RULE: &str = "one saturated place";
    let advice = says(&one_place(980, 2500), RULE).unwrap();
    assert!(advice.text.contains("work"), "{}", advice.text);
    assert!(
        evidence(&advice)
            .starts_with("held, of the measured time 98.0%; threads that wait on average 2.5"),
        "{}",
        evidence(&advice)
    );
    assert!(advice.confidence >= Confidence::Medium);
    assert!(says(&one_place(400, 2500), RULE).is_none(), "it is free most of the time");
    assert!(says(&one_place(980, 100), RULE).is_none(), "hardly anybody waits");
    assert!(says(&two_places(600), RULE).is_none(), "two places");
    assert!(says(&queue(10, 100, 0), RULE).is_none(), "a convoy");
    assert!(says(&sleeper(wait_kind::JOIN, 1500), RULE).is_none(), "its holder sleeps");
}

#[test]
fn a_wait_that_is_not_over_is_what_its_holder_does() {
    let mut p = Process::new(1, 1);
    let lock = p.mutex("log");
    let held = p.site(lock, &["main:8"]);
    let cell = p.cell(held, &Counts { untimed: 1, ..Counts::default() });
    p.holds_now(cell, 100 * MS);
    let join = Site { wait: wait_kind::JOIN, ..Site::default() };
    let join = p.site_with(join, &["main:9"]);
    p.cell(join, &Counts { untimed: 1, ..Counts::default() });
    p.waits_now(p.first_thread(), 1, join, 0x20, 300 * MS);
    let wanted = p.site(lock, &["worker:3"]);
    p.cell(wanted, &Counts { waits: vec![800 * MS], timeouts: 1, ..Counts::default() });
    let report = measure(&[&p]);
    let holder = report.locks[0].sites.iter().find(|site| site.numbers.held == 1).unwrap();
    assert_eq!(holder.nested.len(), 1);
    assert_eq!(holder.nested[0].ns, 700.0 * MS as f64);
    let advice = says(&p, "lock held across a sleep").unwrap();
    assert!(advice.text.starts_with("release it before the join in main"), "{}", advice.text);
}

/// A lock held 100 times for 2 ms, of which its holder waits `asleep_us` each in a wait of `kind`.
fn sleeper(kind: u32, asleep_us: u64) -> Process {
    let mut p = Process::new(1, 1);
    let (lock, other) = (p.mutex("log"), p.mutex("other"));
    let taken = p.site(other, &["elsewhere"]);
    p.cell(taken, &Counts { holds: vec![1], ..Counts::default() });
    let class = if kind == wait_kind::COND { other } else { 0 };
    let row = Site { class, wait: kind, ..Site::default() };
    let slept = p.site_with(row, &["fsync", "log_flush:42"]);
    p.cell(slept, &Counts { untimed: 100, waits: vec![asleep_us * US; 100], ..Counts::default() });
    let held = p.site(lock, &["log_write:40"]);
    let blame = vec![(blame_kind::NESTED, slept, 100, 100 * asleep_us * US)];
    let waits = vec![MS; 50];
    p.cell(held, &Counts { holds: vec![2 * MS; 100], waits, blame, ..Counts::default() });
    p
}

#[test]
fn sleeping_with_a_lock_held_is_told() {
    const RULE: &str = "lock held across a sleep";
    use wait_kind::{BARRIER, BLOCKING_CALL, COND, JOIN, SEMAPHORE};
    for kind in [BLOCKING_CALL, COND, SEMAPHORE, JOIN, BARRIER] {
        let advice = says(&sleeper(kind, 1500), RULE).unwrap();
        assert!(
            advice.text.contains("fsync") || advice.text.contains("log_flush"),
            "{}",
            advice.text
        );
        assert!(evidence(&advice).contains("75.0%"), "{}", evidence(&advice));
        assert_eq!(advice.confidence, Confidence::Medium, "few sleeps");
        assert!(says(&sleeper(kind, 100), RULE).is_none(), "hardly ever");
    }
    // A wait for another lock is no sleep: that lock's advice is meant then.
    let mut p = Process::new(1, 1);
    let (lock, inner) = (p.mutex("log"), p.mutex("inner"));
    let inner = p.site(inner, &["inner"]);
    p.cell(inner, &Counts { holds: vec![MS], ..Counts::default() });
    let blame = vec![(blame_kind::NESTED, inner, 100, 150 * MS)];
    let site = p.site(lock, &["log_write"]);
    let waits = vec![MS; 50];
    p.cell(site, &Counts { holds: vec![2 * MS; 100], waits, blame, ..Counts::default() });
    assert!(says(&p, RULE).is_none());
}

fn queue(hold_us: u64, wait_us: u64, long_holds: usize) -> Process {
    let mut p = Process::new(1, 1);
    let lock = p.mutex("queue");
    let site = p.site(lock, &["pop"]);
    let mut holds = vec![hold_us * US; 2000];
    holds.extend(vec![20 * MS; long_holds]);
    p.cell(site, &Counts { holds, waits: vec![wait_us * US; 1500], ..Counts::default() });
    p
}

#[test]
fn a_convoy_is_many_short_holds_that_are_waited_for_together() {
    const RULE: &str = "convoy";
    let advice = says(&queue(10, 100, 0), RULE).unwrap();
    assert!(
        evidence(&advice).starts_with("median wait, in median holds 10"),
        "{}",
        evidence(&advice)
    );
    assert_eq!(advice.confidence, Confidence::High);
    assert_eq!(says(&queue(10, 50, 0), RULE).unwrap().confidence, Confidence::Medium);
    assert!(says(&queue(10, 15, 0), RULE).is_none(), "one hold is waited for, not a queue");
    assert!(says(&queue(10, 100, 100), RULE).is_none(), "long holds explain long waits");
    assert!(says(&queue(400, 4000, 0), RULE).is_none(), "long holds are another advice's");
}

/// Threads that a call of the `kind` wakes, so many of 400 in vain.
fn woken(kind: u32, in_vain: u64) -> Process {
    let mut p = Process::new(1, 1);
    let lock = p.mutex("work");
    let flags = site_flag::COND_REACQUIRE;
    let again = p.site_with(Site { class: lock, flags, ..Site::default() }, &["worker:7"]);
    let put = p.site(lock, &["put"]);
    let cond =
        Site { class: lock, wait: wait_kind::COND, mode: mode::COND_WAIT, ..Site::default() };
    let cond = p.site_with(cond, &["worker:7"]);
    let wakes = p.site_with(Site { class: lock, wait: kind, ..Site::default() }, &["tell:20"]);
    p.cell(wakes, &Counts { untimed: 100, ..Counts::default() });
    let blame = vec![
        (blame_kind::HOLDER, wakes, 400, 400 * MS),
        (blame_kind::IN_VAIN, wakes, in_vain, in_vain * US),
    ];
    let waits = vec![MS; 400];
    p.cell(cond, &Counts { untimed: 400, waits, blame, ..Counts::default() });
    p.cell(again, &Counts { holds: vec![20 * US; 400], ..Counts::default() });
    p.cell(put, &Counts { holds: vec![20 * US; 100], ..Counts::default() });
    p
}

#[test]
fn a_herd_is_woken_by_a_broadcast_and_waits_again() {
    const RULE: &str = "thundering herd";
    let advice = says(&woken(wait_kind::COND_BROADCAST, 300), RULE).unwrap();
    assert!(advice.text.contains("worker") && advice.text.contains("tell"), "{}", advice.text);
    assert!(advice.confidence >= Confidence::Medium);
    assert!(evidence(&advice).starts_with("woken in vain 75.0%; "), "{}", evidence(&advice));
    assert!(says(&woken(wait_kind::COND_BROADCAST, 0), RULE).is_none(), "all go on");
    assert!(says(&woken(wait_kind::COND_SIGNAL, 300), RULE).is_none(), "one is woken");
    assert!(says(&queue(10, 100, 0), RULE).is_none(), "nobody is woken");
}

/// Threads that so many calls wake at a futex 400 times, so many of them in vain.
fn woken_at_futex(calls: u64, in_vain: u64) -> Process {
    let mut p = Process::new(1, 1);
    let wait = Site { wait: wait_kind::FUTEX, inst: 1, addr: 0x7000, ..Site::default() };
    let wait = p.site_with(wait, &["worker:7"]);
    let wakes = p.site_with(Site { wait: wait_kind::FUTEX_WAKE, ..Site::default() }, &["tell:20"]);
    p.cell(wakes, &Counts { untimed: calls, ..Counts::default() });
    let blame = vec![
        (blame_kind::HOLDER, wakes, 400, 400 * MS),
        (blame_kind::IN_VAIN, wakes, in_vain, in_vain * US),
    ];
    p.cell(wait, &Counts { untimed: 400, waits: vec![MS; 400], blame, ..Counts::default() });
    p
}

#[test]
fn threads_are_woken_in_vain_at_futexes_and_semaphores() {
    const RULE: &str = "woken in vain";
    let advice = says(&woken_at_futex(100, 300), RULE).unwrap();
    assert!(advice.text.contains("worker") && advice.text.contains("tell"), "{}", advice.text);
    assert!(advice.lock().is_none() && matches!(advice.about, About::Wait(_)), "{advice:?}");
    assert!(says(&woken_at_futex(100, 30), RULE).is_none(), "most go on");
    assert!(says(&woken_at_futex(400, 300), RULE).is_none(), "each is woken alone");

    let posted = |in_vain: u64| {
        let mut p = Process::new(1, 1);
        let wait = Site { wait: wait_kind::SEMAPHORE, ..Site::default() };
        let wait = p.site_with(wait, &["consumer:9"]);
        let blame = vec![(blame_kind::IN_VAIN, 0, in_vain, in_vain)];
        p.cell(wait, &Counts { untimed: 100, waits: vec![MS; 100], blame, ..Counts::default() });
        p
    };
    let advice = says(&posted(300), RULE).unwrap();
    assert!(evidence(&advice).starts_with("woken in vain 75.0%; "), "{}", evidence(&advice));
    assert!(says(&posted(90), RULE).is_none(), "more than half of the sleeps end with a post");
}

fn readers(most: u32) -> Process {
    let mut p = Process::new(1, 1);
    p.thread();
    let class = p.lock("table", lock_kind::RWLOCK);
    let read = p.read_site(class, &["lookup"]);
    p.cell(read, &Counts { holds: vec![100 * US; 1000], readers_max: most, ..Counts::default() });
    let busy = 100 * MS;
    p.push(Readers {
        class,
        max: most,
        periods: 1000,
        ticks: busy,
        max_ticks: MS,
        ..Readers::default()
    });
    p
}

#[test]
fn readers_that_never_overlap_need_no_rwlock() {
    const RULE: &str = "readers never overlap";
    let advice = says(&readers(1), RULE).unwrap();
    assert_eq!(
        evidence(&advice),
        "most readers at once 1; read acquisitions 1,000; meetings to expect of readers that come at random 100"
    );
    assert_eq!(advice.confidence, Confidence::High);
    assert!(says(&readers(2), RULE).is_none());
}

/// A class of four locks: places a and b take the first two, place c the others, or all of them.
fn class_of_four(by_instance: bool, apart: bool) -> Process {
    let mut p = Process::new(1, 1);
    p.writer().header().by_instance.store(u32::from(by_instance) as _, Relaxed);
    let class = p.mutex("buckets");
    p.writer().update(class, |row: &mut Class| row.locks = 4);
    let mut take = |place: &str, instances: &[u32]| {
        for &inst in instances {
            let inst = if by_instance { inst } else { 0 };
            let site = p.site_with(Site { class, inst, ..Site::default() }, &[place]);
            let waits = vec![MS; 60];
            p.cell(site, &Counts { holds: vec![US; 300], waits, ..Counts::default() });
        }
    };
    take("a", &[1]);
    take("b", &[1, 2]);
    take("c", if apart { &[3, 4] } else { &[2, 3, 4] });
    p
}

#[test]
fn places_that_never_meet_at_a_lock_are_told_apart() {
    const RULE: &str = "disjoint instances";
    let advice = says(&class_of_four(true, true), RULE).unwrap();
    assert!(advice.text.contains("2 separate locks"), "{}", advice.text);
    assert!(evidence(&advice).starts_with("groups of places 2; locks 4"), "{}", evidence(&advice));
    assert!(says(&class_of_four(true, false), RULE).is_none());
    let hint = says(&class_of_four(false, true), RULE).unwrap();
    assert!(hint.text.contains("--instances"), "{}", hint.text);
    assert!(says(&two_places(950), RULE).is_none(), "one lock");
}

fn often(times: usize, hold_ns: u64) -> Process {
    let mut p = Process::new(1, 1);
    let lock = p.mutex("counter");
    let site = p.site(lock, &["count"]);
    p.cell(site, &Counts { holds: vec![hold_ns; times], ..Counts::default() });
    p
}

#[test]
fn many_short_acquisitions_can_be_batched() {
    const RULE: &str = "many short acquisitions";
    let advice = says(&often(300_000, 60), RULE).unwrap();
    assert_eq!(evidence(&advice), "acquisitions 300,000/s; median hold 60ns; contended 0%");
    assert_eq!(advice.confidence, Confidence::Low, "nobody waits for it");
    assert!(says(&often(300_000, 1000), RULE).is_none(), "it does something there");
    assert!(says(&often(50_000, 60), RULE).is_none(), "not often");
}

#[test]
fn the_page_has_every_rule_and_threshold() {
    let page = include_str!("../../../../docs/advice.md");
    for rule in RULES {
        let (_, section) = page.split_once(&format!("## {}\n", rule.name)).expect(rule.name);
        let section = section.split("\n## ").next().unwrap();
        for threshold in rule.thresholds {
            let row = format!("| {} | {} |", threshold.what, threshold.value);
            assert!(section.contains(&row), "{}: {row}", rule.name);
        }
    }
    for threshold in COMMON {
        assert!(page.contains(&format!("| {} | {} |", threshold.what, threshold.value)));
    }
}

/// In a second, each of four threads takes a lock so many times, waits for it for 2.5 ms, and holds it for one, of which it
/// sleeps 0.9. With 250 times, the lock is held all the time, and each waits for the holds of the others.
pub fn sleepers(times: usize) -> Process {
    const WAIT: u64 = 2_500 * US;
    const ASLEEP: u64 = 900 * US;
    let count = times as u64;
    let mut p = Process::new(1, 1);
    p.ran_for(1_000 * MS);
    p.writer().header().processors.store(8, Relaxed);
    let lock = p.mutex("journal");
    let site = p.site(lock, &["append:7"]);
    let call = Site {
        class: lock,
        wait: wait_kind::BLOCKING_CALL,
        inst: blocking_call("nanosleep"),
        ..Site::default()
    };
    let call = p.site_with(call, &["append:8"]);
    for thread in 1..=4 {
        let meter = if thread == 1 { p.first_thread() } else { p.thread() };
        let blame = vec![
            (blame_kind::HOLDER, site, count, count * WAIT),
            (blame_kind::NESTED, call, count, count * ASLEEP),
        ];
        let (holds, waits) = (vec![MS; times], vec![WAIT; times]);
        p.cell_of(meter, site, &Counts { holds, waits, blame, ..Counts::default() });
        let waits = vec![ASLEEP; times];
        p.cell_of(meter, call, &Counts { waits, ..Counts::default() });
    }
    p
}

/// The estimate for a rule's advice.
fn estimated(p: &Process, rule: &str) -> Estimated {
    let report = measure(&[p]);
    let advice = advise(&report);
    let at = advice.iter().position(|advice| advice.rule == rule).expect("advice");
    estimates(&report, &advice).swap_remove(at).expect("an estimate, or why there is none")
}

#[test]
fn a_sleep_moved_out_of_a_hold_brings_what_arithmetic_says() {
    let estimated = estimated(&sleepers(250), "lock held across a sleep");
    let estimate = estimated.result.expect("the model knows it");
    assert!(estimated.text().starts_with("if append"), "{}", estimated.text());
    // 4 threads, each of which needs 1.5 ms for a round: 2,667 rounds a second instead of 1,000, or less with waits.
    let throughput = estimate.throughput.expect("nothing else to wait for");
    assert!((1.3..1.67).contains(&throughput.likely), "{estimate:?}");
    assert!(throughput.low < throughput.likely && throughput.likely < throughput.high);
    // The lock is held for a quarter of the time then.
    assert!((-1.0..-0.95).contains(&estimate.waits.likely), "{estimate:?}");
    assert!((-1.0..=estimate.waits.likely).contains(&estimate.waits.low), "{estimate:?}");
    assert!((0.9..1.1).contains(&estimate.simulated_waits), "{estimate:?}");
}

#[test]
fn what_the_model_does_not_reproduce_has_no_estimate() {
    // The lock is held for 8 % of the time: threads that come evenly wait for less than a hold.
    let estimated = estimated(&sleepers(20), "lock held across a sleep");
    assert!(matches!(estimated.result, Err(Why::NotReproduced { .. })), "{estimated:?}");
    assert!(estimated.text().starts_with("no estimate: "), "{}", estimated.text());
}

#[test]
fn advice_without_a_remedy_has_no_estimate_nor_a_reason() {
    let p = two_places(950);
    let report = measure(&[&p]);
    let advice = advise(&report);
    for (of, estimated) in advice.iter().zip(estimates(&report, &advice)) {
        assert_eq!(of.supposed.is_some(), estimated.is_some(), "{of:?}");
        // Its threads are one row, so it is not known which of them takes the lock.
        assert!(estimated.is_none_or(|of| of.result == Err(Why::ThreadsUnknown)));
    }
}
