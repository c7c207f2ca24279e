//! Document 3's benchmark: threads that share an address space fault its pages in, each fault under
//! the address space's reader-writer semaphore, taken by a trylock. Here a fault is a page cleared.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use lockwright::platform::linux::Linux;
use lockwright::rwsem::RawRwSem;
use lockwright::rwsem::try_read::{AddAndUndo, AssumeFree, LoadFirst, Shape};
use serde_json::json;

use super::Options;
use super::exclusion::{self, NotExclusive};
use super::report::{Section, grouped};
use crate::stats;

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

/// What the threads of one run did.
struct Outcome {
    seconds: f64,
    /// Successes by their number of exchanges, less one.
    loops: [u64; LOOPS],
}

impl Outcome {
    fn successes(&self) -> u64 {
        self.loops.iter().sum()
    }

    fn exchanges_per_success(loops: &[u64; LOOPS]) -> f64 {
        let exchanges: u64 = loops.iter().zip(1..).map(|(n, exchanges)| n * exchanges).sum();
        exchanges as f64 / loops.iter().sum::<u64>().max(1) as f64
    }
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

/// `threads` threads share out `pages` faults.
fn run<S: Shape>(threads: usize, pages: usize) -> Outcome {
    let space = RawRwSem::<Linux>::new();
    let start = Barrier::new(threads + 1);
    let fault = |loops: &mut [u64; LOOPS]| {
        let attempt = space.try_down_read_by::<S>();
        if attempt.taken {
            loops[(attempt.exchanges as usize).clamp(1, LOOPS) - 1] += 1;
        } else {
            space.down_read();
        }
        let mut page = [0u8; PAGE];
        black_box(&mut page);
        // SAFETY: taken to read, in one way or the other.
        unsafe { space.up_read() };
    };
    let work = |pages: usize| {
        let mut loops = [0; LOOPS];
        start.wait();
        (0..pages).for_each(|_| fault(&mut loops));
        loops
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|index| pages / threads + usize::from(index < pages % threads))
            .map(|share| scope.spawn(move || work(share)))
            .collect();
        start.wait();
        let begin = Instant::now();
        let mut sum = [0; LOOPS];
        for worker in workers {
            let loops = worker.join().expect("it counts");
            sum.iter_mut().zip(loops).for_each(|(sum, n)| *sum += n);
        }
        Outcome { seconds: begin.elapsed().as_secs_f64(), loops: sum }
    })
}

/// All shapes with all numbers of threads, in turns.
///
/// # Errors
/// If one of the shapes does not exclude.
pub fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Section, NotExclusive> {
    if let Some(arm) = ARMS.iter().find(|arm| !(arm.excludes)()) {
        return Err(NotExclusive { lock: format!("rwsem, {}", arm.name) });
    }
    // A page takes some 50 ns: a run of a second where the over-commit's arms take five.
    let pages = (options.interval.as_secs_f64() * 4e6).max(1e4) as usize;
    let mut section = Section {
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
        rows: Vec::new(),
        notes: Vec::new(),
        json: json!([]),
    };
    let mut results = Vec::new();
    for threads in THREADS {
        let mut rounds: Vec<Vec<Outcome>> = ARMS.iter().map(|_| Vec::new()).collect();
        for round in 0..options.rounds {
            progress(&format!(
                "{NAME}, {threads} threads, round {} of {}",
                round + 1,
                options.rounds
            ));
            for (arm, outcomes) in ARMS.iter().zip(&mut rounds) {
                outcomes.push((arm.run)(threads, pages));
            }
        }
        for (arm, outcomes) in ARMS.iter().zip(&rounds) {
            let seconds: Vec<_> = outcomes.iter().map(|outcome| outcome.seconds).collect();
            let pairs = outcomes.iter().zip(&rounds[0]);
            let ratio = stats::estimate(
                &pairs.map(|(outcome, first)| outcome.seconds / first.seconds).collect::<Vec<_>>(),
            );
            let mut loops = [0; LOOPS];
            outcomes.iter().for_each(|outcome| {
                loops.iter_mut().zip(outcome.loops).for_each(|(sum, n)| *sum += n)
            });
            let per_success = Outcome::exchanges_per_success(&loops);
            let faults = (pages * outcomes.len()) as u64;
            section.rows.push(vec![
                arm.name.to_owned(),
                threads.to_string(),
                format!("{:.0}", stats::median(&seconds) * 1e3),
                format!("{:.3}", ratio.median),
                format!("{:.3} to {:.3}", ratio.low, ratio.high),
                format!("{per_success:.3}"),
                histogram(&loops),
            ]);
            results.push(json!({
                "shape": arm.name, "threads": threads, "seconds": seconds, "loops": loops,
                "failed": faults - outcomes.iter().map(Outcome::successes).sum::<u64>(),
                "ratio": ratio.median, "low": ratio.low, "high": ratio.high, "confidence": ratio.confidence,
            }));
        }
        if let Some((_, assume, load)) =
            PUBLISHED.iter().find(|(published, ..)| *published == threads)
        {
            for (name, ms, exchanges) in
                [("assume free", assume, "2.053"), ("load first", load, "1.016")]
            {
                section.rows.push(vec![
                    format!("  published, {name}"),
                    threads.to_string(),
                    grouped(*ms),
                    format!("{:.3}", *ms as f64 / *assume as f64),
                    String::new(),
                    if threads == 40 { exchanges.to_owned() } else { String::new() },
                    String::new(),
                ]);
            }
        }
    }
    section.notes.push(format!(
        "{} rounds, the shapes taking turns. By number of exchanges: successes that took 1, 2, 3, ... of them, all \
         rounds together. Published: Muchun Song's page faults on a Xeon E5-2650, where the kernel takes the \
         semaphore so; exchanges a success from the two histograms of the same mail.",
        options.rounds
    ));
    section.json = results.into();
    Ok(section)
}

/// The counts up to the last that is not 0.
fn histogram(loops: &[u64; LOOPS]) -> String {
    let used = loops.iter().rposition(|n| *n != 0).map_or(0, |last| last + 1);
    loops[..used].iter().map(|n| grouped(*n)).collect::<Vec<_>>().join(" ")
}
