//! How often chance alone looks like a change: many experiments in which nothing has changed, or by a known factor.
//!
//! Each test has a planted fault, the percentile bootstrap that `lockwright diff` once used.

use fastrand::Rng;
use lockwright_measure::two_samples::{Change, TwoSamples, largest_discovery};

/// Runs before and after.
const SIDES: &[(usize, usize)] =
    &[(3, 3), (3, 4), (3, 5), (4, 4), (5, 5), (4, 10), (3, 20), (10, 10), (20, 20)];

/// A metric's value in one run.
type Metric = fn(&mut Rng) -> f64;

fn normal(random: &mut Rng) -> f64 {
    (-2.0 * random.f64().max(1e-300).ln()).sqrt() * (std::f64::consts::TAU * random.f64()).cos()
}

fn log_normal(random: &mut Rng, sigma: f64) -> f64 {
    (sigma * normal(random)).exp()
}

fn poisson(random: &mut Rng, mean: f64) -> f64 {
    let (mut product, mut count) = (random.f64(), 0);
    while product > (-mean).exp() {
        product *= random.f64();
        count += 1;
    }
    f64::from(count)
}

const METRICS: &[(&str, Metric)] = &[
    ("log-normal, 5 %", |r| log_normal(r, 0.05)),
    ("log-normal, 30 %", |r| log_normal(r, 0.3)),
    ("log-normal, a factor of e", |r| log_normal(r, 1.0)),
    ("logarithm of Student's t, 3 degrees", |r| {
        let square = (0..3).map(|_| normal(r).powi(2)).sum::<f64>() / 3.0;
        (0.2 * normal(r) / square.sqrt()).exp()
    }),
    ("Pareto, exponent 1.5", |r| r.f64().max(1e-12).powf(-1.0 / 1.5)),
    ("one run in ten disturbed", |r| log_normal(r, 0.05) * if r.u8(..10) == 0 { 5.0 } else { 1.0 }),
    ("two modes", |r| log_normal(r, 0.02) * if r.bool() { 2.0 } else { 1.0 }),
    ("one of two values", |r| if r.bool() { 2.0 } else { 1.0 }),
    ("Poisson, 0.3", |r| poisson(r, 0.3)),
    ("Poisson, 1", |r| poisson(r, 1.0)),
    ("Poisson, 10", |r| poisson(r, 10.0)),
    ("zero in half of the runs", |r| if r.bool() { 0.0 } else { log_normal(r, 0.3) }),
    ("zero in four of five runs", |r| if r.u8(..5) > 0 { 0.0 } else { log_normal(r, 0.3) }),
];

/// A method under test.
type Method<'m> = &'m dyn Fn(&[f64], &[f64]) -> Option<Change>;

/// The part of experiments whose interval leaves out the true factor, for each metric and number of runs.
fn misses(method: Method<'_>, factor: f64, sides: &[(usize, usize)]) -> Vec<(String, f64, usize)> {
    let mut random = Rng::with_seed(11);
    let mut all = Vec::new();
    for &(before, after) in sides {
        // Those with many deals take longer.
        let experiments =
            if before + after > 15 { 100 } else { 500 } * if is_whole() { 8 } else { 1 };
        for (name, metric) in METRICS {
            let missed = (0..experiments)
                .filter(|_| {
                    let before: Vec<f64> = (0..before).map(|_| metric(&mut random)).collect();
                    let after: Vec<f64> =
                        (0..after).map(|_| factor * metric(&mut random)).collect();
                    method(&before, &after).is_some_and(|change| {
                        let (low, high) = change.interval;
                        low > factor * (1.0 + 1e-9) || high < factor * (1.0 - 1e-9)
                    })
                })
                .count();
            let part = missed as f64 / f64::from(experiments);
            all.push((format!("{name}, {before} against {after}"), part, experiments as usize));
        }
    }
    all
}

/// Those that miss more often than 5 %, by more than so few experiments explain (in one of 700 each), and the mean.
fn too_often(misses: &[(String, f64, usize)]) -> (Vec<String>, f64) {
    let most = |experiments: usize| 0.05 + 3.0 * (0.05_f64 * 0.95 / experiments as f64).sqrt();
    let wrong = misses.iter().filter(|(_, part, experiments)| *part > most(*experiments));
    let mean = misses.iter().map(|(_, part, _)| part).sum::<f64>() / misses.len() as f64;
    (wrong.map(|(name, part, _)| format!("{name}: {:.1} %", part * 100.0)).collect(), mean)
}

/// In `cargo xtask test --all`.
fn is_whole() -> bool {
    std::env::var_os("LOCKWRIGHT_WHOLE").is_some()
}

