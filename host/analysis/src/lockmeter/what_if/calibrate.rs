//! Which simulated machines are like the real one: those on which the unchanged program waits as it was measured to.

use super::machine::{Habits, Limits, Outcome, Thinking, Workload, simulate};
use super::workload::Described;

/// By how much the simulated wait may differ from the measured one, as a factor.
pub const WAIT_MISS: f64 = 1.25;
/// The same where the waits are so few and different that their mean is off by as much by chance.
pub const CHANCE_MISS: f64 = 1.5;
/// By how much the acquisitions a second may.
pub const RATE_MISS: f64 = 1.1;
/// Machines that are kept: the most like the real one.
const MOST: usize = 4;
/// Rounds in which the time that threads sleep between acquisitions is fitted.
const ROUNDS: u64 = 4;
const LIMITS: Limits = Limits { waits: 1_500, acquisitions: 20_000 };

/// A machine, and the program fitted to it.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The program: with the time that threads sleep such that they take the lock as often as they did.
    pub load: Workload,
    /// The machine.
    pub habits: Habits,
    /// The logarithm of the simulated wait in measured ones, and of the rate.
    pub miss: (f64, f64),
}

impl Fitted {
    fn is_close(&self, chance: f64) -> bool {
        self.miss.0.abs() <= WAIT_MISS.ln().max(chance) && self.miss.1.abs() <= RATE_MISS.ln()
    }

    fn distance(&self) -> f64 {
        self.miss.0.abs() + self.miss.1.abs()
    }
}

/// The machines that come close to what was measured, the closest first. None: the closest of all, as the error.
pub fn calibrate(described: &Described) -> Result<Vec<Fitted>, Option<Fitted>> {
    let mut all: Vec<Fitted> = Vec::new();
    let locks = described.load.locks;
    let numbers = if locks > 1 { vec![1, locks] } else { vec![1] };
    for locks in numbers {
        let mut thinkings = vec![Thinking::Exponential, Thinking::Constant];
        if described.burst > 1 {
            thinkings.push(Thinking::Bursts(described.burst));
        }
        for thinking in thinkings {
            for wake_ns in [5e3, 60e3, described.free_ns] {
                for wake_preempts in [true, false] {
                    let habits = Habits { thinking, wake_ns, wake_preempts };
                    let load = Workload { locks, ..described.load.clone() };
                    all.extend(fit(load, habits, described));
                }
            }
        }
    }
    all.sort_by(|a, b| a.distance().total_cmp(&b.distance()));
    let chance = described.chance.min(CHANCE_MISS.ln());
    if !all.iter().any(|of| of.is_close(chance)) {
        return Err(all.into_iter().next());
    }
    all.retain(|of| of.is_close(chance));
    all.truncate(MOST);
    Ok(all)
}

/// Fits a program to a machine.
fn fit(mut load: Workload, habits: Habits, described: &Described) -> Option<Fitted> {
    let threads = load.threads.len() as f64;
    let mut best: Option<Fitted> = None;
    for round in 0..ROUNDS {
        let outcome = simulate(&load, habits, LIMITS, round + 1);
        let miss = miss(&outcome, described)?;
        let fitted = Fitted { load: load.clone(), habits, miss };
        if best.as_ref().is_none_or(|best| fitted.distance() < best.distance()) {
            best = Some(fitted);
        }
        // A cycle lasts so much too long.
        let wanted = threads / described.rate - threads / outcome.rate();
        let away = outcome.away_ns / outcome.acquisitions.max(1.0);
        if away <= 0.0 {
            break;
        }
        let by = (1.0 + wanted / away).clamp(0.0, 3.0);
        load.threads.iter_mut().for_each(|thread| thread.think.asleep *= by);
    }
    best
}

fn miss(outcome: &Outcome, described: &Described) -> Option<(f64, f64)> {
    let miss = ((outcome.wait() / described.wait_ns).ln(), (outcome.rate() / described.rate).ln());
    (miss.0.is_finite() && miss.1.is_finite()).then_some(miss)
}

#[cfg(test)]
mod tests {
    use super::super::holds::{Holds, Parts};
    use super::super::machine::{Place, Thread};
    use super::*;
    use crate::lockmeter::model::Histogram;

    fn described(wait_by: f64) -> Described {
        let mut histogram = Histogram::default();
        histogram.record(50_000.0, 100);
        histogram.record(400_000.0, 10);
        let think = Parts { running: 50_000.0, asleep: 300_000.0 };
        let thread = Thread { think, places: vec![(0, 1.0)] };
        let places = vec![Place { holds: Holds::of(&histogram, 9e6), is_shared: false }];
        let load = Workload { threads: vec![thread; 5], places, processors: 2, locks: 1 };
        let habits = Habits { thinking: Thinking::Exponential, wake_ns: 30e3, wake_preempts: true };
        let outcome = simulate(&load, habits, LIMITS, 77);
        Described {
            load,
            wait_ns: outcome.wait() * wait_by,
            chance: 0.01,
            free_ns: 30e3,
            rate: outcome.rate(),
            signalled: 0.0,
            burst: 1,
        }
    }

    #[test]
    fn a_program_that_the_model_knows_is_reproduced() {
        let fitted = calibrate(&described(1.0)).expect("a machine like it");
        let best = &fitted[0];
        assert!(best.miss.0.abs() < 0.1 && best.miss.1.abs() < 0.05, "{:?}", best.miss);
    }

    #[test]
    fn waits_that_do_not_follow_from_the_holds_are_not_reproduced() {
        for by in [0.2, 4.0] {
            let miss =
                calibrate(&described(by)).expect_err("no machine is like it").expect("tried");
            assert!(miss.distance() > RATE_MISS.ln(), "{by}: {:?}", miss.miss);
        }
        // Chance explains only so much.
        let chance = Described { chance: 9.0, ..described(4.0) };
        assert!(calibrate(&chance).is_err());
    }
}
