//! How long a place holds a lock, and what of that the holder spends asleep: drawn from what was recorded.
//!
//! A ledger has the distribution of holds, and the sum and number of the sleeps in them, but not which hold had a sleep. A hold
//! with a sleep is longer than one without. So the longest holds get the sleeps.

use fastrand::Rng;

use super::super::model::Histogram;

/// A part of a hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// On a processor, ns.
    pub running: f64,
    /// Asleep, ns.
    pub asleep: f64,
}

impl Parts {
    /// Both, so many times as long.
    pub fn scaled(self, by: f64) -> Self {
        Self { running: self.running * by, asleep: self.asleep * by }
    }

    /// Both together, ns.
    pub fn sum(self) -> f64 {
        self.running + self.asleep
    }
}

/// One hold, and what its thread does right after it that it did within it before a remedy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hold {
    /// With the lock held.
    pub inside: Parts,
    /// Afterwards.
    pub after: Parts,
}

/// Holds of about one length.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// How many there were.
    count: f64,
    hold: Hold,
    /// The part of the time asleep that a remedy is about.
    target: f64,
}

/// The holds of a place.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    /// The longest first.
    groups: Vec<Group>,
    /// Counts of the groups up to each.
    sums: Vec<f64>,
}

/// Sleeps within holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sleeps {
    /// How many.
    pub count: f64,
    /// How long in all, ns.
    pub ns: f64,
}

impl Holds {
    /// Holds of these lengths, in which threads ran all the time.
    pub fn of(histogram: &Histogram, total_ns: f64) -> Self {
        let mut groups: Vec<Group> = histogram
            .buckets()
            .map(|(ns, count)| Group {
                count: count as f64,
                hold: Hold { inside: Parts { running: ns, asleep: 0.0 }, after: Parts::default() },
                target: 0.0,
            })
            .collect();
        groups.reverse();
        let mut holds = Self { groups, sums: Vec::new() };
        // Buckets are a little wide; the sum is exact.
        let sum = holds.total(|hold| hold.inside.running);
        if sum > 0.0 && total_ns > 0.0 {
            let by = total_ns / sum;
            holds
                .groups
                .iter_mut()
                .for_each(|group| group.hold.inside = group.hold.inside.scaled(by));
        }
        holds.add_up();
        holds
    }

    fn add_up(&mut self) {
        let mut sum = 0.0;
        self.sums = self
            .groups
            .iter()
            .map(|group| {
                sum += group.count;
                sum
            })
            .collect();
    }

    fn total(&self, part: impl Fn(&Hold) -> f64) -> f64 {
        self.groups.iter().map(|group| group.count * part(&group.hold)).sum()
    }

    /// How many holds there were.
    pub fn count(&self) -> f64 {
        self.sums.last().copied().unwrap_or(0.0)
    }

    /// How long threads ran within the holds, ns.
    pub fn running(&self) -> f64 {
        self.total(|hold| hold.inside.running)
    }

    /// Some of the time was not spent running. `is_target`: a remedy is about it.
    pub fn sleep(&mut self, sleeps: Sleeps, is_target: bool) {
        // As many of the longest holds as there were sleeps; more if the sleeps do not fit into these.
        let mut end = 0;
        let (mut count, mut running) = (0.0, 0.0);
        while end < self.groups.len() && (count < sleeps.count || running < sleeps.ns) {
            count += self.groups[end].count;
            running += self.groups[end].count * self.groups[end].hold.inside.running;
            end += 1;
        }
        if running <= 0.0 {
            return;
        }
        let part = (sleeps.ns / running).min(1.0);
        for group in &mut self.groups[..end] {
            let asleep = group.hold.inside.running * part;
            group.hold.inside.running -= asleep;
            group.hold.inside.asleep += asleep;
            if is_target {
                group.target += asleep;
            }
        }
    }

    /// Time in which a holder was ready to run and had no processor. It is left out: the simulated machine has such times
    /// itself.
    pub fn without_preemption(&mut self, ns: f64) {
        let mut left = ns;
        for group in &mut self.groups {
            let running = group.hold.inside.running;
            // No hold becomes shorter than a typical one.
            let most = (left / group.count).min(running * 0.9);
            group.hold.inside.running -= most;
            left -= most * group.count;
            if left <= 0.0 {
                break;
            }
        }
    }

    /// The sleeps that the remedy is about come after the hold, and last so many times as long there.
    pub fn move_sleeps_out(&mut self, times: f64) {
        for group in &mut self.groups {
            group.hold.inside.asleep -= group.target;
            group.hold.after.asleep += group.target * times;
            group.target = 0.0;
        }
    }