/// What `lockwright diff` did first: 2.5 % of the resampled ratios of means are left out at either end.
fn percentile_bootstrap(before: &[f64], after: &[f64]) -> Option<Change> {
    const DRAWS: usize = 400;
    let mut random = Rng::with_seed(5);
    let mut mean = |of: &[f64]| {
        (0..of.len()).map(|_| of[random.usize(..of.len())]).sum::<f64>() / of.len() as f64
    };
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| (mean(before), mean(after)))
        .filter(|&(before, after)| before > 0.0 || after > 0.0)
        .map(|(before, after)| after / before)
        .collect();
    if ratios.len() < DRAWS / 2 {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let tail = ratios.len() / 40;
    let p = 2.0
        * ratios
            .iter()
            .filter(|&&ratio| ratio <= 1.0)
            .count()
            .min(ratios.iter().filter(|&&ratio| ratio >= 1.0).count()) as f64
        / ratios.len() as f64;
    Some(Change { interval: (ratios[tail], ratios[ratios.len() - 1 - tail]), p })
}

#[test]
fn intervals_cover_the_true_factor_whatever_the_distribution() {
    let two = TwoSamples::default();
    for factor in [1.0, 1.7] {
        let misses = misses(&|before, after| two.change(before, after, None), factor, SIDES);
        let (wrong, mean) = too_often(&misses);
        assert!(wrong.is_empty() && mean < 0.05, "{mean}: {wrong:#?}");
    }
}

#[test]
fn the_bootstrap_would_fail_the_same_test() {
    let few = &[(3, 3), (5, 5)];
    let (wrong, mean) = too_often(&misses(&percentile_bootstrap, 1.0, few));
    assert!(wrong.len() > METRICS.len() && mean > 0.09, "{mean}: {wrong:#?}");
}

/// The changes of a report: of 20 locks, five metrics each, of which those of a run have a part of their chance in common. The
/// first lock's metrics are after as before, times `factor`.
fn report(
    method: Method<'_>,
    random: &mut Rng,
    (before, after): (usize, usize),
    factor: f64,
) -> Vec<Option<Change>> {
    let of_runs: Vec<f64> = (0..before + after).map(|_| log_normal(random, 0.03)).collect();
    let mut changes = Vec::new();
    for lock in 0..20 {
        let of_lock: Vec<f64> = of_runs.iter().map(|run| run * log_normal(random, 0.05)).collect();
        for metric in 0..5 {
            let value = |run: &f64, random: &mut Rng| match (metric, lock % 4) {
                // Waits, in some locks so few that many runs have none.
                (0, 3) if random.u8(..5) > 0 => 0.0,
                (0, _) => run * log_normal(random, 0.4),
                // Contended acquisitions, of a few to a thousand.
                (1, kind) => poisson(random, [1000.0, 30.0, 3.0, 0.5][kind]),
                _ => run * log_normal(random, 0.02),
            };
            let values: Vec<f64> = of_lock.iter().map(|run| value(run, random)).collect();
            let (old, new) = values.split_at(before);
            let by = if lock == 0 { factor } else { 1.0 };
            let new: Vec<f64> = new.iter().map(|value| by * value).collect();
            changes.push(method(old, &new));
        }
    }
    changes
}

/// The changes that a report marks.
fn marked(changes: &[Option<Change>]) -> Vec<usize> {
    let p = changes.iter().flatten().map(|change| change.p).collect();
    let Some(largest) = largest_discovery(p, 0.05) else { return Vec::new() };
    let mark = |change: &Change| change.p <= largest && change.excludes_none();
    (0..changes.len()).filter(|&at| changes[at].as_ref().is_some_and(mark)).collect()
}

/// The part of reports that mark something though nothing has changed.
fn false_marks(method: Method<'_>, sides: (usize, usize), reports: usize) -> f64 {
    let mut random = Rng::with_seed(23);
    let wrong =
        (0..reports).filter(|_| !marked(&report(method, &mut random, sides, 1.0)).is_empty());
    wrong.count() as f64 / reports as f64
}

#[test]
fn few_reports_of_no_change_mark_one() {
    let two = TwoSamples::default();
    for (sides, reports) in
        [((3, 3), 600), ((4, 4), 400), ((5, 5), 200), ((4, 6), 200), ((3, 20), 60), ((10, 10), 40)]
    {
        let reports = if is_whole() { 4 * reports } else { reports };
        let part = false_marks(&|before, after| two.change(before, after, None), sides, reports);
        assert!(part <= 0.05, "{sides:?}: {:.1} %", part * 100.0);
    }
    let by_bootstrap = false_marks(&percentile_bootstrap, (5, 5), 40);
    assert!(by_bootstrap > 0.5, "the planted fault: {by_bootstrap}");
}

#[test]
fn a_real_change_is_marked() {
    let two = TwoSamples::default();
    let mut random = Rng::with_seed(31);
    // The metrics of the lock that changes by this factor, without the waits, which differ by a factor of 1.5 from run to run.
    for (sides, factor) in [((3, 3), 2.5), ((4, 4), 1.5), ((5, 5), 1.3), ((10, 10), 1.15)] {
        let reports = if sides.0 > 5 { 20 } else { 60 };
        let mut found = 0;
        for _ in 0..reports {
            let changes = report(
                &|before, after| two.change(before, after, None),
                &mut random,
                sides,
                factor,
            );
            found += marked(&changes).iter().filter(|&&at| (1..5).contains(&at)).count();
        }
        let part = f64::from(found as u32) / f64::from(4 * reports);
        assert!(part > 0.8, "{sides:?}, {factor}: {:.0} %", part * 100.0);
    }
}
