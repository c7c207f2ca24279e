//! Which waits of a writer were for another writer, and which for readers.

use crate::meter::model::{Lock, Mode};

/// Waits of writers for writers.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriterWaits {
    /// How many; no whole number where a wait was for readers and writers in turn.
    pub count: f64,
    /// Their sum, ns.
    pub ns: f64,
    /// There are waits for readers, or for nobody knows whom: the longest wait may be one of those.
    pub others: bool,
}

impl WriterWaits {
    /// Those at site `site` of `lock`. Blame names the holders of each wait, so that a wait for one holder
    /// is counted exactly once; one that several had a part in is divided between them.
    pub fn at(lock: &Lock, site: usize) -> Self {
        let (mut by_writers, mut all, mut ns) = (0u64, 0u64, 0.0);
        for blame in lock.blame.iter().filter(|blame| blame.waiter == site) {
            all = all.saturating_add(blame.count);
            let holder = blame.holder.and_then(|holder| lock.sites.get(holder));
            if holder.is_some_and(|holder| holder.mode != Mode::Read) {
                by_writers = by_writers.saturating_add(blame.count);
                ns += blame.ns;
            }
        }
        let contended = lock.sites.get(site).map_or(0, |site| site.numbers.contended);
        let part = if all == 0 { 0.0 } else { by_writers as f64 / all as f64 };
        Self {
            count: contended as f64 * part,
            ns,
            others: contended > 0 && by_writers < all.max(1),
        }
    }

    /// Takes `other` in, which is of waits besides.
    pub fn add(&mut self, other: &Self) {
        self.others |= other.others;
        self.count += other.count;
        self.ns += other.ns;
    }
}
