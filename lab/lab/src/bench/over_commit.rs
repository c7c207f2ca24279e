//! The microbenchmark of Long's 2017 pvqspinlock patch: as many threads as virtual CPUs lock and
//! unlock as fast as they can, on fewer real CPUs. A thread that is preempted is a virtual CPU that
//! is.

use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::event::{Counted, Event, Events};
use lockwright::exclusive::Exclusive;
use lockwright::platform::linux::Linux;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::fault::Fault;
use super::protected::Counter;
use super::published::{Locks, OVER_COMMIT, OverCommit};
use super::report::{Section, grouped};
use super::workers::{self, APART, Padded, Times};
use super::{Options, rounds};
use lockwright_measure::stats::{self, Estimate};

pub const NAME: &str = "over-commit";

type Host = Counted<Linux>;

/// Trivial steps between a release and the next acquisition, each a store that no compiler leaves
/// out: none, as published, and about ten times what an uncontended pair of ours takes, so that
/// some acquisitions find the lock free.
const STEPS_OUTSIDE: [u32; 2] = [0, 200];

/// A way to lock.
struct Arm {
    name: &'static str,
    /// None: it does not exclude.
    run: fn(usize, u32, Duration) -> Option<Outcome>,
}

const ARMS: [Arm; 3] = [
    Arm { name: HYBRID, run: run::<RawPvQspinlock<Host, Hybrid>> },
    Arm { name: UNFAIR, run: run::<RawPvQspinlock<Host, Unfair>> },
    Arm { name: "single steal", run: run::<RawPvQspinlock<Host, SingleSteal>> },
];

/// What the document is about.
pub const HYBRID: &str = "hybrid";

/// What the others are compared with.
pub const UNFAIR: &str = "unfair";

/// What the threads of one run did.
#[derive(Serialize)]
struct Outcome {
    times: Times,
    /// Operations of each thread.
    operations: Vec<u64>,
    /// Acquisitions after a wait in the queue.
    queued: u64,
    /// Acquisitions ahead of the queue, by those who did not find the lock free at once.
    unfair: u64,
    #[serde(serialize_with = "by_name")]
    events: Events,
    /// Where what the threads share lies.
    lines: Lines,
}

/// Numbers of the stretches of [`APART`] bytes in which things lie: each has one of its own.
#[derive(Serialize)]
struct Lines {
    lock: usize,
    counter: usize,
    stop: usize,
}

impl Outcome {
    fn total(&self) -> u64 {
        self.operations.iter().sum()
    }

    /// Operations a second.
    fn rate(&self) -> f64 {
        self.total() as f64 / self.times.seconds()
    }

    fn min(&self) -> u64 {
        self.operations.iter().copied().min().unwrap_or(0)
    }

    fn max(&self) -> u64 {
        self.operations.iter().copied().max().unwrap_or(0)
    }

    /// Least operations of a thread over most.
    fn fairness(&self) -> f64 {
        self.min() as f64 / self.max().max(1) as f64
    }

    /// Hundredths in unfair mode of the acquisitions that did not find the lock free.
    fn unfair_share(&self) -> f64 {
        100.0 * self.unfair as f64 / (self.queued + self.unfair).max(1) as f64
    }
}

/// `threads` threads lock for `interval`. None: the lock does not exclude.
fn run<L: Exclusive>(threads: usize, steps: u32, interval: Duration) -> Option<Outcome> {
    let (lock, counter) = (Padded(L::new()), Counter::new());
    let stop = Padded(AtomicBool::new(false));
    let lines = Lines {
        lock: ptr::from_ref(&lock).addr() / APART,
        counter: ptr::from_ref(&counter).addr() / APART,
        stop: ptr::from_ref(&stop).addr() / APART,
    };
    let work = |_| {
        let mut operations = 0;
        // Relaxed: it orders nothing.
        while !stop.0.load(Relaxed) {
            lock.0.lock();
            counter.increment();
            // SAFETY: `lock` above took the lock for this thread.
            unsafe { lock.0.unlock() };
            operations += 1;
            (0..steps).for_each(|step| {
                black_box(step);
            });
        }
        operations
    };
    let before = Events::of::<Host>();
    let (times, operations) = workers::run(threads, work, || {
        thread::sleep(interval);
        stop.0.store(true, Relaxed);
    });
    let events = Events::of::<Host>().since(&before);
    let outcome = Outcome {
        times,
        operations,
        queued: events.get(Event::LockSlowpath) as u64,
        unfair: events.get(Event::PvLockStealing) as u64,
        events,
        lines,
    };
    (counter.into_inner() == outcome.total()).then_some(outcome)
}

/// All rounds of a lock at a degree of over-commit.
#[derive(Serialize)]
pub struct Row {
    pub lock: &'static str,
    pub threads: usize,
    pub steps_outside: u32,
    rounds: Vec<Outcome>,
    /// Operations a second, divided by those of the unfair lock.
    pub ratio: Estimate,
}

/// All that was measured.
pub struct Measured {
    /// For people.
    pub sections: Vec<Section>,
    pub rows: Vec<Row>,
}

