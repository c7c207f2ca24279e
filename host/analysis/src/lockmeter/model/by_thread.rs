//! What each thread did with the locks that are waited for most: simulated threads do the same.

use std::collections::HashMap;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::meter::{Blame, Cell, Meter, Site, blame_kind, wait_kind};

use super::at::At;
use super::clock::Ticks;
use super::report::{Lock, LockThread, MeterReport, ThreadSite};
use super::site_table::SiteTable;

/// Least wait for a lock, as a part of the measured time, at which its threads are distinguished: no advice is given below 1 %.
const LEAST_WAIT: f64 = 0.005;

/// A process, and the moment up to which it was measured.
#[derive(Clone, Copy)]
pub struct Measured<'m> {
    pub ledger: &'m Ledger,
    pub ticks: &'m Ticks,
    pub end_ns: u64,
    pub elapsed_ns: f64,
    pub at: &'m SiteTable,
}

/// What a thread did in all.
#[derive(Clone, Copy, Default)]
struct Life {
    lived_ns: f64,
    away_ns: f64,
    signalled_ns: f64,
    tid: u32,
    threads: u32,
}

/// Adds the threads of a process to the locks of a report.
pub fn add(report: &mut MeterReport, measured: Measured<'_>) {
    let Measured { ledger, ticks, elapsed_ns, at, .. } = measured;
    let is_wanted: Vec<bool> = report
        .locks
        .iter()
        .map(|lock| lock.total.wait.total_ns >= LEAST_WAIT * elapsed_ns)
        .collect();
    if !is_wanted.contains(&true) {
        return;
    }
    let mut lives: HashMap<u32, Life> = HashMap::new();
    let mut of_lock: HashMap<(usize, u32), LockThread> = HashMap::new();
    for (_, cell) in ledger.rows::<Cell>() {
        // A cell's state is the number of its meter.
        let (meter, waited) = (cell.state, ticks.ns(cell.wait_ticks));
        let life = lives.entry(meter).or_default();
        let Some(site) = ledger.get::<Site>(cell.site) else { continue };
        life.add(site.wait, waited);
        let At::Lock { lock, site: index } = at.get(cell.site) else { continue };
        if !is_wanted[lock] {
            continue;
        }
        let thread = of_lock.entry((lock, meter)).or_default();
        thread.nested_ns += nested(ledger, &cell, ticks);
        thread.add(ThreadSite {
            site: index,
            inst: site.inst,
            acquisitions: cell.acquisitions,
            contended: cell.contended,
            hold_ns: ticks.ns(cell.hold_ticks),
            wait_ns: waited,
        });
    }
    live(measured, &mut lives);
    let mut threads: Vec<_> = of_lock.into_iter().collect();
    threads.sort_unstable_by_key(|(of, _)| *of);
    for ((lock, meter), mut thread) in threads {
        let life = lives.get(&meter).copied().unwrap_or_default();
        let own: f64 = thread.sites.iter().map(|site| site.wait_ns).sum();
        thread.lived_ns = if life.lived_ns > 0.0 { life.lived_ns } else { elapsed_ns };
        thread.away_ns = (life.away_ns - own - thread.nested_ns).max(0.0);
        thread.signalled_ns = life.signalled_ns.min(thread.away_ns);
        (thread.tid, thread.threads) = (life.tid, life.threads);
        let Lock { threads, .. } = &mut report.locks[lock];
        threads.push(thread);
    }
}

/// How long the threads lived, and what those wait for that were waiting at the end.
fn live(measured: Measured<'_>, lives: &mut HashMap<u32, Life>) {
    let Measured { ledger, ticks, end_ns, .. } = measured;
    let since = |reading| end_ns.saturating_sub(ticks.monotonic_ns(reading)) as f64;
    for (id, meter) in ledger.rows::<Meter>() {
        let life = lives.entry(id).or_default();
        life.lived_ns = ticks.ns(meter.lived);
        (life.tid, life.threads) = (meter.tid, meter.threads);
        if meter.born != 0 {
            life.lived_ns += since(meter.born);
        }
        if meter.tid != 0
            && let Some(site) = ledger.get::<Site>(meter.waiting)
        {
            life.add(site.wait, since(meter.waiting_since));
        }
    }
}

impl Life {
    fn add(&mut self, wait: u32, ns: f64) {
        self.away_ns += ns;
        if !matches!(wait, wait_kind::LOCK | wait_kind::BLOCKING_CALL) {
            self.signalled_ns += ns;
        }
    }
}

/// How long holds counted in a cell waited for something else.
fn nested(ledger: &Ledger, cell: &Cell, ticks: &Ticks) -> f64 {
    let (mut next, mut ns) = (cell.blame, 0.0);
    // A damaged list may be a circle; a real one is short.
    for _ in 0..10_000 {
        let Some(blame) = ledger.get::<Blame>(next) else { break };
        if blame.kind == blame_kind::NESTED {
            ns += ticks.ns(blame.ticks);
        }
        next = blame.next;
    }
    ns
}

impl LockThread {
    fn add(&mut self, of: ThreadSite) {
        match self.sites.iter_mut().find(|at| (at.site, at.inst) == (of.site, of.inst)) {
            Some(sum) => {
                sum.acquisitions = sum.acquisitions.saturating_add(of.acquisitions);
                sum.contended = sum.contended.saturating_add(of.contended);
                sum.hold_ns += of.hold_ns;
                sum.wait_ns += of.wait_ns;
            }
            None => self.sites.push(of),
        }
    }
}
