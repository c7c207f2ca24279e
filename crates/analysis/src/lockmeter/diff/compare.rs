//! Puts two sides next to each other.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::bootstrap::{Bootstrap, ratio};
use super::matching::{Key, Positions, Side};
use super::metric::{METRICS, Metric, Sample, estimate};
use crate::finding::{Frame, Name};
use crate::lockmeter::model::{MeterReport, Mode};

/// Two sides, compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The runs before.
    pub before: Runs,
    /// The runs after.
    pub after: Runs,
    /// All locks together.
    pub total: Vec<Change>,
    /// Locks, the one first whose wait has changed most.
    pub locks: Vec<Compared>,
}

/// The runs of a side.
#[derive(Clone, Debug)]
pub struct Runs {
    /// How many.
    pub count: usize,
    /// What ran.
    pub programs: Vec<String>,
    /// How long a run took on average, ns.
    pub mean_ns: f64,
    /// Records lost in all of them.
    pub lost: u64,
}

/// A lock or a site on both sides.
#[derive(Clone, Debug)]
pub struct Compared {
    /// What it is called, after if it is there.
    pub name: Name,
    /// For a site, where it is, as on the side that `name` is of.
    pub stack: Rc<[Frame]>,
    /// For a site, how it takes the lock.
    pub mode: Option<Mode>,
    /// Runs before that have it.
    pub in_before: usize,
    /// Runs after that have it.
    pub in_after: usize,
    /// One for each metric.
    pub changes: Vec<Change>,
    /// For a lock, its sites, the one first whose wait has changed most.
    pub sites: Vec<Compared>,
}

/// A metric on both sides.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Which.
    pub metric: Metric,
    /// Its mean over the runs before; `None` if they have nothing to tell.
    pub before: Option<f64>,
    /// Its mean over the runs after.
    pub after: Option<f64>,
    /// After as a multiple of before; infinite where that is 0.
    pub ratio: Option<f64>,
    /// The 95 % interval of `ratio`; `None` where a side has one run, or nothing to tell.
    pub interval: Option<(f64, f64)>,
}

impl Change {
    /// The interval has no room for "no change".
    pub fn is_sure(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }

    fn size(&self) -> f64 {
        (self.after.unwrap_or(0.0) - self.before.unwrap_or(0.0)).abs()
    }
}

impl Compared {
    /// The change of `metric`.
    pub fn change(&self, metric: Metric) -> Option<&Change> {
        self.changes.iter().find(|change| change.metric == metric)
    }

    fn change_of_wait(&self) -> f64 {
        self.change(Metric::Wait).map_or(0.0, Change::size)
    }
}

/// What is collected of a lock or site, run by run.
struct Row {
    name: Name,
    stack: Rc<[Frame]>,
    mode: Option<Mode>,
    runs: [BTreeMap<usize, Sample>; 2],
    sites: BTreeMap<String, Row>,
}

impl Row {
    fn new() -> Self {
        Self {
            name: Name::default(),
            stack: Rc::default(),
            mode: None,
            runs: [BTreeMap::new(), BTreeMap::new()],
            sites: BTreeMap::new(),
        }
    }

    /// Two that one run has under one name count as one.
    fn add(&mut self, side: Side, run: usize, sample: &Sample) {
        let runs = &mut self.runs[side as usize];
        match runs.get_mut(&run) {
            Some(sum) => sum.add(sample),
            None => {
                runs.insert(run, *sample);
            }
        }
    }
}

/// Compares runs before with runs after.
pub fn compare(before: &[MeterReport], after: &[MeterReport]) -> Comparison {
    let sides = [(Side::Before, before), (Side::After, after)];
    let rows = collect(&sides);
    let bootstrap = Bootstrap::new(before.len(), after.len());
    let judge = Judge { before, after, bootstrap };
    let mut locks: Vec<Compared> = rows.into_values().map(|row| judge.compared(row)).collect();
    sort(&mut locks);
    let total = |runs: &[MeterReport]| -> Vec<Sample> { runs.iter().map(all_locks).collect() };
    Comparison {
        before: runs(before),
        after: runs(after),
        total: judge.changes(&total(before), &total(after)),
        locks,
    }
}

