//! The threads that lived when a ledger was read: what they hold, and what they have done so far.

use std::collections::HashMap;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::meter::{Cell, Meter, Metered};

use super::at::At;
use super::report::{Holding, LiveThread};
use super::site_table::SiteTable;
use super::waiting::Moments;

/// The live threads of a process, in the order of their ids; `process` is their process in the report, and `at` has the sites
/// of the ledger.
pub fn threads(
    ledger: &Ledger,
    process: usize,
    moments: Moments<'_>,
    at: &SiteTable,
) -> Vec<LiveThread> {
    let live = ledger.rows::<Meter>().filter(|(_, meter)| meter.tid != 0);
    let mut threads: HashMap<u32, LiveThread> =
        live.map(|(id, meter)| (id, thread(ledger, process, &meter, moments, at))).collect();
    for (_, cell) in ledger.rows::<Cell>() {
        // A cell's state is the number of its meter.
        let Some(thread) = threads.get_mut(&cell.state) else { continue };
        if !matches!(at.get(cell.site), At::Lock { .. }) {
            continue;
        }
        thread.acquisitions = thread.acquisitions.saturating_add(cell.acquisitions);
        thread.contended = thread.contended.saturating_add(cell.contended);
        thread.wait_ns += moments.ticks.ns(cell.wait_ticks);
    }
    let mut threads: Vec<LiveThread> = threads.into_values().collect();
    threads.sort_by_key(|thread| thread.tid);
    threads
}

fn thread(
    ledger: &Ledger,
    process: usize,
    meter: &Meter,
    moments: Moments<'_>,
    at: &SiteTable,
) -> LiveThread {
    let start_ns = ledger.header().start_ns;
    let elapsed = moments.end_ns.saturating_sub(start_ns) as f64;
    // A condition wait has given up the mutex that it names.
    let has_given_up = |held: &Metered| {
        meter.waiting != 0
            && held.addr == meter.waiting_for
            && matches!(at.get(meter.waiting), At::Wait(_))
    };
    let held = ledger.metered(meter).into_iter().filter(|(held, _)| !has_given_up(held));
    let held = held.map(|(held, cell)| {
        let begun_ns = moments.after(start_ns, held.since);
        Holding {
            at: ledger.get::<Cell>(cell).map_or(At::Unknown, |cell| at.get(cell.site)),
            addr: held.addr,
            held_ns: begun_ns.map(|begun| (elapsed - begun).max(0.0)),
        }
    });
    LiveThread {
        pid: ledger.header().pid,
        process,
        tid: meter.tid,
        acquisitions: 0,
        contended: 0,
        wait_ns: 0.0,
        held: held.collect(),
    }
}
