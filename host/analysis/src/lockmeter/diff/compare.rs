//! Puts two sides next to each other.

use std::collections::HashMap;
use std::rc::Rc;

use super::matching::{Key, Positions, Side};
use super::metric::{METRICS, Metric, Sample, counted, values};
use crate::finding::{Frame, Name};
use crate::lockmeter::model::{Lock, MeterReport, Mode, push_to_few};
use lockwright_measure::two_samples::{
    COVERAGE, TwoSamples, excludes_none, largest_discovery, typical,
};

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
    /// What is typical of the runs before ([`typical`]); `None` if they have nothing to tell.
    pub before: Option<f64>,
    /// Likewise of the runs after.
    pub after: Option<f64>,
    /// After as a multiple of before; infinite where that is 0.
    pub ratio: Option<f64>,
    /// The 95 % interval of `ratio`; `None` where there are too few runs.
    pub interval: Option<(f64, f64)>,
    /// The probability of such a change by chance; `None` likewise.
    pub p: Option<f64>,
    /// It is more than chance, though so many metrics are compared.
    pub is_sure: bool,
}

impl Change {
    fn size(&self) -> f64 {
        (self.after.unwrap_or(0.0) - self.before.unwrap_or(0.0)).abs()
    }
}

impl Compared {
    /// The change of `metric`.
    pub fn change(&self, metric: Metric) -> Option<&Change> {
        self.changes.iter().find(|change| change.metric == metric)
    }

    fn each_change<'c>(&'c mut self, f: &mut impl FnMut(&'c mut Change)) {
        self.changes.iter_mut().for_each(&mut *f);
        self.sites.iter_mut().for_each(|site| site.each_change(f));
    }

    fn change_of_wait(&self) -> f64 {
        self.change(Metric::Wait).map_or(0.0, Change::size)
    }
}

/// What is collected of a lock or site, run by run. There may be millions.
struct Row {
    /// Equal for what is the same on both sides.
    key: Rc<str>,
    name: Name,
    stack: Rc<[Frame]>,
    mode: Option<Mode>,
    /// By side: the runs that have it, in order.
    runs: [Vec<(usize, Sample)>; 2],
    sites: Vec<Row>,
}

impl Row {
    fn new(key: Rc<str>) -> Self {
        Self {
            key,
            name: Name::default(),
            stack: Rc::default(),
            mode: None,
            runs: [Vec::new(), Vec::new()],
            sites: Vec::new(),
        }
    }

    /// Two that one run has under one name count as one. Runs come in order.
    fn add(&mut self, side: Side, run: usize, sample: &Sample) {
        let runs = &mut self.runs[side as usize];
        match runs.last_mut().filter(|last| last.0 == run) {
            Some((_, sum)) => sum.add(sample),
            None => push_to_few(runs, (run, *sample)),
        }
    }
}

/// Compares runs before with runs after. The order in which the runs of a side are given changes
/// nothing but the order of [`Runs::programs`].
pub fn compare(mut before: Vec<MeterReport>, mut after: Vec<MeterReport>) -> Comparison {
    let of_sides = [&before, &after].map(|side| runs(side));
    // Deals of runs are by number, and sums of f64 depend on the order.
    for side in [&mut before, &mut after] {
        side.sort_by_cached_key(tokens);
    }
    let rows = collect(&[(Side::Before, &before), (Side::After, &after)]);
    let samples = |runs: &[MeterReport], of: fn(&MeterReport) -> Sample| -> Vec<Sample> {
        runs.iter().map(of).collect()
    };
    let judge = Judge {
        before: samples(&before, Sample::absent),
        after: samples(&after, Sample::absent),
        two_samples: TwoSamples::default(),
    };
    let mut total = judge.changes(&samples(&before, all_locks), &samples(&after, all_locks));
    // There may be no room for the reports and the comparison.
    drop((before, after));
    let mut locks = judge.all(rows);
    mark_sure(&mut total, &mut locks);
    let [before, after] = of_sides;
    Comparison { before, after, total, locks }
}

/// Marks the changes that are more than chance. Of hundreds of metrics one in twenty leaves its interval by chance, so at most
/// one in twenty of those that are marked may be such (Benjamini and Hochberg).
fn mark_sure(total: &mut [Change], locks: &mut [Compared]) {
    let mut all: Vec<&mut Change> = total.iter_mut().collect();
    locks.iter_mut().for_each(|lock| lock.each_change(&mut |change| all.push(change)));
    // What is exactly the same on both sides is no claim that could be false.
    let claims =
        all.iter().filter(|change| change.ratio != Some(1.0)).filter_map(|change| change.p);
    let Some(largest) = largest_discovery(claims.collect(), 1.0 - COVERAGE) else { return };
    for change in all {
        let is_discovery = change.p.is_some_and(|p| p <= largest);
        change.is_sure = is_discovery && change.interval.is_some_and(excludes_none);
    }
}

