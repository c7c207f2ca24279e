//! Tests of the model that is made of a ledger's rows.

use std::sync::atomic::Ordering::Relaxed;

use lockwright_analysis::finding::coverage::Note;
use lockwright_analysis::lockmeter::model::{At, Clock, Holder, Holds, Mode, WaitKind, Waiter};
use lockwright_analysis::process_end::ProcessEnd;
use lockwright_ledger::readers_word;
use lockwright_ledger::rows::meter::{
    Blame, Bucket, Cell, Meter, Readers, Site, blame_kind, site_flag, wait_kind,
};
use lockwright_ledger::rows::{lock_kind, mode};
use lockwright_report::lockmeter::text::{TextOptions, render};

use super::ledger::{Counts, ELAPSED_NS, MS, Process, START_NS, US, measure};

#[test]
fn numbers_of_threads_and_sites_add_up() {
    let mut p = Process::new(1, 3);
    let lock = p.mutex("pool");
    let push = p.site(lock, &["pool_push", "main"]);
    let pop = p.site(lock, &["pool_pop", "main"]);
    p.cell(push, &Counts { holds: vec![10 * US; 3], waits: vec![2 * MS], ..Counts::default() });
    p.cell(push, &Counts { holds: vec![40 * US], rejects: 2, spin: 5, ..Counts::default() });
    p.cell(pop, &Counts { holds: vec![MS], timeouts: 1, ..Counts::default() });
    let report = measure(&[&p]);

    assert_eq!(report.locks.len(), 1);
    let lock = &report.locks[0];
    assert_eq!((lock.name.as_str(), lock.is_symbol, lock.locks), ("pool", true, 1));
    assert_eq!((lock.total.acquisitions, lock.total.contended, lock.total.rejects), (5, 1, 2));
    let push = &lock.sites[0].numbers;
    assert_eq!(lock.sites[0].stack[0].function.as_deref(), Some("pool_push"), "waited longer");
    assert_eq!((push.acquisitions, push.hold.count, push.wait.count), (4, 4, 1));
    assert_eq!(push.hold.total_ns, 70_000.0);
    assert_eq!(push.hold.mean_ns(), Some(17_500.0));
    assert_eq!((push.hold.max_ns, push.wait.max_ns), (40_000.0, 2_000_000.0));
    let median = push.hold.percentile_ns(50.0).unwrap();
    assert!((median / 10_000.0 - 1.0).abs() < 0.01, "{median}");
    assert_eq!(push.contended_part(), 0.25);
    assert!((push.spin_ns - 5.0).abs() < 1e-9);
    assert_eq!(lock.sites[1].numbers.timeouts, 1);
    let whole = 1_070_000.0 / ELAPSED_NS as f64;
    assert!((lock.utilisation() - whole).abs() < 1e-9);
    assert_eq!(report.share_of_wait(lock.total.wait.total_ns), 1.0);
    assert_eq!(report.holds(), Some(Holds::Exact));
    assert_eq!(report.processes[0].clock, Clock::Tsc { mhz: 3000.0 });
}

#[test]
fn counts_go_beyond_16_bits() {
    let mut p = Process::new(1, 1);
    let lock = p.mutex("pool");
    let site = p.site(lock, &["push"]);
    p.cell(site, &Counts { holds: vec![10; 200_000], ..Counts::default() });
    let hold = &measure(&[&p]).locks[0].total.hold;
    assert_eq!((hold.count, hold.histogram.count()), (200_000, 200_000));
}

