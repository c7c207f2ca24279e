//! debugobjects' counters, under the names and in the form of
//! /sys/kernel/debug/debug_objects/stats; after them some of our own.

use std::fmt::Write;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::object::ObjectPools;

use super::process::Process;
use super::value::{Counters, Value, total};

/// The text if no process has any.
const NONE: &str = "debug_objects: nothing, for objects were not tracked\n";

/// The counters of several processes in one, under a title.
pub fn render(processes: &[Process<'_>]) -> String {
    let total = total(processes.iter().filter_map(|process| counters(process.model.ledger)));
    if total.is_empty() {
        return NONE.to_owned();
    }
    let mut out = String::from("debug_objects:\n");
    for (name, value) in total {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{name:<14}:{value}");
    }
    out
}

fn counters(ledger: &Ledger) -> Option<Counters> {
    use Value::{Least, Most, Sum};
    let (_, pools) = ledger.rows::<ObjectPools>().next()?;
    Some(vec![
        ("max_chain", Most(pools.max_chain)),
        ("max_checked", Most(pools.max_checked)),
        ("warnings", Sum(pools.warnings)),
        ("fixups", Sum(pools.fixups)),
        // The kernel's figure is of all that is free, and the next a part of it.
        ("pool_free", Sum(pools.pool_free.saturating_add(pools.pool_pcp_free))),
        ("pool_pcp_free", Sum(pools.pool_pcp_free)),
        ("pool_min_free", Least(pools.pool_min_free)),
        ("pool_used", Sum(pools.pool_used)),
        ("pool_max_used", Most(pools.pool_max_used)),
        ("on_free_list", Sum(pools.on_free_list)),
        ("objs_allocated", Sum(pools.objs_allocated)),
        ("objs_freed", Sum(pools.objs_freed)),
        ("pool_lock_acquired", Sum(pools.pool_lock_acquired)),
        ("pool_lock_contended", Sum(pools.pool_lock_contended)),
        ("lost", Sum(pools.lost)),
        ("off", Most(pools.off.into())),
    ])
}
