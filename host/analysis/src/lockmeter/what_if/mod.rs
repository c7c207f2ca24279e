//! What a remedy would bring: the recorded holds and waits of a lock are replayed on a simulated machine, without the remedy
//! and with it.
//!
//! The model has to show first that it knows the program: without the remedy, its waits must be those that were measured
//! ([`calibrate`]). What the ledger does not say (how evenly threads come, how fast a waiter wakes up) is tried in several
//! ways. Those ways that agree with the measurement each make predictions, and the interval holds nearly all of these.

mod answer;
mod calibrate;
mod holds;
mod known;
mod machine;
mod why;
mod workload;

use fastrand::Rng;

use super::model::{At, MeterReport};
pub use answer::{Change, Estimate, Remedy};
pub use calibrate::{CHANCE_MISS, RATE_MISS, WAIT_MISS};
use calibrate::{Fitted, calibrate};
pub use known::Known;
use machine::{Limits, Workload, simulate};
pub use why::Why;
use workload::{Described, describe};

/// Predictions that are made.
const DRAWS: u64 = 24;
const LIMITS: Limits = Limits { waits: 2_500, acquisitions: 12_000 };
/// Calls that wait for storage.
const STORAGE: [&str; 3] = ["fsync", "fdatasync", "msync"];
/// Most of their time that threads wait for each other otherwise than at locks, for the model to know how much more often
/// they would take the lock.
const MOST_SIGNALLED: f64 = 0.25;
/// By how much predictions miss where the model knows the program exactly: a part of the change, and a part of the whole.
const FLOOR: (f64, f64) = (0.1, 0.03);

/// What `remedy` would bring to lock `lock`. It is computed once for each report: text, page and JSON all ask for it.
///
/// # Errors
/// Why that is not known.
pub fn estimate(report: &MeterReport, lock: usize, remedy: Remedy) -> Result<Estimate, Why> {
    report.estimates.get((lock, remedy), || compute(report, lock, remedy))
}

fn compute(report: &MeterReport, lock: usize, remedy: Remedy) -> Result<Estimate, Why> {
    let lock = report.locks.get(lock).ok_or(Why::ThreadsUnknown)?;
    let target = match remedy {
        Remedy::SleepOutside { site, at } => Some((site, at)),
        _ => None,
    };
    let described = describe(report, lock, target)?;
    let fitted = match calibrate(&described) {
        Ok(fitted) => fitted,
        Err(Some(Fitted { miss: (waits, rate), .. })) => {
            return Err(Why::NotReproduced { waits: waits.exp(), rate: rate.exp() });
        }
        Err(None) => return Err(Why::NotReproduced { waits: 0.0, rate: 0.0 }),
    };
    let stretch = stretch(report, remedy);
    Ok(predict(&described, &fitted, remedy, &stretch))
}

/// How many times as long a sleep may last that is moved out of a hold: as it was; and, of a call that waits for storage, what
/// it may be with several of them at once.
///
/// It may have to wait for one that is under way. Or storage that is kept busy answers as fast as it did at its best.
fn stretch(report: &MeterReport, remedy: Remedy) -> Vec<f64> {
    let mut all = vec![1.0];
    if let Remedy::SleepOutside { at: At::Wait(wait), .. } = remedy
        && let Some(wait) = report.waits.get(wait)
        && wait.call.is_some_and(|call| STORAGE.contains(&call))
        && let (Some(best), Some(mean)) = (wait.wait.percentile_ns(10.0), wait.wait.mean_ns())
    {
        all.extend([(best / mean).min(1.0), 2.0]);
    }
    all
}

/// What is predicted of one thing.
#[derive(Default)]
struct Predictions {
    /// As it is most likely.
    likely: Vec<f64>,
    all: Vec<f64>,
}

impl Predictions {
    fn add(&mut self, after: f64, before: f64, is_likely: bool) {
        let change = after / before.max(f64::MIN_POSITIVE) - 1.0;
        self.all.push(change);
        if is_likely {
            self.likely.push(change);
        }
    }
}

fn predict(described: &Described, fitted: &[Fitted], remedy: Remedy, stretch: &[f64]) -> Estimate {
    let (mut waits, mut rates) = (Predictions::default(), Predictions::default());
    for (draw, of) in (0..DRAWS).zip(fitted.iter().cycle()) {
        let seed = 1_000 + draw;
        let mut rng = Rng::with_seed(seed);
        let mut before = of.load.clone();
        for place in &mut before.places {
            place.holds = place.holds.drawn_again(&mut rng);
        }
        let without = simulate(&before, of.habits, LIMITS, seed);
        for (index, &times) in stretch.iter().enumerate() {
            let mut after = before.clone();
            apply(remedy, times, &mut after);
            let with = simulate(&after, of.habits, LIMITS, seed);
            waits.add(with.wait(), without.wait(), index == 0);
            rates.add(with.rate(), without.rate(), index == 0);
        }
    }
    let known = fitted.len() as f64;
    let miss =
        |part: fn(&Fitted) -> f64| fitted.iter().map(|of| part(of).abs()).sum::<f64>() / known;
    let is_known = described.signalled <= MOST_SIGNALLED;
    let throughput = is_known.then(|| change(rates, miss(|of| of.miss.1)));
    let waits = change(waits, miss(|of| of.miss.0));
    let simulated_waits = fitted.first().map_or(1.0, |of| of.miss.0.exp());
    Estimate { waits, throughput, simulated_waits }
}

fn apply(remedy: Remedy, times: f64, load: &mut Workload) {
    match remedy {
        Remedy::SleepOutside { site, .. } => {
            if let Some(place) = load.places.get_mut(site) {
                place.holds.move_sleeps_out(times);
            }
        }
        Remedy::Shorter { site, part } => {
            if let Some(place) = load.places.get_mut(site) {
                place.holds.shorten_to(part);
            }
        }
        Remedy::Divided { into } => load.locks *= into,
    }
}

/// The median of predictions, and an interval around nearly all of them, wider by what the model misses. The miss counts
/// less the nearer the change is to none, or to all.
fn change(mut predictions: Predictions, miss: f64) -> Change {
    let likely = at(&mut predictions.likely, 0.5);
    let (low, high) = (at(&mut predictions.all, 0.05), at(&mut predictions.all, 0.95));
    let uncertain = likely.abs().min((1.0 + likely).abs());
    let more = 2.0 * uncertain * (FLOOR.0 + miss) + FLOOR.1;
    Change { likely, low: (low - more).max(-1.0), high: high + more }
}

/// The value that a part of all do not exceed.
fn at(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part).round() as usize]
}
