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
use super::hold_error::HoldError;
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
    /// When holds under way began; 0 where one is not timed.
    held_since: Vec<u64>,
}

/// Waits for one thing: count and ticks by [`Blame::kind`] and [`Blame::other`].
pub type Blames = BTreeMap<(u32, u32), (u64, u64)>;

/// A hold under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    site: u32,
    /// When it began; 0 if it is not timed.
    since: u64,
    /// Its acquisition is in no cell yet.
    is_uncounted: bool,
}

/// Which rows are of which site. The sums of a site are made when somebody asks: those of all sites of a large
/// program would take more memory than its ledger.
#[derive(Debug)]
pub struct SiteRows<'l> {
    ledger: &'l Ledger,
    /// Sites and their cells, in order.
    cells: Vec<(u32, u32)>,
    /// Sites and their rows of histograms, in order.
    buckets: Vec<(u32, u32)>,
    /// Sites and their rows of blame, in order.
    blames: Vec<(u32, u32)>,
    /// By site.
    under_way: Vec<UnderWay>,
    carries: HashMap<(u32, u32), u64>,
}

impl<'l> SiteRows<'l> {
    /// Those of a ledger.
    pub fn new(ledger: &'l Ledger) -> Self {
        let carries = ledger
            .rows::<Carry>()
            .map(|(_, carry)| ((carry.bucket, carry.index), u64::from(carry.times)))
            .collect();
        let (mut cells, mut blames) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for (id, cell) in ledger.rows::<Cell>() {
            cells.push((cell.site, id));
            blames.extend(list(ledger, cell.blame, &mut seen).map(|row| (cell.site, row)));
        }
        let buckets = ledger.rows::<Bucket>().map(|(id, bucket)| (bucket.site, id));
        let mut buckets: Vec<_> = buckets.collect();
        let held = ledger.rows::<Meter>().flat_map(|(_, meter)| ledger.metered(&meter));
        let mut under_way: Vec<_> = held
            .filter_map(|(held, cell)| {
                let site = ledger.get::<Cell>(cell)?.site;
                Some(UnderWay { site, since: held.since, is_uncounted: held.is_uncounted() })
            })
            .collect();
        cells.sort_unstable();
        buckets.sort_unstable();
        blames.sort_unstable();
        // Stable: sums of fractions depend on the order.
        under_way.sort_by_key(|hold| hold.site);
        Self { ledger, cells, buckets, blames, under_way, carries }
    }

    /// The sums of a site; `None` if nothing was counted there.
    pub fn sums(&self, site: u32) -> Option<Sums> {
        let cells = rows_of(&self.cells, site);
        if cells.is_empty() {
            return None;
        }
        let shared = self.ledger.get::<Site>(site).unwrap_or_default();
        let mut sums = Sums { shared, ..Sums::default() };
        for cell in cells.iter().filter_map(|&(_, id)| self.ledger.get::<Cell>(id)) {
            sums.count(&cell);
        }
        for &(_, id) in rows_of(&self.buckets, site) {
            if let Some(bucket) = self.ledger.get::<Bucket>(id) {
                sums.distribute(id, &bucket, &self.carries);
            }
        }
        let acquisitions = &mut sums.counts.acquisitions;
        for hold in self.under_way_at(site) {
            sums.held_since.push(hold.since);
            *acquisitions = acquisitions.saturating_add(u64::from(hold.is_uncounted));
        }
        Some(sums)
    }

    /// Acquisitions at a site; of a place that takes no lock, waits that were over at once.
    pub fn acquisitions(&self, site: u32) -> u64 {
        let cells = rows_of(&self.cells, site).iter();
        let counted = cells.filter_map(|&(_, id)| Some(self.ledger.get::<Cell>(id)?.acquisitions));
        let uncounted = self.under_way_at(site).iter().map(|hold| u64::from(hold.is_uncounted));
        counted.chain(uncounted).fold(0, u64::saturating_add)
    }

    /// The sites whose waits, or holds, are known to be for something, and for what.
    pub fn blames(&self) -> impl Iterator<Item = (u32, Blames)> + '_ {
        self.blames.chunk_by(|a, b| a.0 == b.0).map(|rows| {
            let mut sums = Blames::new();
            for blame in rows.iter().filter_map(|&(_, id)| self.ledger.get::<Blame>(id)) {
                let sum = sums.entry((blame.kind, blame.other)).or_default();
                sum.0 = sum.0.saturating_add(blame.count);
                sum.1 = sum.1.saturating_add(blame.ticks);
            }
            (rows[0].0, sums)
        })
    }

    /// When all holds under way began; 0 where one is not timed.
    pub fn held_since(&self) -> impl Iterator<Item = u64> + '_ {
        self.under_way.iter().map(|hold| hold.since)
    }

    fn under_way_at(&self, site: u32) -> &[UnderWay] {
        let begin = self.under_way.partition_point(|hold| hold.site < site);
        let rest = &self.under_way[begin..];
        &rest[..rest.partition_point(|hold| hold.site == site)]
    }
}

/// Those of a site.
fn rows_of(rows: &[(u32, u32)], site: u32) -> &[(u32, u32)] {
    let begin = rows.partition_point(|&(of, _)| of < site);
    let rest = &rows[begin..];
    // Few: a search from the begin would look at the others, too.
    let end = rest.iter().position(|&(of, _)| of != site);
    &rest[..end.unwrap_or(rest.len())]
}

/// A cell's list of blame: rows each of which is in one list, once.
fn list(ledger: &Ledger, first: u32, seen: &mut HashSet<u32>) -> impl Iterator<Item = u32> {
    let mut next = first;
    std::iter::from_fn(move || {
        let id = next;
        if id == 0 || !seen.insert(id) {
            return None;
        }
        next = ledger.get::<Blame>(id)?.next;
        Some(id)
    })
}

impl Sums {
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
        let (over_ns, hold_error) = match holds {
            Holds::Exact => (hold.total_ns, HoldError::default()),
            Holds::Sampled(_) => (
                hold.mean_ns().unwrap_or(0.0) * counts.acquisitions as f64,
                HoldError::of(&hold.histogram, counts.acquisitions),
            ),
            Holds::Off => (0.0, HoldError::default()),
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
            hold_error,
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
