//! Threads that were waiting when a ledger was read: for what, since when, and which thread has it.

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::meter::{Cell, Meter, Metered, Site, wait_kind};

use super::at::At;
use super::clock::Ticks;
use super::report::{Clock, Holder, Waiter};
use super::site_table::SiteTable;
use crate::finding::futex::{ID_BITS, LEAST_ID};

/// When things were in a process' life.
#[derive(Clone, Copy)]
pub struct Moments<'a> {
    /// Its clock.
    pub ticks: &'a Ticks,
    /// Its end, or the last that is known of it, CLOCK_MONOTONIC.
    pub end_ns: u64,
}

impl Moments<'_> {
    /// From `start_ns` to a reading of the clock; `None` where there was none, or it tells nothing.
    pub fn after(&self, start_ns: u64, reading: u64) -> Option<f64> {
        let is_known = reading != 0 && self.ticks.clock != Clock::Unknown;
        is_known.then(|| self.ticks.monotonic_ns(reading).saturating_sub(start_ns) as f64)
    }
}

/// The live threads of a process that wait.
fn waiting(ledger: &Ledger) -> impl Iterator<Item = Meter> + '_ {
    ledger.rows::<Meter>().map(|(_, meter)| meter).filter(|m| m.tid != 0 && m.waiting != 0)
}

/// Since when threads wait, in ticks.
pub fn since(ledger: &Ledger) -> Vec<u64> {
    waiting(ledger).map(|meter| meter.waiting_since).filter(|&since| since != 0).collect()
}

/// What locks that are held yet were spent on by holders whose wait is not over: rows of the site
/// that took the lock and of the one that waits, and for how long with the lock held, in
/// nanoseconds. A hold that is not timed has none.
pub fn unfinished(ledger: &Ledger, ticks: &Ticks, end_ns: u64) -> Vec<(u32, u32, f64)> {
    let of = |meter: Meter| {
        // A condition wait has given up the mutex that it names.
        let kept = move |held: &Metered| held.since != 0 && held.addr != meter.waiting_for;
        ledger.metered(&meter).into_iter().filter(move |(held, _)| kept(held)).filter_map(
            move |(held, cell)| {
                let begun = ticks.monotonic_ns(held.since.max(meter.waiting_since));
                let site = ledger.get::<Cell>(cell)?.site;
                Some((site, meter.waiting, end_ns.saturating_sub(begun) as f64))
            },
        )
    };
    waiting(ledger).filter(|meter| meter.waiting_since != 0).flat_map(of).collect()
}

/// The threads that wait; `process` is their process in the report, and `at` has the sites of the
/// ledger.
pub fn waiters(
    ledger: &Ledger,
    process: usize,
    moments: Moments<'_>,
    at: &SiteTable,
) -> Vec<Waiter> {
    let held: Vec<(u32, Metered, u32)> = ledger
        .rows::<Meter>()
        .filter(|(_, meter)| meter.tid != 0)
        .flat_map(|(_, meter)| {
            ledger.metered(&meter).into_iter().map(move |(held, cell)| (meter.tid, held, cell))
        })
        .collect();
    let start_ns = ledger.header().start_ns;
    let of = |meter: Meter| {
        let at_site = |site: u32| at.get(site);
        let waits_at = at_site(meter.waiting);
        let holder = |&(tid, held, cell): &(u32, Metered, u32)| {
            let site = ledger.get::<Cell>(cell).map_or(At::Unknown, |cell| at_site(cell.site));
            let site = match (site, waits_at) {
                (At::Lock { lock, site }, At::Lock { lock: wanted, .. }) if lock == wanted => {
                    Some(site)
                }
                _ => None,
            };
            Holder { tid, site, begun_ns: moments.after(start_ns, held.since) }
        };
        let is_futex =
            ledger.get::<Site>(meter.waiting).is_some_and(|site| site.wait == wait_kind::FUTEX);
        let named = meter.waiting_word & ID_BITS;
        let names = (is_futex && named >= LEAST_ID).then_some(named);
        // A thread is known once it has locked or waited; the first one always is.
        let is_known = |&tid: &u32| {
            tid == ledger.header().pid || ledger.rows::<Meter>().any(|(_, m)| m.tid == tid)
        };
        let names = names.filter(is_known);
        let is_lock = matches!(waits_at, At::Lock { .. });
        let holders = held.iter().filter(|(_, held, _)| is_lock && held.addr == meter.waiting_for);
        let begun_ns = moments.after(start_ns, meter.waiting_since);
        let elapsed = moments.end_ns.saturating_sub(start_ns) as f64;
        Waiter {
            pid: ledger.header().pid,
            process,
            tid: meter.tid,
            at: waits_at,
            addr: meter.waiting_for,
            begun_ns,
            waited_ns: begun_ns.map(|begun| (elapsed - begun).max(0.0)),
            holders: holders.map(holder).collect(),
            names,
        }
    };
    waiting(ledger).map(of).collect()
}
