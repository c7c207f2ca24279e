//! Locks that sleep where threads outnumber CPUs: what many threads get done under one lock in a
//! time.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::platform::linux::Linux;
use serde::Serialize;
use serde_json::json;

use super::fault::Fault;
use super::protected::Counter;
use super::report::{Section, grouped};
use super::workers::{self, Padded, Times};
use super::{Options, glibc, rounds};
use crate::stats::{self, Estimate};

pub const NAME: &str = "many threads";

const THREADS: [usize; 2] = [8, 32];

/// Trivial steps of a section: each a store that no compiler leaves out.
const STEPS: [u32; 3] = [1000, 100, 0];

/// A lock and its name.
struct Arm {
    name: &'static str,
    /// What `threads` threads did; none: it does not exclude.
    run: fn(usize, u32, Duration) -> Option<Outcome>,
}

/// What the threads of one run did.
#[derive(Serialize)]
struct Outcome {
    acquisitions: u64,
    times: Times,
}

impl Outcome {
    /// Acquisitions a second.
    fn rate(&self) -> f64 {
        self.acquisitions as f64 / self.times.seconds()
    }
}

/// `threads` threads take the lock for `interval`, for `steps` each time.
fn run(
    locked: impl Fn(&dyn Fn()) + Sync,
    threads: usize,
    steps: u32,
    interval: Duration,
) -> Option<Outcome> {
    let (counter, stop) = (Counter::new(), Padded(AtomicBool::new(false)));
    let work = |_| {
        let mut acquisitions = 0;
        // Relaxed: it orders nothing.
        while !stop.0.load(Relaxed) {
            locked(&|| {
                (0..steps).for_each(|step| {
                    black_box(step);
                });
                counter.increment();
            });
            acquisitions += 1;
        }
        acquisitions
    };
    let (times, acquisitions) = workers::run(threads, work, || {
        thread::sleep(interval);
        stop.0.store(true, Relaxed);
    });
    let acquisitions = acquisitions.into_iter().sum();
    (counter.into_inner() == acquisitions).then_some(Outcome { acquisitions, times })
}

/// An arm: an expression that makes the lock, and statements that run a section under it.
macro_rules! arm {
    ($name:literal, $lock:expr, |$by:ident, $section:ident| $pair:block) => {
        Arm {
            name: $name,
            run: |threads, steps, interval| {
                let lock = $lock;
                let $by = &lock;
                run(|$section| $pair, threads, steps, interval)
            },
        }
    };
}

/// The first is what the others are compared with.
const ARMS: &[Arm] = &[
    arm!("std Mutex", std::sync::Mutex::new(()), |lock, section| {
        let _guard = lock.lock();
        section();
    }),
    arm!("glibc pthread_mutex", glibc::mutex(), |lock, section| { lock.locked(section) }),
    arm!("parking_lot Mutex", parking_lot::Mutex::new(()), |lock, section| {
        let _guard = lock.lock();
        section();
    }),
    arm!("hybrid mutex", lockwright::hybrid_mutex::RawHybridMutex::new(), |lock, section| {
        lock.lock();
        section();
        // SAFETY: taken above.
        unsafe { lock.unlock() }
    }),
    arm!("mutex", lockwright::mutex::RawMutex::new(), |lock, section| {
        lock.lock();
        section();
        // SAFETY: taken above.
        unsafe { lock.unlock() }
    }),
    arm!("ww_mutex", lockwright::ww_mutex::RawWwMutex::<Linux>::new_in(), |lock, section| {
        // SAFETY: without a context.
        black_box(unsafe { lock.lock(None) }).ok();
        section();
        // SAFETY: taken above: without a context nothing is refused.
        unsafe { lock.unlock() }
    }),
    arm!("rwsem, write", lockwright::rwsem::RawRwSem::new(), |lock, section| {
        lock.down_write();
        section();
        // SAFETY: taken above.
        unsafe { lock.up_write() }
    }),
    arm!("rtmutex", lockwright::rtmutex::RawRtMutex::new(), |lock, section| {
        lock.lock();
        section();
        // SAFETY: taken above.
        unsafe { lock.unlock() }
    }),
    arm!("semaphore", lockwright::semaphore::RawSemaphore::new(1), |lock, section| {
        lock.down();
        section();
        lock.up();
    }),
];

/// All rounds of a lock at a number of threads and a length of sections.
#[derive(Serialize)]
struct Row {
    lock: &'static str,
    threads: usize,
    steps: u32,
    rounds: Vec<Outcome>,
    /// Of acquisitions a second, to those of the first arm.
    ratio: Estimate,
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let acquisitions: Vec<_> = self.rounds.iter().map(|one| one.acquisitions as f64).collect();
        vec![
            self.lock.to_owned(),
            self.threads.to_string(),
            self.steps.to_string(),
            grouped(stats::median(&acquisitions) as u64),
            format!("{:.2}", self.ratio.median),
            format!("{:.2} to {:.2}", self.ratio.low, self.ratio.high),
        ]
    }
}

/// All locks with all numbers of threads and lengths of sections, in turns. None if none is wanted.
///
/// # Errors
/// If figures are not to be believed.
pub fn measure(
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<Option<Section>, Fault> {
    if !options.wants(NAME) {
        return Ok(None);
    }
    // A tenth of what the over-commit's arms take, of which there are as many fewer.
    let interval = options.interval / 10;
    let mut rows = Vec::new();
    for threads in THREADS {
        for steps in STEPS {
            progress(&format!("{NAME}, {threads} threads, {steps} steps"));
            rows.extend(measure_at(threads, steps, interval, options.rounds)?);
        }
    }
    Ok(Some(Section {
        title: format!("Many threads at one lock: acquisitions in {interval:?}"),
        columns: vec!["lock", "threads", "steps held", "acquisitions", "against std", "interval"],
        rows: rows.iter().map(Row::cells).collect(),
        notes: vec![format!(
            "{} rounds, the locks taking turns; medians, and the median of the rounds' ratios to std's in the same turn.",
            options.rounds
        )],
        json: json!(rows),
    }))
}

fn measure_at(
    threads: usize,
    steps: u32,
    interval: Duration,
    rounds: usize,
) -> Result<Vec<Row>, Fault> {
    let outcomes = rounds::in_turns(ARMS, rounds, |_, arm| {
        let outcome = (arm.run)(threads, steps, interval);
        let outcome = outcome.ok_or_else(|| Fault::not_exclusive(arm.name))?;
        outcome.times.check(arm.name)?;
        Ok(outcome)
    })?;
    let ratios: Vec<_> =
        outcomes.iter().map(|of| rounds::against(&outcomes[0], of, Outcome::rate)).collect();
    let rows = ARMS.iter().zip(outcomes).zip(ratios);
    Ok(rows
        .map(|((arm, rounds), ratio)| Row { lock: arm.name, threads, steps, rounds, ratio })
        .collect())
}