#[test]
fn processes_with_different_clocks_are_one() {
    let process = |pid, ticks_per_ns, functions: &[&str]| {
        let mut p = Process::new(pid, ticks_per_ns);
        let lock = p.mutex("pool");
        let site = p.site(lock, functions);
        p.cell(site, &Counts { holds: vec![100 * US], waits: vec![MS], ..Counts::default() });
        p
    };
    // Who called the function is no other place; which wrapper did, neither.
    let a = process(1, 1, &["push", "serve", "main"]);
    let b = process(2, 4, &["std::mutex::lock", "push", "load", "main"]);
    let c = process(3, 0, &["push", "main"]);
    let report = measure(&[&a, &b, &c]);
    assert_eq!((report.processes.len(), report.locks.len()), (3, 1));
    let lock = &report.locks[0];
    assert_eq!((lock.sites.len(), lock.locks, lock.measured_ns), (1, 3, 3 * ELAPSED_NS));
    assert_eq!((lock.total.acquisitions, lock.total.wait.total_ns), (3, 3_000_000.0));
    assert_eq!(report.elapsed_ns, ELAPSED_NS);
    assert_eq!(report.processes[2].clock, Clock::Monotonic);
}

#[test]
fn the_stack_shown_is_that_of_the_busiest_call_site() {
    let mut p = Process::new(1, 1);
    let lock = p.mutex("pool");
    for (caller, holds) in [("rare", 1), ("busy", 5), ("seldom", 2)] {
        let site = p.site(lock, &["push", caller]);
        p.cell(site, &Counts { holds: vec![US; holds], ..Counts::default() });
    }
    let report = measure(&[&p]);
    assert_eq!(report.locks[0].sites.len(), 1);
    assert_eq!(report.locks[0].sites[0].stack[1].function.as_deref(), Some("busy"));
}

#[test]
fn variables_of_one_name_in_one_program_are_two() {
    let mut p = Process::new(1, 1);
    for _ in 0..2 {
        let lock = p.mutex("lock");
        let site = p.site(lock, &["push"]);
        p.cell(site, &Counts { holds: vec![1], ..Counts::default() });
    }
    let report = measure(&[&p]);
    assert_eq!(report.locks.len(), 2);
    assert_eq!(report.locks[0].sites[0].place, report.locks[1].sites[0].place);
}

#[test]
fn blame_survives_sorting() {
    let mut p = Process::new(1, 2);
    let (quiet, busy) = (p.mutex("quiet"), p.mutex("busy"));
    let inner = p.site(quiet, &["inner"]);
    let holder = p.site(busy, &["holder"]);
    let waiter = p.site(busy, &["waiter"]);
    let cond = p.site_with(
        Site { class: busy, wait: wait_kind::COND, mode: mode::COND_WAIT, ..Site::default() },
        &["sleeper"],
    );
    p.cell(inner, &Counts { holds: vec![1], waits: vec![MS], ..Counts::default() });
    let nested = |other, ns| (blame_kind::NESTED, other, 1, ns);
    let held = vec![nested(inner, MS), nested(cond, 3 * MS), nested(0, US)];
    p.cell(holder, &Counts { holds: vec![5 * MS], blame: held, ..Counts::default() });
    let for_whom = |other, ns| (blame_kind::HOLDER, other, 2, ns);
    let waits = vec![for_whom(holder, 4 * MS), for_whom(0, MS)];
    p.cell(waiter, &Counts { waits: vec![5 * MS], blame: waits, ..Counts::default() });
    p.cell(cond, &Counts { untimed: 7, waits: vec![3 * MS], ..Counts::default() });
    let report = measure(&[&p]);

    let lock = &report.locks[0];
    assert_eq!(lock.name, "busy");
    let name = |site: usize| lock.sites[site].stack[0].function.as_deref().unwrap();
    let blame: Vec<_> =
        lock.blame.iter().map(|b| (name(b.waiter), b.holder.map(name), b.count, b.ns)).collect();
    assert_eq!(blame, [("waiter", Some("holder"), 2, 4e6), ("waiter", None, 2, 1e6)]);
    let holder = lock.sites.iter().find(|site| !site.nested.is_empty()).unwrap();
    let at: Vec<_> = holder.nested.iter().map(|nested| (nested.at, nested.ns)).collect();
    let expected = [(At::Wait(0), 3e6), (At::Lock { lock: 1, site: 0 }, 1e6), (At::Unknown, 1e3)];
    assert_eq!(at, expected);
    let wait = &report.waits[0];
    assert_eq!(
        (wait.kind, wait.lock, wait.waits, wait.blocked),
        (WaitKind::Condition, Some(0), 7, 1)
    );
}

