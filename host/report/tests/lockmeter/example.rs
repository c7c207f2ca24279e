//! A server whose locks have a bit of everything, for the formats.

use std::sync::atomic::Ordering::Relaxed;

use lockwright_analysis::lockmeter::model::Cost;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_ledger::rows::meter::{
    BLOCKING_CALLS, Readers, Site, blame_kind, site_flag, wait_kind,
};
use lockwright_ledger::rows::{lock_kind, mode};

use super::ledger::{Counts, MS, Process, US, measure};

/// Its process.
pub fn server() -> Process {
    let mut p = Process::new(42, 2);
    p.thread();
    p.thread();
    let pool = p.mutex("pool");
    let log = p.mutex("log");
    let table = p.lock("table", lock_kind::RWLOCK);
    let spin = p.lock("spin", lock_kind::SPIN);

    let push = p.site(pool, &["pool_push:12", "serve:80", "main:9"]);
    let pop = p.site(pool, &["pthread_mutex_lock", "pool_pop:30", "work:81", "start_thread"]);
    let reacquire = Site { class: pool, flags: site_flag::COND_REACQUIRE, ..Site::default() };
    let back = p.site_with(reacquire, &["pool_wait:50", "work:85"]);
    let flush = p.site(log, &["log_flush:7", "pool_pop:33", "work:81"]);
    let lookup = p.read_site(table, &["table_get:21", "serve:77"]);
    let insert = p.site(table, &["table_put:40", "serve:78"]);
    let stats = p.site(spin, &["stats_add:3", "serve:79"]);
    let cond = |class, wait| Site { class, wait, mode: mode::COND_WAIT, ..Site::default() };
    let wait = p.site_with(cond(pool, wait_kind::COND), &["pool_wait:50", "work:85"]);
    let join = p.site_with(cond(0, wait_kind::JOIN), &["main:14"]);
    let call = BLOCKING_CALLS.iter().position(|&call| call == "write").expect("it is one") as u32;
    let write = Site { inst: call, ..cond(log, wait_kind::BLOCKING_CALL) };
    let write = p.site_with(write, &["log_flush:8", "pool_pop:33"]);

    let holder = |site, count, ns| (blame_kind::HOLDER, site, count, ns);
    let nested = |site, count, ns| (blame_kind::NESTED, site, count, ns);
    let mut waits = vec![3 * MS; 20];
    waits.extend([100 * US; 80]);
    p.cell(
        push,
        &Counts {
            holds: [vec![4 * US; 990], vec![50 * US; 10]].concat(),
            waits,
            rejects: 7,
            spin: 34 * MS,
            blame: vec![holder(pop, 90, 60 * MS), holder(push, 9, 5 * MS), holder(0, 100, 3 * MS)],
            ..Counts::default()
        },
    );
    p.cell(
        pop,
        &Counts {
            holds: vec![300 * US; 500],
            waits: vec![200 * US; 50],
            timeouts: 2,
            blame: vec![
                holder(pop, 40, 9 * MS),
                holder(0, 50, MS),
                nested(flush, 30, 30 * MS),
                nested(write, 10, 60 * MS),
            ],
            ..Counts::default()
        },
    );
    p.cell(back, &Counts { holds: vec![2 * US; 40], ..Counts::default() });
    p.cell(flush, &Counts { holds: vec![900 * US; 30], waits: vec![MS; 30], ..Counts::default() });
    p.cell(lookup, &Counts { holds: vec![60 * US; 4000], readers_max: 3, ..Counts::default() });
    p.cell(
        insert,
        &Counts { holds: vec![80 * US; 100], waits: vec![70 * US; 20], ..Counts::default() },
    );
    p.cell(stats, &Counts { holds: vec![40; 100_000], ..Counts::default() });
    p.cell(
        wait,
        &Counts { untimed: 60, waits: vec![10 * MS; 40], timeouts: 3, ..Counts::default() },
    );
    p.cell(join, &Counts { untimed: 2, waits: vec![900 * MS], ..Counts::default() });
    p.cell(write, &Counts { untimed: 10, waits: vec![6 * MS; 10], ..Counts::default() });
    p.push(Readers {
        class: table,
        max: 3,
        periods: 1500,
        ticks: 2 * 150 * MS,
        max_ticks: 2 * 700 * US,
        ..Readers::default()
    });
    p.writer().header().locks_seen.store(4, Relaxed);
    p
}

/// What is measured of it, with a cost.
pub fn report() -> MeterReport {
    let cost = Cost {
        pair_ns: 31.4,
        wait_ns: 412.0,
        call_ns: 63.0,
        cpu_ns: 3.3e6,
        program_cpu_ns: Some(1.7e9),
    };
    MeterReport { cost: Some(cost), ..measure(&[&server()]) }
}