impl Row {
    /// Least operations of a thread over most, of each round.
    pub fn fairness(&self) -> Estimate {
        self.of_rounds(Outcome::fairness)
    }

    /// By how much [`Row::fairness`] is more than that of `other` in the same rounds.
    pub fn fairer_than(&self, other: &Self) -> Estimate {
        self.of_pairs(other, Outcome::fairness)
    }

    /// Share of acquisitions in unfair mode among those that did not find the lock free, of each
    /// round, in hundredths.
    pub fn unfair_share(&self) -> Estimate {
        self.of_rounds(Outcome::unfair_share)
    }

    /// By how many hundredths [`Row::unfair_share`] is more than that of `other` in the same rounds.
    pub fn more_often_unfair_than(&self, other: &Self) -> Estimate {
        self.of_pairs(other, Outcome::unfair_share)
    }

    fn of_pairs(&self, other: &Self, figure: fn(&Outcome) -> f64) -> Estimate {
        let pairs = self.rounds.iter().zip(&other.rounds);
        stats::estimate(&pairs.map(|(of, base)| figure(of) - figure(base)).collect::<Vec<_>>())
    }

    fn of_rounds(&self, figure: impl Fn(&Outcome) -> f64) -> Estimate {
        stats::estimate(&self.rounds.iter().map(figure).collect::<Vec<_>>())
    }

    /// The round of the median total.
    fn middle(&self) -> &Outcome {
        let mut sorted: Vec<_> = self.rounds.iter().collect();
        sorted.sort_by_key(|outcome| outcome.total());
        sorted[sorted.len() / 2]
    }

    fn cells(&self, cpus: usize) -> Vec<String> {
        let middle = self.middle();
        let mut cells = vec![
            self.lock.to_owned(),
            at(self.threads, self.threads as f64 / cpus as f64),
            self.steps_outside.to_string(),
        ];
        let mean = middle.total() / self.threads as u64;
        cells.extend(spread([middle.min(), mean, middle.max()], middle.total()));
        cells.push(format!("{:.2}", self.ratio.median));
        cells.push(format!("{:.2} to {:.2}", self.ratio.low, self.ratio.high));
        cells.extend(modes(middle.queued, middle.unfair));
        cells
    }
}

/// Counts under the kernel's names.
fn by_name<S: Serializer>(events: &Events, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Event::ALL.iter().map(|event| (event.name(), events.get(*event))))
}

/// The lock events of some locks at one degree of over-commit, all rounds together, as the kernel
/// shows them.
fn events_of(rows: &[Row]) -> Section {
    let sums: Vec<_> = rows
        .iter()
        .map(|row| {
            let mut rounds = row.rounds.iter().map(|round| round.events.clone());
            let first = rounds.next().expect("one round at least");
            rounds.fold(first, |sum, events| sum.plus(&events))
        })
        .collect();
    let line = |event: &Event| {
        let shown = sums.iter().map(|sum| sum.shown(*event).to_string());
        std::iter::once(event.name().to_owned()).chain(shown).collect()
    };
    let counted = |event: &&Event| sums.iter().any(|sum| sum.get(**event) > 0);
    let Row { threads, steps_outside, .. } = rows[0];
    Section {
        title: format!("Lock events: over-commit, {threads} threads, {steps_outside} steps outside"),
        columns: std::iter::once("event").chain(rows.iter().map(|row| row.lock)).collect(),
        rows: Event::ALL.iter().filter(counted).map(line).collect(),
        notes: vec![
            "All rounds together; events that no lock had are left out. Hops and latencies (ns) are averages, as in \
             the kernel's lock_event_counts."
                .to_owned(),
        ],
        json: json!(null),
    }
}

/// The published rows of a degree of over-commit.
fn published_rows(point: &OverCommit) -> Vec<Vec<String>> {
    let row = |name: &str, operations: Option<([u64; 3], f64)>, modes_of: Option<[u64; 2]>| {
        let mut cells =
            vec![format!("  published, {name}"), at(point.vcpus as usize, point.times), "0".into()];
        match operations {
            Some((of_thread, ratio)) => {
                cells.extend(spread(of_thread, of_thread[1] * point.vcpus));
                cells.push(format!("{ratio:.2}"));
            }
            None => cells.resize(cells.len() + 6, String::new()),
        }
        cells.push(String::new());
        match modes_of {
            Some([queued, unfair]) => cells.extend(modes(queued, unfair)),
            None => cells.resize(cells.len() + 3, String::new()),
        }
        cells
    };
    let Some(Locks { hybrid, unfair }) = &point.operations else {
        return vec![row("hybrid", None, point.modes)];
    };
    let ratio = hybrid[1] as f64 / unfair[1] as f64;
    vec![
        row("hybrid", Some((*hybrid, ratio)), point.modes),
        row("unfair", Some((*unfair, 1.0)), None),
    ]
}

/// Threads, and how many of them there are for each CPU.
fn at(threads: usize, times: f64) -> String {
    format!("{threads} ({times:.2}x)")
}

