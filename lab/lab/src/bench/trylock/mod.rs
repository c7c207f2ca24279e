//! The benchmark of Long's 2021 rwsem patch: threads that share an address space fault its pages
//! in, each fault under the address space's reader-writer semaphore, taken by a trylock.
//!
//! In two ways: with nothing but a page cleared under a semaphore of ours, and with page faults of a
//! mapping under it. The kernel takes its own semaphore in those, or none where it has locks for
//! parts of an address space.

mod histogram;
mod work;

use lockwright::platform::linux::Linux;
use lockwright::rwsem::RawRwSem;
use lockwright::rwsem::try_read::{AddAndUndo, AssumeFree, LoadFirst, Shape};
use serde::Serialize;
use serde_json::json;

use super::exclusion;
use super::fault::Fault;
use super::published::{self, TRYLOCK};
use super::report::{Section, grouped};
use super::workers::{self, Padded, Times};
use super::{Options, rounds};
use histogram::Histogram;
use lockwright_measure::stats::{self, Estimate};
use work::{PageFaults, Work};

pub const NAME: &str = "trylock";

/// A kind of work, and how much of it is measured.
struct Kind {
    /// What is done, for a title.
    what: &'static str,
    /// Threads: those published, and between.
    threads: &'static [usize],
    /// Pages for each second of [`Options::interval`], such that a run takes about a fifth of it.
    pages_a_second: f64,
    /// More than these take too much memory.
    most_pages: usize,
    arms: [Arm; 3],
}

/// A shape of the trylock.
struct Arm {
    name: &'static str,
    run: fn(usize, usize) -> Outcome,
}

const fn arms<W: Work>() -> [Arm; 3] {
    [
        Arm { name: "assume free", run: run::<AssumeFree, W> },
        Arm { name: "load first", run: run::<LoadFirst, W> },
        Arm { name: "add and undo", run: run::<AddAndUndo, W> },
    ]
}

const KINDS: [Kind; 2] = [
    Kind {
        what: "pages cleared",
        threads: &[1, 2, 4, 8, 16, 40],
        pages_a_second: 4e6,
        most_pages: usize::MAX,
        arms: arms::<work::Clear>(),
    },
    Kind {
        what: "page faults of one mapping, each",
        threads: &[1, 4, 40],
        pages_a_second: 1e5,
        most_pages: 1 << 17,
        arms: arms::<work::Fault>(),
    },
];

/// What the threads of one run did.
#[derive(Serialize)]
struct Outcome {
    times: Times,
    exchanges: Histogram,
    /// Attempts that did not get the lock.
    failed: u64,
    /// Page faults of the process meanwhile.
    page_faults: PageFaults,
}

/// Whether writers have the lock without those who get it by trying.
fn excludes<S: Shape>() -> bool {
    let space = RawRwSem::<Linux>::new();
    let write = |section: exclusion::Section<'_>| {
        space.down_write();
        section();
        // SAFETY: `down_write` above took `space` for this thread.
        unsafe { space.up_write() };
    };
    let read = |section: exclusion::Section<'_>| {
        if space.try_down_read_by::<S>().taken {
            section();
            // SAFETY: `taken` is true, so this thread took `space` to read.
            unsafe { space.up_read() };
        }
    };
    exclusion::excludes_readers(&write, &read)
}

/// `threads` threads share out `pages` pages, each a stretch of its own.
fn run<S: Shape, W: Work>(threads: usize, pages: usize) -> Outcome {
    let (space, work) = (Padded(RawRwSem::<Linux>::new()), W::new(pages));
    let share = |index: usize| {
        let (mut exchanges, mut failed) = (Histogram::default(), 0);
        for page in pages * index / threads..pages * (index + 1) / threads {
            let attempt = space.0.try_down_read_by::<S>();
            if attempt.taken {
                exchanges.add(attempt.exchanges as usize, 1);
            } else {
                failed += 1;
                space.0.down_read();
            }
            work.page(page);
            // SAFETY: taken to read, in one way or the other.
            unsafe { space.0.up_read() };
        }
        (exchanges, failed)
    };
    let before = PageFaults::now();
    let (times, shares) = workers::run(threads, share, || ());
    Outcome {
        times,
        exchanges: Histogram::sum(shares.iter().map(|(exchanges, _)| exchanges)),
        failed: shares.iter().map(|(_, failed)| failed).sum(),
        page_faults: PageFaults::now().since(before),
    }
}

/// All rounds of a shape at a number of threads.
#[derive(Serialize)]
pub struct Row {
    pub shape: &'static str,
    pub threads: usize,
    /// Pages that all threads together worked on in each round.
    pub pages: usize,
    rounds: Vec<Outcome>,
    /// Times, divided by those of the first arm.
    pub ratio: Estimate,
}

impl Row {
    /// Exchanges for each success, of each round.
    pub fn exchanges(&self) -> Estimate {
        stats::estimate(&self.rounds.iter().map(|one| one.exchanges.mean()).collect::<Vec<_>>())
    }

    /// Successes without an exchange, of all rounds.
    pub fn without_exchange(&self) -> u64 {
        self.rounds.iter().map(|one| one.exchanges.without()).sum()
    }