/// After as a multiple of before: 1 of nothing to nothing, infinite where there was nothing before.
fn ratio(before: f64, after: f64) -> f64 {
    if before == after { 1.0 } else { after / before }
}

/// What the run's ledgers are known by, wherever they lie: another of each run.
fn tokens(run: &MeterReport) -> Vec<u64> {
    let mut tokens: Vec<u64> = run.processes.iter().map(|process| process.token).collect();
    tokens.sort_unstable();
    tokens
}

/// All locks of a run together.
fn all_locks(run: &MeterReport) -> Sample {
    let mut sum = Sample::absent(run);
    run.locks.iter().for_each(|lock| sum.add(&Sample::lock(run, lock)));
    sum
}

fn collect(sides: &[(Side, &[MeterReport]); 2]) -> Vec<Row> {
    let mut locks = Positions::default();
    for &(side, runs) in sides {
        runs.iter().flat_map(|run| &run.locks).for_each(|lock| locks.note(side, &Key::lock(lock)));
    }
    let mut rows: Vec<Row> = Vec::new();
    // By run and lock, in the order in which they are gone through: the lock's row.
    let mut row_of: Vec<u32> = Vec::new();
    let mut known: HashMap<Rc<str>, u32> = HashMap::new();
    for (side, index, run, lock) in each_lock(sides) {
        let key: Rc<str> = locks.resolve(side, &Key::lock(lock)).into();
        let at = *known.entry(key).or_insert_with_key(|key| {
            rows.push(Row::new(Rc::clone(key)));
            rows.len() as u32 - 1
        });
        row_of.push(at);
        let row = &mut rows[at as usize];
        row.name = Name { text: lock.name.clone(), is_symbol: lock.is_symbol };
        row.add(side, index, &Sample::lock(run, lock));
    }
    drop((locks, known));
    let mut places = Positions::default();
    for (&at, (side, _, _, lock)) in row_of.iter().zip(each_lock(sides)) {
        lock.sites.iter().for_each(|site| places.note(side, &Key::site(at, site)));
    }
    let mut known: HashMap<Rc<str>, u32> = HashMap::new();
    for (&at, (side, index, run, lock)) in row_of.iter().zip(each_lock(sides)) {
        let sites = &mut rows[at as usize].sites;
        for site in &lock.sites {
            let key: Rc<str> = places.resolve(side, &Key::site(at, site)).into();
            let at = *known.entry(key).or_insert_with_key(|key| {
                push_to_few(sites, Row::new(Rc::clone(key)));
                sites.len() as u32 - 1
            });
            let row = &mut sites[at as usize];
            row.stack.clone_from(&site.stack);
            row.mode = Some(site.mode);
            row.add(side, index, &Sample::site(run, lock, site));
        }
    }
    rows
}

/// Each lock of each run of each side, with the side, the run's number, and the run.
fn each_lock<'r>(
    sides: &[(Side, &'r [MeterReport]); 2],
) -> impl Iterator<Item = (Side, usize, &'r MeterReport, &'r Lock)> {
    sides.iter().flat_map(|&(side, runs)| {
        runs.iter().enumerate().flat_map(move |(index, run)| {
            run.locks.iter().map(move |lock| (side, index, run, lock))
        })
    })
}

struct Judge {
    /// What each run before has of something that it has not.
    before: Vec<Sample>,
    /// Likewise after.
    after: Vec<Sample>,
    two_samples: TwoSamples,
}

impl Judge {
    /// Compares all, and sorts them.
    fn all(&self, mut rows: Vec<Row>) -> Vec<Compared> {
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        let mut all: Vec<Compared> = rows.into_iter().map(|row| self.compared(row)).collect();
        sort(&mut all);
        all
    }

    fn compared(&self, row: Row) -> Compared {
        let samples = |absent: &[Sample], had: &[(usize, Sample)]| {
            let mut all = absent.to_vec();
            had.iter().for_each(|&(run, sample)| all[run] = sample);
            all
        };
        let Row { name, stack, mode, runs: [before, after], sites, .. } = row;
        let changes = self.changes(&samples(&self.before, &before), &samples(&self.after, &after));
        let (in_before, in_after) = (before.len(), after.len());
        let sites = self.all(sites);
        Compared { name, stack, mode, in_before, in_after, changes, sites }
    }

    fn changes(&self, before: &[Sample], after: &[Sample]) -> Vec<Change> {
        let change = |&(metric, _): &(Metric, &str)| {
            let counts = counted(metric, before).zip(counted(metric, after)).map(<[f64; 2]>::from);
            let (before, after) = (values(metric, before), values(metric, after));
            let change = self.two_samples.change(&before, &after, counts);
            let (before, after) = (typical(&before, &after), typical(&after, &before));
            Change {
                metric,
                before,
                after,
                ratio: before.zip(after).map(|(before, after)| ratio(before, after)),
                interval: change.map(|change| change.interval),
                p: change.map(|change| change.p),
                is_sure: false,
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
