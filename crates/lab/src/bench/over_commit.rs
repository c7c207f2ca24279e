//! Document 4's microbenchmark: as many threads as a machine has virtual CPUs lock and unlock as
//! fast as they can, where there are more virtual CPUs than real ones. A thread that is preempted
//! is a virtual CPU that is.

use std::cell::UnsafeCell;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::event::{Counted, Event, Events};
use lockwright::platform::linux::Linux;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use serde_json::json;

use super::Options;
use super::fault::Fault;
use super::report::{Section, grouped};
use crate::stats;

pub const NAME: &str = "over-commit";

type Host = Counted<Linux>;

/// Over-commit of the published run, in vCPUs of 36 cores, and its operations per thread: hybrid,
/// then unfair.
const PUBLISHED: [(f64, [u64; 3], [u64; 3]); 4] = [
    (1.0, [822_135, 881_063, 950_363], [75_570, 313_496, 690_465]),
    (1.5, [542_435, 581_664, 625_937], [35_460, 204_280, 457_172]),
    (2.0, [397_500, 428_177, 499_299], [17_933, 150_679, 708_001]),
    (3.0, [257_898, 288_150, 340_871], [3_085, 181_176, 1_257_109]),
];

/// A way to lock.
struct Arm {
    name: &'static str,
    /// None: it does not exclude.
    run: fn(usize, Duration) -> Option<Outcome>,
}

/// What the threads of one run did.
#[derive(Clone)]
struct Outcome {
    /// Operations of each thread.
    operations: Vec<u64>,
    events: Events,
}

impl Outcome {
    fn total(&self) -> f64 {
        self.operations.iter().sum::<u64>() as f64
    }

    fn min(&self) -> u64 {
        self.operations.iter().copied().min().unwrap_or(0)
    }

    fn max(&self) -> u64 {
        self.operations.iter().copied().max().unwrap_or(0)
    }

    fn mean(&self) -> u64 {
        (self.total() / self.operations.len() as f64) as u64
    }

    fn fairness(&self) -> f64 {
        self.min() as f64 / self.max().max(1) as f64
    }

    /// Acquisitions after a wait in the queue.
    fn queued(&self) -> u64 {
        self.events.get(Event::LockSlowpath) as u64
    }

    /// Acquisitions ahead of the queue.
    fn unfair(&self) -> u64 {
        self.events.get(Event::PvLockStealing) as u64
    }

    fn unfair_share(&self) -> f64 {
        self.unfair() as f64 / (self.unfair() + self.queued()).max(1) as f64
    }
}

/// A counter that its lock protects.
struct Protected<L> {
    lock: L,
    counter: UnsafeCell<u64>,
}

// SAFETY: the counter is reached under the lock; `run` compares it in the end.
unsafe impl<L: Sync> Sync for Protected<L> {}

