//! One ledger's numbers, summed over threads: what its cells have for each site.
//!
//! A damaged ledger may say anything: sums saturate, and a list ends where it comes to a row that
//! was seen before.

use std::collections::{BTreeMap, HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::histogram::{self, RUN, RUNS};
use lockwright_ledger::rows::meter::{Blame, Bucket, Carry, Cell, Meter, Site, histogram_kind};

use super::clock::Ticks;
use super::histogram::Histogram;
use super::numbers::{Numbers, Times};
use super::report::Holds;

/// What was counted at a site, times in ticks.
#[derive(Debug, Default)]
pub struct Sums {
    counts: Cell,
    /// What the site's threads count together.
    shared: Site,
    hold_buckets: BTreeMap<usize, u64>,
    wait_buckets: BTreeMap<usize, u64>,
    /// Count and ticks by [`Blame::kind`] and [`Blame::other`].
    pub blame: BTreeMap<(u32, u32), (u64, u64)>,
    /// When holds under way began; 0 where one is not timed.
    pub held_since: Vec<u64>,
}

/// The sums of all sites of a ledger, by row of the site.
pub fn by_site(ledger: &Ledger) -> BTreeMap<u32, Sums> {
    let carries: HashMap<(u32, u32), u64> = ledger
        .rows::<Carry>()
        .map(|(_, carry)| ((carry.bucket, carry.index), u64::from(carry.times)))
        .collect();
    let mut sites: BTreeMap<u32, Sums> = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut site_of: HashMap<u32, u32> = HashMap::new();
    for (id, cell) in ledger.rows::<Cell>() {
        site_of.insert(id, cell.site);
        let sums = sites.entry(cell.site).or_insert_with(|| Sums::of(ledger, cell.site));
        sums.count(&cell);
        for blame in list(ledger, cell.blame, &mut seen) {
            let sum = sums.blame.entry((blame.kind, blame.other)).or_default();
            sum.0 = sum.0.saturating_add(blame.count);
            sum.1 = sum.1.saturating_add(blame.ticks);
        }
    }
    for (row, bucket) in ledger.rows::<Bucket>() {
        if let Some(sums) = sites.get_mut(&bucket.site) {
            sums.distribute(row, &bucket, &carries);
        }
    }
    for (_, meter) in ledger.rows::<Meter>() {
        for (held, cell) in ledger.metered(&meter) {
            if let Some(sums) = site_of.get(&cell).and_then(|site| sites.get_mut(site)) {
                sums.held_since.push(held.since);
                let acquisitions = &mut sums.counts.acquisitions;
                *acquisitions = acquisitions.saturating_add(u64::from(held.is_uncounted()));
            }
        }
    }
    sites
}

/// A cell's list of blame: rows each of which is in one list, once.
fn list(ledger: &Ledger, first: u32, seen: &mut HashSet<u32>) -> Vec<Blame> {
    let (mut rows, mut id) = (Vec::new(), first);
    while id != 0
        && seen.insert(id)
        && let Some(row) = ledger.get::<Blame>(id)
    {
        id = row.next;
        rows.push(row);
    }
    rows
}

impl Sums {
    /// None yet, of the site in that row.
    fn of(ledger: &Ledger, site: u32) -> Self {
        Self { shared: ledger.get::<Site>(site).unwrap_or_default(), ..Self::default() }
    }

    /// Acquisitions; of a place that takes no lock, waits that were over at once.
    pub fn acquisitions(&self) -> u64 {
        self.counts.acquisitions
    }

    fn count(&mut self, cell: &Cell) {
        let sum = &mut self.counts;
        for (sum, by) in [
            (&mut sum.acquisitions, cell.acquisitions),
            (&mut sum.holds, cell.holds),
            (&mut sum.hold_ticks, cell.hold_ticks),
            (&mut sum.contended, cell.contended),
            (&mut sum.wait_ticks, cell.wait_ticks),
            (&mut sum.rejects, cell.rejects),
            (&mut sum.spin_ticks, cell.spin_ticks),
            (&mut sum.timeouts, cell.timeouts),
        ] {
            *sum = sum.saturating_add(by);
        }
        sum.hold_max = sum.hold_max.max(cell.hold_max);
        sum.wait_max = sum.wait_max.max(cell.wait_max);
        sum.readers_max = sum.readers_max.max(cell.readers_max);
    }

    fn distribute(&mut self, row: u32, bucket: &Bucket, carries: &HashMap<(u32, u32), u64>) {
        let run = usize::from(bucket.run);
        let buckets = match bucket.kind {
            histogram_kind::HOLD if run < RUNS => &mut self.hold_buckets,
            histogram_kind::WAIT if run < RUNS => &mut self.wait_buckets,
            _ => return,
        };
        for (index, &count) in bucket.counts.iter().enumerate() {
            let carried = carries.get(&(row, index as u32)).map_or(0, |times| times << 16);
            let count = u64::from(count) + carried;
            if count > 0 {
                let sum = buckets.entry(run * RUN + index).or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }

    /// The same in time, up to the process' end.
    pub fn numbers(&self, ticks: &Ticks, holds: Holds, end_ns: u64) -> Numbers {
        let counts = &self.counts;
        let hold = Times {
            count: counts.holds,
            total_ns: ticks.ns(counts.hold_ticks),
            max_ns: ticks.ns(counts.hold_max),
            min_ns: least(self.shared.hold_least, ticks),
            histogram: histogram(&self.hold_buckets, ticks),
        };
        let waits = histogram(&self.wait_buckets, ticks);
        let wait = Times {
            count: waits.count().max(counts.contended),
            total_ns: ticks.ns(counts.wait_ticks),
            max_ns: ticks.ns(counts.wait_max),
            min_ns: least(self.shared.wait_least, ticks),
            histogram: waits,
        };
        let over_ns = match holds {
            Holds::Exact => hold.total_ns,
            Holds::Sampled(_) => hold.mean_ns().unwrap_or(0.0) * counts.acquisitions as f64,
            Holds::Off => 0.0,
        };
        let timed = self.held_since.iter().filter(|&&since| since != 0);
        let held_ns: f64 =
            timed.map(|&since| end_ns.saturating_sub(ticks.monotonic_ns(since)) as f64).sum();
        Numbers {
            acquisitions: counts.acquisitions,
            contended: counts.contended,
            rejects: counts.rejects,
            timeouts: counts.timeouts,
            hold_ns: over_ns + held_ns,
            hold,
            held: self.held_since.len() as u64,
            wait,
            spin_ns: ticks.ns(counts.spin_ticks),
            readers_max: counts.readers_max.into(),
            bounces: self.shared.bounces,
            contended_bounces: self.shared.contended_bounces,
        }
    }
}

/// The time whose complement a site has, if it has one.
fn least(complement: u64, ticks: &Ticks) -> Option<f64> {
    (complement != 0).then(|| ticks.ns(!complement))
}

fn histogram(buckets: &BTreeMap<usize, u64>, ticks: &Ticks) -> Histogram {
    let mut times = Histogram::default();
    for (&bucket, &count) in buckets {
        times.record(ticks.ns(histogram::middle(bucket)), count);
    }
    times
}