#[test]
fn readers_and_writers_are_apart() {
    let mut p = Process::new(1, 1);
    let class = p.lock("table", lock_kind::RWLOCK);
    let read = p.read_site(class, &["lookup"]);
    let write = p.site(class, &["insert"]);
    p.cell(read, &Counts { holds: vec![MS; 4], readers_max: 3, ..Counts::default() });
    p.cell(write, &Counts { holds: vec![2 * MS], ..Counts::default() });
    for (max, periods, ticks) in [(3, 2, 3 * MS), (1, 1, MS), (0, 0, 0)] {
        p.push(Readers { class, max, periods, ticks, max_ticks: ticks, ..Readers::default() });
    }
    let report = measure(&[&p]);
    let lock = &report.locks[0];
    assert!(lock.is_rwlock());
    assert_eq!(lock.of_mode(Mode::Read).acquisitions, 4);
    assert_eq!(lock.of_mode(Mode::Write).acquisitions, 1);
    let readers = lock.readers.as_ref().unwrap();
    assert_eq!((readers.most, readers.busy.count, readers.busy.total_ns), (3, 3, 4e6));
    assert_eq!(lock.utilisation(), 0.006, "busy periods and writers, not the readers' sum");
}

#[test]
fn a_busy_period_under_way_at_the_end_counts_until_then() {
    for ticks_per_ns in [1, 3] {
        let mut p = Process::new(1, ticks_per_ns);
        let class = p.lock("table", lock_kind::RWLOCK);
        let read = p.read_site(class, &["lookup"]);
        p.cell(read, &Counts { untimed: 2, ..Counts::default() });
        let since = readers_word::since((START_NS + ELAPSED_NS - 5 * MS) * ticks_per_ns);
        for now_since in [since + 2, since, 2] {
            p.push(Readers { class, max: 2, now_since, ..Readers::default() });
        }
        let report = measure(&[&p]);
        let busy = &report.locks[0].readers.as_ref().unwrap().busy;
        assert_eq!(busy.count, 1, "neither the one that is over nor the one that is not timed");
        assert!((busy.total_ns - 5e6).abs() < 10.0, "{}", busy.total_ns);
    }
}

#[test]
fn what_is_held_at_a_kill_counts() {
    let mut p = Process::new(1, 2);
    let class = p.mutex("pool");
    let site = p.site(class, &["push"]);
    let cell = p.cell(site, &Counts { holds: vec![MS], untimed: 1, ..Counts::default() });
    p.holds_now(cell, 400 * MS);
    p.killed(500 * MS);
    let report = measure(&[&p]);
    assert_eq!(report.elapsed_ns, 500 * MS);
    let total = &report.locks[0].total;
    assert_eq!((total.held, total.hold.count, total.hold_ns), (1, 1, 101e6));
    assert!(!report.processes[0].exited);
    assert!(report.processes[0].notes.contains(&Note::EndUnknown));
    assert_eq!(report.processes[0].end, ProcessEnd::Unknown);
}

#[test]
fn who_still_waits_is_told_with_who_has_it() {
    let mut p = Process::new(7, 2);
    let class = p.mutex("pool");
    let (push, pop) = (p.site(class, &["push"]), p.site(class, &["pop"]));
    let cell = p.cell(push, &Counts { holds: vec![MS], untimed: 1, ..Counts::default() });
    // Waits longest, so that sorting moves the sites.
    p.cell(pop, &Counts { untimed: 2, waits: vec![MS], ..Counts::default() });
    p.holds_now(cell, 400 * MS);
    for (tid, addr, after_ns) in [(30, 0x99, 420 * MS), (20, 0x10, 410 * MS)] {
        let thread = p.thread();
        p.waits_now(thread, tid, pop, addr, after_ns);
    }
    p.killed(400 * MS);
    let report = measure(&[&p]);
    assert_eq!(report.elapsed_ns, 420 * MS, "the last that is known of it");
    let sites = &report.locks[0].sites;
    let site = |name: &str| {
        sites.iter().position(|site| site.stack[0].function.as_deref() == Some(name)).unwrap()
    };
    let waiter = |tid, addr, begun_ns, waited_ns, holders: &[Holder]| Waiter {
        pid: 7,
        process: 0,
        tid,
        at: At::Lock { lock: 0, site: site("pop") },
        addr,
        begun_ns: Some(begun_ns),
        waited_ns: Some(waited_ns),
        holders: holders.to_vec(),
        names: None,
    };
    let holder = Holder { tid: 1, site: Some(site("push")), begun_ns: Some(400e6) };
    assert_eq!(
        report.waiting,
        [waiter(20, 0x10, 410e6, 10e6, &[holder]), waiter(30, 0x99, 420e6, 0.0, &[])]
    );
}