/// `threads` threads lock for `interval`. None: the lock does not exclude.
fn run<L: Sync>(
    lock: L,
    locked: fn(&L, &mut dyn FnMut()),
    threads: usize,
    interval: Duration,
) -> Option<Outcome> {
    let shared = Protected { lock, counter: UnsafeCell::new(0) };
    let (stop, start) = (AtomicBool::new(false), Barrier::new(threads + 1));
    let before = Events::of::<Host>();
    let operations: Vec<u64> = thread::scope(|scope| {
        let work = || {
            let shared = &shared;
            start.wait();
            let mut operations = 0;
            // Relaxed: it orders nothing.
            while !stop.load(Relaxed) {
                locked(&shared.lock, &mut || {
                    // SAFETY: the lock is held.
                    unsafe { *shared.counter.get() += 1 }
                });
                operations += 1;
            }
            operations
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        start.wait();
        thread::sleep(interval);
        stop.store(true, Relaxed);
        workers.into_iter().map(|worker| worker.join().expect("it counts")).collect()
    });
    let excludes = shared.counter.into_inner() == operations.iter().sum::<u64>();
    excludes.then(|| Outcome { operations, events: Events::of::<Host>().since(&before) })
}

/// The arm of a lock.
macro_rules! arm {
    ($name:literal, $lock:ty) => {
        Arm {
            name: $name,
            run: |threads, interval| {
                let locked = |lock: &$lock, section: &mut dyn FnMut()| {
                    lock.lock();
                    section();
                    // SAFETY: taken above.
                    unsafe { lock.unlock() }
                };
                run(<$lock>::new_in(), locked, threads, interval)
            },
        }
    };
}

const ARMS: [Arm; 3] = [
    arm!("hybrid", RawPvQspinlock<Host, Hybrid>),
    arm!("unfair", RawPvQspinlock<Host, Unfair>),
    arm!("single steal", RawPvQspinlock<Host, SingleSteal>),
];

/// All arms at all degrees of over-commit, in turns; of each the round with the median total.
///
/// # Errors
/// If one of the locks does not exclude.
pub fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Section, Fault> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let mut section = Section {
        title: format!(
            "Over-commit: operations per thread in {:?}, on {cpus} CPUs",
            options.interval
        ),
        columns: vec![
            "lock",
            "threads",
            "min",
            "average",
            "max",
            "min/max",
            "total",
            "against unfair",
            "interval",
            "queued",
            "unfair mode",
        ],
        rows: Vec::new(),
        notes: Vec::new(),
        json: json!([]),
    };
    let mut results = Vec::new();
    for (times, hybrid, unfair) in PUBLISHED {
        let threads = (cpus as f64 * times).ceil() as usize;
        let mut rounds: Vec<Vec<Outcome>> = ARMS.iter().map(|_| Vec::new()).collect();
        for round in 0..options.rounds {
            progress(&format!("{NAME} {times}x, round {} of {}", round + 1, options.rounds));
            for (arm, outcomes) in ARMS.iter().zip(&mut rounds) {
                let outcome = (arm.run)(threads, options.interval);
                outcomes.push(outcome.ok_or_else(|| Fault::not_exclusive(arm.name))?);
            }
        }
        for (arm, outcomes) in ARMS.iter().zip(&rounds) {
            let pairs = outcomes.iter().zip(&rounds[1]);
            let ratios: Vec<_> =
                pairs.map(|(outcome, unfair)| outcome.total() / unfair.total().max(1.0)).collect();
            let ratio = stats::estimate(&ratios);
            let mut sorted = outcomes.clone();
            sorted.sort_by(|a, b| a.total().total_cmp(&b.total()));
            let middle = &sorted[sorted.len() / 2];
            section.rows.push(vec![
                arm.name.to_owned(),
                format!("{threads} ({times}x)"),
                grouped(middle.min()),
                grouped(middle.mean()),
                grouped(middle.max()),
                format!("{:.3}", middle.fairness()),
                grouped(middle.total() as u64),
                format!("{:.2}", ratio.median),
                format!("{:.2} to {:.2}", ratio.low, ratio.high),
                grouped(middle.queued()),
                format!("{:.1} %", 100.0 * middle.unfair_share()),
            ]);
            results.push(json!({
                "lock": arm.name, "over_commit": times, "threads": threads,
                "operations": outcomes.iter().map(|outcome| &outcome.operations).collect::<Vec<_>>(),
                "queued": outcomes.iter().map(Outcome::queued).collect::<Vec<_>>(),
                "unfair": outcomes.iter().map(Outcome::unfair).collect::<Vec<_>>(),
            }));
        }
        for (name, [min, average, max]) in [("hybrid", hybrid), ("unfair", unfair)] {
            let vcpus = (36.0 * times) as u64;
            let ratio = average as f64 / unfair[1] as f64;
            section.rows.push(vec![
                format!("  published, {name}"),
                format!("{vcpus} ({times}x)"),
                grouped(min),
                grouped(average),
                grouped(max),
                format!("{:.3}", min as f64 / max as f64),
                grouped(average * vcpus),
                format!("{ratio:.2}"),
                String::new(),
                String::new(),
                String::new(),
            ]);
        }
    }
    section.notes.push(format!(
        "{} rounds, the locks taking turns; the round of the median total, and the median of the rounds' ratios of \
         totals. Queued: acquisitions after a wait in the queue; unfair mode: the share of those taken ahead of it \
         among both. Published: Waiman Long's 5 s on 36 cores (E5-2699 v3).",
        options.rounds
    ));
    section.json = results.into();
    Ok(section)
}