    /// [`Row::exchanges`] over that of `base` in the same rounds.
    pub fn exchanges_against(&self, base: &Self) -> Estimate {
        let pairs = self.rounds.iter().zip(&base.rounds);
        let ratios = pairs.map(|(of, base)| of.exchanges.mean() / base.exchanges.mean());
        stats::estimate(&ratios.collect::<Vec<_>>())
    }

    fn cells(&self) -> Vec<String> {
        let seconds: Vec<_> = self.rounds.iter().map(|one| one.times.seconds()).collect();
        let cpu: Vec<_> = self.rounds.iter().map(|one| one.times.cpu_ns as f64 / 1e9).collect();
        let exchanges = Histogram::sum(self.rounds.iter().map(|one| &one.exchanges));
        vec![
            self.shape.to_owned(),
            self.threads.to_string(),
            format!("{:.0}", stats::median(&seconds) * 1e3),
            format!("{:.0}", stats::median(&cpu) * 1e3),
            format!("{:.3}", self.ratio.median),
            format!("{:.3} to {:.3}", self.ratio.low, self.ratio.high),
            format!("{:.3}", exchanges.mean()),
            grouped(self.rounds.iter().map(|one| one.failed).sum()),
            exchanges.text(),
        ]
    }
}

/// All shapes of one kind of work.
pub struct Measured {
    /// What is done.
    pub what: &'static str,
    /// For people.
    pub section: Section,
    pub rows: Vec<Row>,
}

const COLUMNS: [&str; 9] = [
    "shape",
    "threads",
    "ms",
    "CPU ms",
    "against assume free",
    "interval",
    "exchanges a success",
    "failed",
    "by number of exchanges",
];

/// The published rows of a number of threads.
fn published_rows(threads: usize) -> Vec<Vec<String>> {
    let Some(of) = TRYLOCK.iter().find(|of| of.threads == threads) else { return Vec::new() };
    let row = |(name, shape): (&str, &published::Shape)| {
        let histogram = Histogram::from(shape.exchanges);
        let known = |text: String| if shape.exchanges.is_empty() { String::new() } else { text };
        vec![
            format!("  published, {name}"),
            threads.to_string(),
            grouped(shape.ms),
            String::new(),
            format!("{:.3}", shape.ms as f64 / of.assume_free.ms as f64),
            String::new(),
            known(format!("{:.3}", histogram.mean())),
            String::new(),
            known(histogram.text()),
        ]
    };
    [("assume free", &of.assume_free), ("load first", &of.load_first)].map(row).into()
}

/// All shapes with all numbers of threads, in turns, for each kind of work.
///
/// # Errors
/// If figures are not to be believed.
pub fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Vec<Measured>, Fault> {
    let tests = [excludes::<AssumeFree>, excludes::<LoadFirst>, excludes::<AddAndUndo>];
    if let Some((arm, _)) = KINDS[0].arms.iter().zip(tests).find(|(_, excludes)| !excludes()) {
        return Err(Fault::not_exclusive(&format!("rwsem, {}", arm.name)));
    }
    KINDS.iter().map(|kind| measure_kind(kind, options, progress)).collect()
}

fn measure_kind(
    kind: &Kind,
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<Measured, Fault> {
    let pages = (options.interval.as_secs_f64() * kind.pages_a_second).max(1e4) as usize;
    let pages = pages.min(kind.most_pages);
    let (mut results, mut cells) = (Vec::new(), Vec::new());
    for threads in kind.threads {
        let rows = measure_at(kind, *threads, pages, options.rounds, progress)?;
        cells.extend(rows.iter().map(Row::cells).chain(published_rows(*threads)));
        results.extend(rows);
    }
    let mut section = Section {
        title: format!(
            "down_read_trylock in its shapes: {} {} under one rwsem",
            grouped(pages as u64),
            kind.what
        ),
        columns: COLUMNS.to_vec(),
        rows: cells,
        notes: vec![format!(
            "{} rounds, the shapes taking turns. By number of exchanges: successes that took 1, 2, 3, ... of them, \
             all rounds together. Published: Muchun Song's page faults on a Xeon E5-2650, where the kernel takes the \
             semaphore so, and the two histograms of the same mail.",
            options.rounds
        )],
        json: json!(results),
    };
    let all = results.iter().flat_map(|row| &row.rounds);
    section.notes.extend(workers::disturbed(all.map(|round| &round.times)));
    Ok(Measured { what: kind.what, section, rows: results })
}

fn measure_at(
    kind: &Kind,
    threads: usize,
    pages: usize,
    rounds: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Row>, Fault> {
    let outcomes = rounds::in_turns(&kind.arms, rounds, |round, arm| {
        progress(&format!("{NAME}, {}, {threads} threads, round {round} of {rounds}", kind.what));
        let outcome = (arm.run)(threads, pages);
        outcome.times.check(&format!("{}, {threads} threads", arm.name))?;
        Ok(outcome)
    })?;
    let seconds = |outcome: &Outcome| outcome.times.seconds();
    let ratios: Vec<_> =
        outcomes.iter().map(|of| rounds::against(&outcomes[0], of, seconds)).collect();
    let rows = kind.arms.iter().zip(outcomes).zip(ratios);
    Ok(rows
        .map(|((arm, rounds), ratio)| Row { shape: arm.name, threads, pages, rounds, ratio })
        .collect())
}