/// Threads of this machine's `cpus` that are as much over-commit as the published point.
pub fn threads(point: &OverCommit, cpus: usize) -> usize {
    (cpus as f64 * point.times).ceil() as usize
}

/// Cells of operations per thread, their fairness and their total.
fn spread([min, mean, max]: [u64; 3], total: u64) -> [String; 5] {
    let fairness = min as f64 / max.max(1) as f64;
    [grouped(min), grouped(mean), grouped(max), format!("{fairness:.3}"), grouped(total)]
}

/// Cells of acquisitions in queued and in unfair mode, and of the share of the latter.
fn modes(queued: u64, unfair: u64) -> [String; 3] {
    let share = unfair as f64 / (unfair + queued).max(1) as f64;
    [grouped(queued), grouped(unfair), format!("{:.1} %", 100.0 * share)]
}

/// All arms at all degrees of over-commit, in turns; with lock events, if they are wanted, in
/// sections of their own.
///
/// # Errors
/// If figures are not to be believed.
pub fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Measured, Fault> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let (mut results, mut cells, mut events) = (Vec::new(), Vec::new(), Vec::new());
    // With few CPUs some points have the same number of threads, and one measurement.
    for points in OVER_COMMIT.chunk_by(|a, b| threads(a, cpus) == threads(b, cpus)) {
        for steps in STEPS_OUTSIDE {
            let rows = measure_at(threads(&points[0], cpus), steps, options, progress)?;
            cells.extend(rows.iter().map(|row| row.cells(cpus)));
            events.extend(options.events.then(|| events_of(&rows)));
            results.extend(rows);
        }
        cells.extend(points.iter().flat_map(published_rows));
    }
    let mut section = Section {
        title: format!(
            "Over-commit: operations per thread in {:?}, on {cpus} CPUs",
            options.interval
        ),
        columns: vec![
            "lock",
            "threads",
            "steps outside",
            "min",
            "average",
            "max",
            "min/max",
            "total",
            "against unfair",
            "interval",
            "queued",
            "unfair mode",
            "share",
        ],
        rows: cells,
        notes: vec![format!(
            "{} rounds, the locks taking turns; the round of the median total, and the median of the rounds' ratios of \
             operations a second. Queued: acquisitions after a wait in the queue; unfair mode: acquisitions ahead of \
             it, and their share among both; the others found the lock free. Published: Waiman Long's 5 s on 36 cores \
             (E5-2699 v3), where the acquisitions in queued and unfair mode are those of a build of the kernel.",
            options.rounds
        )],
        json: json!(results),
    };
    let all = results.iter().flat_map(|row| &row.rounds);
    section.notes.extend(workers::disturbed(all.map(|round| &round.times)));
    Ok(Measured { sections: std::iter::once(section).chain(events).collect(), rows: results })
}

fn measure_at(
    threads: usize,
    steps_outside: u32,
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Row>, Fault> {
    let outcomes = rounds::in_turns(&ARMS, options.rounds, |round, arm| {
        let of = options.rounds;
        progress(&format!(
            "{NAME}, {threads} threads, {steps_outside} steps outside, round {round} of {of}"
        ));
        let outcome = (arm.run)(threads, steps_outside, options.interval);
        let outcome = outcome.ok_or_else(|| Fault::not_exclusive(arm.name))?;
        outcome.times.check(&format!("{}, {threads} threads", arm.name))?;
        Ok(outcome)
    })?;
    let base = ARMS.iter().position(|arm| arm.name == UNFAIR).expect("it is one of them");
    let ratios: Vec<_> =
        outcomes.iter().map(|of| rounds::against(&outcomes[base], of, Outcome::rate)).collect();
    let rows = ARMS.iter().zip(outcomes).zip(ratios);
    Ok(rows
        .map(|((arm, rounds), ratio)| Row { lock: arm.name, threads, steps_outside, rounds, ratio })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No lock at all.
    struct Nothing;

    // SAFETY: it is none, as planted; what it does not protect is looked at.
    unsafe impl Exclusive for Nothing {
        const SPINS: bool = true;
        fn new() -> Self {
            Self
        }
        fn lock(&self) {}
        fn try_lock(&self) -> bool {
            true
        }
        /// # Safety
        /// The contract is that of `Exclusive::unlock`.
        unsafe fn unlock(&self) {}
        fn is_locked(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_planted_lock_that_does_not_exclude_is_found() {
        let found = (0..100).any(|_| run::<Nothing>(4, 0, Duration::from_millis(5)).is_none());
        assert!(found);
    }

    #[test]
    fn what_threads_share_lies_apart() {
        let Lines { lock, counter, stop } =
            run::<RawPvQspinlock<Host, Hybrid>>(2, 0, Duration::ZERO).expect("it excludes").lines;
        assert!(lock != counter && counter != stop && stop != lock);
    }

    #[test]
    fn a_published_row_has_all_columns() {
        let section = OVER_COMMIT.iter().flat_map(published_rows);
        assert!(section.into_iter().all(|row| row.len() == 13));
    }
}