/// A process that calls exec keeps its id, and has a ledger for each program that it was.
#[test]
fn who_waits_in_the_second_program_of_a_process_is_no_thread_of_the_first() {
    let before = Process::new(7, 2);
    let mut after = Process::new(7, 2);
    after.writer().header().start_ns.store(1_200_000_000, Relaxed);
    let class = after.mutex("pool");
    let site = after.site(class, &["push"]);
    after.cell(site, &Counts { waits: vec![MS], ..Counts::default() });
    let thread = after.thread();
    after.waits_now(thread, 20, site, 0x10, 400 * MS);
    let cond = after
        .site_with(Site { class, wait: wait_kind::COND, ..Site::default() }, &["wait_for_work"]);
    let thread = after.thread();
    after.waits_now(thread, 30, cond, 0, 410 * MS);
    after.killed(500 * MS);
    for ledgers in [[&before, &after], [&after, &before]] {
        let report = measure(&ledgers);
        assert_eq!(report.processes.iter().map(|p| p.exited).collect::<Vec<_>>(), [true, false]);
        assert!(report.waiting.iter().all(|waiter| waiter.process == 1), "{:?}", report.waiting);
        let text = render(&report, &TextOptions::default());
        assert!(text.contains("waits for a condition"), "it was killed there: {text}");
    }
}

#[test]
fn sampled_holds_are_scaled() {
    let mut p = Process::new(1, 1);
    p.writer().header().hold_sample.store(64, Relaxed);
    let class = p.mutex("pool");
    let site = p.site(class, &["push"]);
    p.cell(site, &Counts { holds: vec![MS; 2], untimed: 98, ..Counts::default() });
    let report = measure(&[&p]);
    assert_eq!(report.holds(), Some(Holds::Sampled(64)));
    let total = &report.locks[0].total;
    assert_eq!((total.hold.total_ns, total.hold_ns), (2e6, 100e6));
    let text = render(&report, &TextOptions::default());
    assert!(
        text.contains("\n    2 holds timed: too few to say how far the estimate is off\n"),
        "{text}"
    );
}

#[test]
fn sampled_holds_say_how_far_off_they_may_be() {
    let mut p = Process::new(1, 1);
    p.writer().header().hold_sample.store(64, Relaxed);
    let class = p.mutex("pool");
    let often = p.site(class, &["push"]);
    let holds = [MS, 3 * MS].repeat(150);
    p.cell(often, &Counts { holds, untimed: 18_900, ..Counts::default() });
    let rarely = p.site(class, &["clear"]);
    p.cell(rarely, &Counts { holds: vec![MS], untimed: 299, ..Counts::default() });
    let text = render(&measure(&[&p]), &TextOptions::default());
    // 19,200 holds of 2 ms: their deviation is 1 ms, and 300 were timed.
    let expected = "\n    held 38.7s in all, give or take 2.15s (95 % confidence); at most one hold in 100 is longer than 3.00ms\
                    \n    without 300 acquisitions at sites where fewer than 30 holds were timed\
                    \n    holds: mean 1.88ms to 2.11ms, p50 995us to 3.02ms, p99 2.97ms or more\n";
    assert!(text.contains(expected), "{text}");
    // The site with enough of them says so, too, and the other does not.
    assert_eq!(text.matches("    holds: mean").count(), 2, "{text}");
}

