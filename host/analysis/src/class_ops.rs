//! How often locks of each class were acquired: the kernel's `class->ops`.
//!
//! A thread does not know a class's count where lockdep alone watches: a repeated acquisition is
//! one look-up by the chain, and one count of the thread's. It is known where lockmeter measures,
//! whose cells count by call site, and where the library counts by class itself (`debug-lockdep`).

use std::collections::BTreeMap;

use lockwright_ledger::rows::meter::{Site, wait_kind};
use lockwright_ledger::rows::{ClassOps, DebugCounts};

use crate::lockmeter::model::is_metered;
use crate::lockmeter::model::sums::SiteRows;
use crate::model::Model;

/// Acquisitions by merged class, or `None` where nobody has counted them. A class that is not in
/// there was not acquired.
pub fn class_ops(model: &Model<'_>) -> Option<BTreeMap<u32, u64>> {
    let ledger = model.ledger;
    let mut ops = BTreeMap::new();
    let mut add = |class: u32, count: u64| {
        let sum: &mut u64 = ops.entry(model.classes.group_of(class)).or_default();
        *sum = sum.saturating_add(count);
    };
    if ledger.rows::<DebugCounts>().next().is_some() {
        for (_, row) in ledger.rows::<ClassOps>() {
            let counted = (row.first..=u32::MAX).zip(row.ops).filter(|&(_, count)| count != 0);
            counted.for_each(|(class, count)| add(class, count));
        }
    } else if is_metered(ledger) {
        let sums = SiteRows::new(ledger);
        for (id, site) in ledger.rows::<Site>() {
            if site.wait == wait_kind::LOCK && site.class != 0 {
                add(site.class, sums.acquisitions(id));
            }
        }
    } else {
        return None;
    }
    Some(ops)
}
