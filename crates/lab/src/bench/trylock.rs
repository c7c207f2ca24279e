//! Document 3's benchmark: threads that share an address space fault its pages in, each fault under
//! the address space's reader-writer semaphore, taken by a trylock. Here a fault is a page cleared.

use std::hint::black_box;

use lockwright::platform::linux::Linux;
use lockwright::rwsem::RawRwSem;
use lockwright::rwsem::try_read::{AddAndUndo, AssumeFree, Attempt, LoadFirst, Shape};
use serde::Serialize;
use serde_json::json;

use super::exclusion;
use super::fault::Fault;
use super::report::{Section, grouped};
use super::workers::{self, Padded, Times};
use super::{Options, rounds};
use crate::stats::{self, Estimate};

pub const NAME: &str = "trylock";

const PAGE: usize = 4096;

/// Published times (milliseconds) of a kernel that assumes the lock free, and of one that loads
/// first.
const PUBLISHED: [(usize, u64, u64); 3] =
    [(1, 65_373, 65_206), (4, 15_467, 15_378), (40, 6_214, 5_528)];

/// Threads: those published, and between.
const THREADS: [usize; 6] = [1, 2, 4, 8, 16, 40];

/// Exchanges of a success that the histogram tells apart; more count as the last.
const LOOPS: usize = 16;

struct Arm {
    name: &'static str,
    run: fn(usize, usize) -> Outcome,
    excludes: fn() -> bool,
}

/// Successes by their number of exchanges, less one.
type Histogram = [u64; LOOPS];

/// What the threads of one run did.
#[derive(Serialize)]
struct Outcome {
    times: Times,
    exchanges: Histogram,
    /// Attempts that did not get the lock.
    failed: u64,
}

const ARMS: [Arm; 3] = [
    Arm { name: "assume free", run: run::<AssumeFree>, excludes: excludes::<AssumeFree> },
    Arm { name: "load first", run: run::<LoadFirst>, excludes: excludes::<LoadFirst> },
    Arm { name: "add and undo", run: run::<AddAndUndo>, excludes: excludes::<AddAndUndo> },
];

/// Whether writers have the lock without those who get it by trying.
fn excludes<S: Shape>() -> bool {
    let space = RawRwSem::<Linux>::new();
    let write = |section: exclusion::Section<'_>| {
        space.down_write();
        section();
        // SAFETY: taken above.
        unsafe { space.up_write() };
    };
    let read = |section: exclusion::Section<'_>| {
        if space.try_down_read_by::<S>().taken {
            section();
            // SAFETY: taken above.
            unsafe { space.up_read() };
        }
    };
    exclusion::excludes_readers(&write, &read)
}

/// What one thread has tried.
#[derive(Default)]
struct Tried {
    exchanges: Histogram,
    failed: u64,
}

impl Tried {
    fn count(&mut self, attempt: Attempt) {
        if attempt.taken {
            self.exchanges[(attempt.exchanges as usize).clamp(1, LOOPS) - 1] += 1;
        } else {
            self.failed += 1;
        }
    }
}

/// `threads` threads share out `pages` faults.
fn run<S: Shape>(threads: usize, pages: usize) -> Outcome {
    let space = Padded(RawRwSem::<Linux>::new());
    let fault = |tried: &mut Tried| {
        let attempt = space.0.try_down_read_by::<S>();
        tried.count(attempt);
        if !attempt.taken {
            space.0.down_read();
        }
        let mut page = [0u8; PAGE];
        black_box(&mut page);
        // SAFETY: taken to read, in one way or the other.
        unsafe { space.0.up_read() };
    };
    let work = |index: usize| {
        let mut tried = Tried::default();
        let share = pages / threads + usize::from(index < pages % threads);
        (0..share).for_each(|_| fault(&mut tried));
        tried
    };
    let (times, tried) = workers::run(threads, work, || ());
    Outcome {
        times,
        exchanges: sum(tried.iter().map(|one| &one.exchanges)),
        failed: tried.iter().map(|one| one.failed).sum(),
    }
}