#[test]
fn exact_holds_have_no_error_to_speak_of() {
    let mut p = Process::new(1, 1);
    let class = p.mutex("pool");
    let site = p.site(class, &["push"]);
    p.cell(site, &Counts { holds: vec![MS; 100], ..Counts::default() });
    let text = render(&measure(&[&p]), &TextOptions::default());
    assert!(!text.contains("confidence") && !text.contains("too few"), "{text}");
}

#[test]
fn instances_are_kept_apart_where_the_ledger_has_them() {
    let mut p = Process::new(1, 1);
    p.writer().header().by_instance.store(1, Relaxed);
    let class = p.mutex("pool");
    for (inst, ns) in [(7, MS), (8, 3 * MS)] {
        let addr = 0x1000 * u64::from(inst);
        let row = Site { class, inst, addr, ..Site::default() };
        let site = p.site_with(row, &["push"]);
        p.cell(site, &Counts { waits: vec![ns], ..Counts::default() });
    }
    let report = measure(&[&p]);
    assert!(report.by_instance);
    let lock = &report.locks[0];
    assert_eq!((lock.sites.len(), lock.total.contended), (1, 2));
    let instances: Vec<_> = lock.instances.iter().map(|i| (i.addr, i.total.wait.max_ns)).collect();
    assert_eq!(instances, [(0x8000, 3e6), (0x7000, 1e6)]);
}

#[test]
fn mutexes_taken_back_are_a_site_of_their_own() {
    let mut p = Process::new(1, 1);
    let class = p.mutex("pool");
    let plain = p.site(class, &["get"]);
    let flags = site_flag::COND_REACQUIRE;
    let again = p.site_with(Site { class, flags, ..Site::default() }, &["get"]);
    for site in [plain, again] {
        p.cell(site, &Counts { holds: vec![MS], ..Counts::default() });
    }
    let sites = &measure(&[&p]).locks[0].sites;
    assert_eq!(sites.len(), 2);
    assert_ne!(sites[0].cond_reacquire, sites[1].cond_reacquire);
}

#[test]
fn losses_are_told() {
    let mut p = Process::new(1, 1);
    p.writer().header().lost.store(3, Relaxed);
    p.push(Meter { lost: 4, ..Meter::default() });
    assert_eq!(measure(&[&p]).lost, 7);
}

#[test]
fn a_clock_without_a_rate_leaves_the_counts() {
    let mut p = Process::new(1, 1);
    p.killed(0);
    let class = p.mutex("pool");
    let site = p.site(class, &["push"]);
    p.cell(site, &Counts { holds: vec![MS], ..Counts::default() });
    let report = measure(&[&p]);
    assert_eq!(report.processes[0].clock, Clock::Unknown);
    assert_eq!((report.locks[0].total.acquisitions, report.locks[0].total.hold_ns), (1, 0.0));
    assert!(report.processes[0].notes.iter().any(|note| matches!(note, Note::Untimed(_))));
}

#[test]
fn damaged_lists_end() {
    let mut p = Process::new(1, 1);
    let class = p.mutex("pool");
    let site = p.site(class, &["push"]);
    let (kind, other) = (blame_kind::HOLDER, site);
    let loop_ = p.push(Blame { kind, other, count: u64::MAX, ticks: 5, ..Blame::default() });
    p.writer().update(loop_, |row: &mut Blame| row.next = loop_);
    for blame in [loop_, loop_, 9999] {
        p.push(Cell { site, acquisitions: u64::MAX, blame, ..Cell::default() });
    }
    for site in [0, 9999] {
        p.push(Bucket { site, counts: [1; 32], ..Bucket::default() });
    }
    let report = measure(&[&p]);
    assert_eq!(report.locks[0].total.hold.histogram.count(), 0, "buckets of no site");
    assert_eq!(report.locks[0].blame[0].count, u64::MAX);
    assert_eq!(report.locks[0].total.acquisitions, u64::MAX);
}