/// All locks of a run together.
fn all_locks(run: &MeterReport) -> Sample {
    let mut sum = Sample::absent(run);
    run.locks.iter().for_each(|lock| sum.add(&Sample::lock(run, lock)));
    sum
}

fn collect(sides: &[(Side, &[MeterReport]); 2]) -> BTreeMap<String, Row> {
    let mut locks = Positions::default();
    for &(side, runs) in sides {
        runs.iter().flat_map(|run| &run.locks).for_each(|lock| locks.note(side, &Key::lock(lock)));
    }
    let all = || {
        sides.iter().flat_map(|&(side, runs)| {
            runs.iter().enumerate().flat_map(move |(index, run)| {
                run.locks.iter().map(move |lock| (side, index, run, lock))
            })
        })
    };
    let mut places = Positions::default();
    for (side, _, _, lock) in all() {
        let key = locks.resolve(side, &Key::lock(lock));
        lock.sites.iter().for_each(|site| places.note(side, &Key::site(&key, site)));
    }
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for (side, index, run, lock) in all() {
        let key = locks.resolve(side, &Key::lock(lock));
        let row = rows.entry(key.clone()).or_insert_with(Row::new);
        row.name = Name { text: lock.name.clone(), is_symbol: lock.is_symbol };
        row.add(side, index, &Sample::lock(run, lock));
        for site in &lock.sites {
            let key = places.resolve(side, &Key::site(&key, site));
            let row = row.sites.entry(key).or_insert_with(Row::new);
            row.stack.clone_from(&site.stack);
            row.mode = Some(site.mode);
            row.add(side, index, &Sample::site(run, lock, site));
        }
    }
    rows
}

struct Judge<'r> {
    before: &'r [MeterReport],
    after: &'r [MeterReport],
    bootstrap: Option<Bootstrap>,
}

impl Judge<'_> {
    fn compared(&self, row: Row) -> Compared {
        let samples = |runs: &[MeterReport], had: &BTreeMap<usize, Sample>| -> Vec<Sample> {
            let of = |(index, run)| had.get(&index).copied().unwrap_or_else(|| Sample::absent(run));
            runs.iter().enumerate().map(of).collect()
        };
        let [before, after] = &row.runs;
        let changes = self.changes(&samples(self.before, before), &samples(self.after, after));
        let (in_before, in_after) = (before.len(), after.len());
        let mut sites: Vec<Compared> =
            row.sites.into_values().map(|site| self.compared(site)).collect();
        sort(&mut sites);
        let Row { name, stack, mode, .. } = row;
        Compared { name, stack, mode, in_before, in_after, changes, sites }
    }

    fn changes(&self, before: &[Sample], after: &[Sample]) -> Vec<Change> {
        let change = |&(metric, _): &(Metric, &str)| {
            let (old, new) = (estimate(metric, before.iter()), estimate(metric, after.iter()));
            let bootstrap = self.bootstrap.as_ref();
            let ratio = old.zip(new).map(|(old, new)| ratio(old, new));
            Change {
                metric,
                before: old,
                after: new,
                ratio,
                interval: ratio.and_then(|_| bootstrap?.interval(metric, before, after)),
            }
        };
        METRICS.iter().map(change).collect()
    }
}

fn sort(all: &mut [Compared]) {
    all.sort_by(|a, b| {
        b.change_of_wait().total_cmp(&a.change_of_wait()).then_with(|| a.name.cmp(&b.name))
    });
}

fn runs(runs: &[MeterReport]) -> Runs {
    let mut programs: Vec<String> = Vec::new();
    for process in runs.iter().flat_map(|run| &run.processes) {
        let words = match process.command.as_slice() {
            [] => process.exe.clone(),
            words => words.join(" "),
        };
        if !programs.contains(&words) {
            programs.push(words);
        }
    }
    let all: f64 = runs.iter().map(|run| run.elapsed_ns as f64).sum();
    Runs {
        count: runs.len(),
        programs,
        mean_ns: if runs.is_empty() { 0.0 } else { all / runs.len() as f64 },
        lost: runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.lost)),
    }
}
