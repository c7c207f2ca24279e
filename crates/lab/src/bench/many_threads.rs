//! Locks that sleep where threads outnumber CPUs: what many threads get done under one lock in a
//! time.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use lockwright::platform::linux::Linux;
use serde_json::json;

use super::exclusion::NotExclusive;
use super::report::{Section, grouped};
use super::{Options, glibc};
use crate::stats;

pub const NAME: &str = "many threads";

const THREADS: [usize; 2] = [8, 32];

/// Trivial steps of a section: each a store that no compiler leaves out.
const STEPS: [u32; 3] = [1000, 100, 0];

/// A lock and its name.
struct Arm {
    name: &'static str,
    /// Acquisitions of `threads` threads; none: it does not exclude.
    run: fn(usize, u32, Duration) -> Option<u64>,
}

struct Counter(UnsafeCell<u64>);

// SAFETY: reached under the lock; `run` compares it in the end.
unsafe impl Sync for Counter {}

/// `threads` threads take the lock for `interval`, for `steps` each time.
fn run(
    locked: impl Fn(&dyn Fn()) + Sync,
    threads: usize,
    steps: u32,
    interval: Duration,
) -> Option<u64> {
    let counter = &Counter(UnsafeCell::new(0));
    let (stop, start) = (&AtomicBool::new(false), &Barrier::new(threads + 1));
    let locked = &locked;
    let work = move || {
        start.wait();
        let mut acquisitions = 0;
        // Relaxed: it orders nothing.
        while !stop.load(Relaxed) {
            locked(&|| {
                (0..steps).for_each(|step| {
                    black_box(step);
                });
                // SAFETY: the lock is held.
                unsafe { *counter.0.get() += 1 };
            });
            acquisitions += 1;
        }
        acquisitions
    };
    let total: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        start.wait();
        thread::sleep(interval);
        stop.store(true, Relaxed);
        workers.into_iter().map(|worker| worker.join().expect("it counts")).sum()
    });
    // SAFETY: all threads have ended.
    (unsafe { *counter.0.get() } == total).then_some(total)
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

/// All locks with all numbers of threads and lengths of sections, in turns. None if none is wanted.
///
/// # Errors
/// If one of the locks does not exclude.
pub fn measure(
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<Option<Section>, NotExclusive> {
    if !options.wants(NAME) {
        return Ok(None);
    }
    // A tenth of what the over-commit's arms take, of which there are as many fewer.
    let interval = options.interval / 10;
    let mut section = Section {
        title: format!("Many threads at one lock: acquisitions in {interval:?}"),
        columns: vec!["lock", "threads", "steps held", "acquisitions", "against std", "interval"],
        rows: Vec::new(),
        notes: Vec::new(),
        json: json!([]),
    };
    let mut results = Vec::new();
    for threads in THREADS {
        for steps in STEPS {
            progress(&format!("{NAME}, {threads} threads, {steps} steps"));
            let mut totals = vec![Vec::new(); ARMS.len()];
            for _ in 0..options.rounds {
                for (arm, totals) in ARMS.iter().zip(&mut totals) {
                    let total = (arm.run)(threads, steps, interval);
                    let missing = || NotExclusive { lock: arm.name.to_owned() };
                    totals.push(total.ok_or_else(missing)? as f64);
                }
            }
            for (arm, of_arm) in ARMS.iter().zip(&totals) {
                let pairs = of_arm.iter().zip(&totals[0]);
                let ratios: Vec<_> = pairs.map(|(total, std)| total / std.max(1.0)).collect();
                let ratio = stats::estimate(&ratios);
                section.rows.push(vec![
                    arm.name.to_owned(),
                    threads.to_string(),
                    steps.to_string(),
                    grouped(stats::median(of_arm) as u64),
                    format!("{:.2}", ratio.median),
                    format!("{:.2} to {:.2}", ratio.low, ratio.high),
                ]);
                results.push(json!({
                    "lock": arm.name, "threads": threads, "steps": steps, "acquisitions": of_arm,
                    "ratio": ratio.median, "low": ratio.low, "high": ratio.high,
                    "confidence": ratio.confidence,
                }));
            }
        }
    }
    section.notes.push(format!(
        "{} rounds, the locks taking turns; medians, and the median of the rounds' ratios to std's in the same turn.",
        options.rounds
    ));
    section.json = results.into();
    Ok(Some(section))
}
