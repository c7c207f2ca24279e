//! Which waits of a writer were for another writer, and which for readers.

use lockwright_analysis::lockmeter::model::{CallNumbers, Lock, Mode};

/// Waits of writers for writers.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriterWaits {
    /// How many; no whole number where a wait was for readers and writers in turn.
    pub count: f64,
    /// Their sum, ns.
    pub ns: f64,
    /// There are waits for readers, or for unknown holders: the longest wait may be one of those.
    pub others: bool,
}

impl WriterWaits {
    /// The waits of a call at site `site` of `lock`: its part of the site's waits. Blame names the holders of each
    /// wait, so that a wait for one holder is counted exactly once; waits that readers and writers had a part in are
    /// divided between them. The time until a waiter that was woken runs is nobody's, and does not count.
    pub fn at(lock: &Lock, site: usize, call: CallNumbers<'_>) -> Self {
        let (mut by_writers, mut by_readers, mut ns) = (0u64, 0u64, 0.0);
        for blame in lock.blame.iter().filter(|blame| blame.waiter == site) {
            match blame.holder.and_then(|holder| lock.sites.get(holder)) {
                Some(holder) if holder.mode == Mode::Read => {
                    by_readers = by_readers.saturating_add(blame.count);
                }
                Some(_) => {
                    by_writers = by_writers.saturating_add(blame.count);
                    ns += blame.ns;
                }
                None => {}
            }
        }
        let contended = lock.sites.get(site).map_or(0, |site| site.numbers.contended);
        let known = by_writers.saturating_add(by_readers);
        let part = if known == 0 { 0.0 } else { by_writers as f64 / known as f64 };
        let others = by_readers > 0 || by_writers < contended;
        let of_site = lock.sites.get(site).map_or(0.0, |site| site.numbers.wait.total_ns);
        let of_call = if of_site > 0.0 { call.numbers.wait.total_ns / of_site } else { 0.0 };
        Self { count: call.numbers.contended as f64 * part, ns: ns * of_call, others }
    }

    /// Takes `other` in, which is of waits besides.
    pub fn add(&mut self, other: &Self) {
        self.others |= other.others;
        self.count += other.count;
        self.ns += other.ns;
    }
}
