//! Whether a process was watched whole, as its ledger tells: why recording stopped, and what was
//! lost.

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::meter::Meter;
use lockwright_ledger::rows::object::ObjectPools;

use crate::finding::coverage::{Missing, Stopped};

/// What [`ObjectPools::off`] says where memory was short.
const OUT_OF_MEMORY: u32 = 1;

/// What was not recorded of a process, or is not in its ledger any more; nothing if it was watched
/// whole.
pub fn missing(ledger: &Ledger) -> Vec<Missing> {
    let mut all = Vec::new();
    let lost = lost(ledger);
    match Stopped::of(ledger.header().stopped) {
        Some(why) => all.push(Missing::RecordingStopped { why, lost }),
        None if lost > 0 => all.push(Missing::RecordsLost { lost }),
        None => {}
    }
    let bytes = ledger.missing_bytes();
    all.extend((bytes > 0).then_some(Missing::LedgerCut { bytes }));
    all.extend(ledger.is_torn().then_some(Missing::LedgerChanging));
    let off = ledger.rows::<ObjectPools>().map(|(_, pools)| pools.off).find(|&off| off != 0);
    all.extend(off.map(|off| Missing::ObjectsStopped { out_of_memory: off == OUT_OF_MEMORY }));
    all
}

/// Records that could not be written, those of lockmeter's threads included.
pub fn lost(ledger: &Ledger) -> u64 {
    let of_threads = ledger.rows::<Meter>().map(|(_, meter)| meter.lost);
    of_threads.fold(ledger.header().lost, u64::saturating_add)
}