/// All rounds of a shape at a number of threads.
#[derive(Serialize)]
struct Row {
    shape: &'static str,
    threads: usize,
    /// Pages that all threads together cleared in each round.
    pages: usize,
    rounds: Vec<Outcome>,
    /// Of times, to those of the first arm.
    ratio: Estimate,
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let seconds: Vec<_> = self.rounds.iter().map(|one| one.times.seconds()).collect();
        let exchanges = sum(self.rounds.iter().map(|one| &one.exchanges));
        vec![
            self.shape.to_owned(),
            self.threads.to_string(),
            format!("{:.0}", stats::median(&seconds) * 1e3),
            format!("{:.3}", self.ratio.median),
            format!("{:.3} to {:.3}", self.ratio.low, self.ratio.high),
            format!("{:.3}", per_success(&exchanges)),
            histogram(&exchanges),
        ]
    }
}

/// The published rows of a number of threads.
fn published(threads: usize) -> Vec<Vec<String>> {
    let Some((_, assume, load)) = PUBLISHED.iter().find(|(published, ..)| *published == threads)
    else {
        return Vec::new();
    };
    let row = |(name, ms, exchanges): (&str, &u64, &str)| {
        vec![
            format!("  published, {name}"),
            threads.to_string(),
            grouped(*ms),
            format!("{:.3}", *ms as f64 / *assume as f64),
            String::new(),
            if threads == 40 { exchanges.to_owned() } else { String::new() },
            String::new(),
        ]
    };
    [("assume free", assume, "2.053"), ("load first", load, "1.016")].map(row).into()
}

/// All shapes with all numbers of threads, in turns.
///
/// # Errors
/// If figures are not to be believed.
pub fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Section, Fault> {
    if let Some(arm) = ARMS.iter().find(|arm| !(arm.excludes)()) {
        return Err(Fault::not_exclusive(&format!("rwsem, {}", arm.name)));
    }
    // A page takes some 50 ns: a run of a second where the over-commit's arms take five.
    let pages = (options.interval.as_secs_f64() * 4e6).max(1e4) as usize;
    let mut results = Vec::new();
    let mut cells = Vec::new();
    for threads in THREADS {
        let rows = measure_at(threads, pages, options.rounds, progress)?;
        cells.extend(rows.iter().map(Row::cells).chain(published(threads)));
        results.extend(rows);
    }
    Ok(Section {
        title: format!(
            "down_read_trylock in its shapes: {} pages cleared under one rwsem",
            grouped(pages as u64)
        ),
        columns: vec![
            "shape",
            "threads",
            "ms",
            "against assume free",
            "interval",
            "exchanges a success",
            "by number of exchanges",
        ],
        rows: cells,
        notes: vec![format!(
            "{} rounds, the shapes taking turns. By number of exchanges: successes that took 1, 2, 3, ... of them,              all rounds together. Published: Muchun Song's page faults on a Xeon E5-2650, where the kernel takes the              semaphore so; exchanges a success from the two histograms of the same mail.",
            options.rounds
        )],
        json: json!(results),
    })
}

fn measure_at(
    threads: usize,
    pages: usize,
    rounds: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Row>, Fault> {
    let outcomes = rounds::in_turns(&ARMS, rounds, |round, arm| {
        progress(&format!("{NAME}, {threads} threads, round {round} of {rounds}"));
        let outcome = (arm.run)(threads, pages);
        outcome.times.check(&format!("{}, {threads} threads", arm.name))?;
        Ok(outcome)
    })?;
    let seconds = |outcome: &Outcome| outcome.times.seconds();
    let ratios: Vec<_> =
        outcomes.iter().map(|of| rounds::against(&outcomes[0], of, seconds)).collect();
    let rows = ARMS.iter().zip(outcomes).zip(ratios);
    Ok(rows
        .map(|((arm, rounds), ratio)| Row { shape: arm.name, threads, pages, rounds, ratio })
        .collect())
}

fn sum<'h>(histograms: impl Iterator<Item = &'h Histogram>) -> Histogram {
    let mut sum = [0; LOOPS];
    histograms.for_each(|one| sum.iter_mut().zip(one).for_each(|(sum, n)| *sum += n));
    sum
}

/// Exchanges for each success.
fn per_success(successes: &Histogram) -> f64 {
    let exchanges: u64 = successes.iter().zip(1..).map(|(n, exchanges)| n * exchanges).sum();
    exchanges as f64 / successes.iter().sum::<u64>().max(1) as f64
}

/// The counts up to the last that is not 0.
fn histogram(successes: &Histogram) -> String {
    let used = successes.iter().rposition(|n| *n != 0).map_or(0, |last| last + 1);
    successes[..used].iter().map(|n| grouped(*n)).collect::<Vec<_>>().join(" ")
}