    /// The lock is held for only a part of the time; the rest of the work is done afterwards.
    pub fn shorten_to(&mut self, part: f64) {
        for group in &mut self.groups {
            let whole = group.hold.inside;
            group.hold.inside = whole.scaled(part);
            group.hold.after.running += whole.running * (1.0 - part);
            group.hold.after.asleep += whole.asleep * (1.0 - part);
        }
    }

    /// As another run of the same program may have had them: each count varies by chance.
    pub fn drawn_again(&self, rng: &mut Rng) -> Self {
        let mut drawn = self.clone();
        for group in &mut drawn.groups {
            group.count = poisson(group.count, rng);
        }
        drawn.groups.retain(|group| group.count > 0.0);
        if drawn.groups.is_empty() {
            return self.clone();
        }
        drawn.add_up();
        drawn
    }

    /// One of them, by chance.
    pub fn draw(&self, rng: &mut Rng) -> Hold {
        let at = rng.f64() * self.count();
        let index = self.sums.partition_point(|&sum| sum <= at);
        self.groups.get(index).or(self.groups.last()).map_or_else(Hold::default, |group| group.hold)
    }
}

/// A count of events whose mean is this.
fn poisson(mean: f64, rng: &mut Rng) -> f64 {
    if mean > 30.0 {
        // Nearly normal: the sum of twelve uniform numbers is, too.
        let normal: f64 = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        return (mean + normal * mean.sqrt()).round().max(0.0);
    }
    let (limit, mut product, mut count) = ((-mean).exp(), rng.f64(), 0.0);
    while product > limit {
        product *= rng.f64();
        count += 1.0;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 90 holds of 10 ns, and 10 of 1000.
    fn mixed() -> Holds {
        let mut histogram = Histogram::default();
        histogram.record(10.0, 90);
        histogram.record(1_000.0, 10);
        Holds::of(&histogram, 10_900.0)
    }

    #[test]
    fn the_longest_holds_have_the_sleeps() {
        let mut holds = mixed();
        holds.sleep(Sleeps { count: 10.0, ns: 9_000.0 }, true);
        let drawn: Vec<Hold> = holds.groups.iter().map(|group| group.hold).collect();
        assert_eq!(drawn[0].inside, Parts { running: 100.0, asleep: 900.0 });
        assert_eq!(drawn[1].inside, Parts { running: 10.0, asleep: 0.0 });
        holds.move_sleeps_out(2.0);
        let long = holds.groups[0].hold;
        assert_eq!(long.inside, Parts { running: 100.0, asleep: 0.0 });
        assert_eq!(long.after, Parts { running: 0.0, asleep: 1_800.0 });
    }

    #[test]
    fn more_sleeps_than_long_holds_are_in_the_short_ones_too() {
        let mut holds = mixed();
        holds.sleep(Sleeps { count: 100.0, ns: 5_450.0 }, false);
        assert!(
            holds.groups.iter().all(|group| {
                (group.hold.inside.running - group.hold.inside.asleep).abs() < 1e-9
            })
        );
        holds.move_sleeps_out(1.0);
        assert!(holds.groups.iter().all(|group| group.hold.after == Parts::default()), "no target");
    }

    #[test]
    fn no_hold_runs_for_less_than_nothing() {
        let mut holds = mixed();
        holds.sleep(Sleeps { count: 1.0, ns: 1e9 }, true);
        holds.without_preemption(1e9);
        assert!(holds.groups.iter().all(|group| group.hold.inside.running >= 0.0));
        let mut none = Holds::default();
        none.sleep(Sleeps { count: 1.0, ns: 1e9 }, true);
        assert_eq!(none.draw(&mut Rng::with_seed(1)), Hold::default());
    }

    #[test]
    fn shorter_holds_do_the_rest_afterwards() {
        let mut holds = mixed();
        holds.shorten_to(0.25);
        let long = holds.groups[0].hold;
        assert_eq!((long.inside.running, long.after.running), (250.0, 750.0));
    }

    #[test]
    fn draws_are_of_the_recorded_lengths_and_as_often() {
        let (holds, mut rng) = (mixed(), Rng::with_seed(1));
        let long = (0..10_000).filter(|_| holds.draw(&mut rng).inside.running > 500.0).count();
        assert!((850..1_150).contains(&long), "{long}");
        let counts: Vec<f64> = (0..200).map(|_| holds.drawn_again(&mut rng).count()).collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        assert!((97.0..103.0).contains(&mean), "{mean}");
        assert!(counts.iter().any(|&count| count != 100.0), "by chance");
    }
}
