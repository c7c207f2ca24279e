//! Wrappers that the run showed: functions called for the lock that they returned with, whatever
//! their names.

use std::collections::HashSet;

use lockwright_ledger::rows::Node;
use lockwright_ledger::{Ledger, site};

/// Return addresses of lock calls, or of calls of other wrappers, in such functions.
pub fn addresses(ledger: &Ledger) -> HashSet<u64> {
    let mut addresses = HashSet::new();
    let mut sites = HashSet::new();
    for (_, node) in ledger.rows::<Node>() {
        let wrappers = site::wrappers(node.site) as usize;
        if wrappers == 0 || !sites.insert(node.site) {
            continue;
        }
        if let Some((stack, _)) = ledger.stack(node.stack) {
            addresses.extend(stack.into_iter().take(wrappers));
        }
    }
    addresses
}
