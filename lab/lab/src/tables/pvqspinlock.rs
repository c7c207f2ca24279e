//! Long's 2017 pvqspinlock patch: the spinlock that is queued or unfair, as its waiters do.

use std::thread;

use super::publication::{Comparison, Here, Publication, Row, Unit, Verdict, is_below};
use super::{Options, Progress, pvqspinlock_builds};
use crate::bench::over_commit::{self, HYBRID, Measured, UNFAIR, threads};
use crate::bench::published::{Locks, OVER_COMMIT, OverCommit};

/// The rows that are as published: nothing is done between a release and the next acquisition.
const BACK_TO_BACK: u32 = 0;

/// Measures it.
///
/// # Errors
/// If figures are not to be believed.
pub fn measure(options: &Options, progress: Progress<'_>) -> Result<Publication, String> {
    let measured =
        over_commit::measure(&options.of_locks(), progress).map_err(|f| f.to_string())?;
    let builds = pvqspinlock_builds::measure(options, progress)?;
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    Ok(Publication {
        number: 4,
        title: "locking/pvqspinlock: Implement hybrid PV queued/unfair locks",
        source: "Waiman Long, November 2017, 11752adb68; 36 cores of two Xeon E5-2699 v3.",
        method: vec![
            "The published virtual CPUs are threads here, and the cores are this machine's CPUs: a preempted thread \
             stands for a preempted virtual CPU. The microbenchmark is the published one. The published build of a \
             kernel is examples/build_driver here, in small steps, with each lock around the queue of its pool."
                .to_owned(),
        ],
        comparisons: [throughput(&measured, cpus), fairness(&measured, cpus), modes(&measured, cpus)]
            .into_iter()
            .chain(builds.comparisons)
            .collect(),
        verdicts: verdicts(&measured, cpus).into_iter().chain(builds.verdicts).collect(),
        sections: measured.sections.into_iter().chain(builds.sections).collect(),
        blocks: Vec::new(),
    })
}

fn throughput(measured: &Measured, cpus: usize) -> Comparison {
    let row = |point: &OverCommit| {
        let Locks { hybrid, unfair } = point.operations.as_ref()?;
        let published = hybrid[1] as f64 / unfair[1] as f64;
        let here = Here::Measured(find(measured, HYBRID, point, cpus)?.ratio);
        Some(Row::new(format!("{:.2}x", point.times), Unit::Times, Some(published), here))
    };
    Comparison {
        title: "Operations of the hybrid lock over those of the unfair lock".to_owned(),
        rows: OVER_COMMIT.iter().filter_map(row).collect(),
    }
}

fn fairness(measured: &Measured, cpus: usize) -> Comparison {
    let mut rows = Vec::new();
    for point in &OVER_COMMIT {
        let Some(Locks { hybrid, unfair }) = &point.operations else { continue };
        for (lock, published) in [(HYBRID, hybrid), (UNFAIR, unfair)] {
            let Some(row) = find(measured, lock, point, cpus) else { continue };
            rows.push(Row::new(
                format!("{lock}, {:.2}x", point.times),
                Unit::Times,
                Some(published[0] as f64 / published[2] as f64),
                Here::Measured(row.fairness()),
            ));
        }
    }
    Comparison { title: "Least operations of a thread over most".to_owned(), rows }
}

fn modes(measured: &Measured, cpus: usize) -> Comparison {
    let row = |point: &OverCommit| {
        let [queued, unfair] = point.modes?;
        let share = 100.0 * unfair as f64 / (queued + unfair) as f64;
        let here = Here::Measured(find(measured, HYBRID, point, cpus)?.unfair_share());
        Some(Row::new(format!("{:.2}x", point.times), Unit::Percent, Some(share), here))
    };
    Comparison {
        title: "The hybrid lock's acquisitions in unfair mode (published of a kernel build)"
            .to_owned(),
        rows: OVER_COMMIT.iter().filter_map(row).collect(),
    }
}

fn verdicts(measured: &Measured, cpus: usize) -> Vec<Verdict> {
    let points: Vec<_> = OVER_COMMIT.iter().filter(|point| point.operations.is_some()).collect();
    let of = |lock: &str| -> Vec<_> {
        points.iter().filter_map(|point| find(measured, lock, point, cpus)).collect()
    };
    let (hybrid, unfair) = (of(HYBRID), of(UNFAIR));
    let list = |figures: &[f64]| {
        figures.iter().map(|figure| format!("{figure:.2}")).collect::<Vec<_>>().join(", ")
    };
    let ratios: Vec<_> = hybrid.iter().map(|row| row.ratio.median).collect();
    let fair = |rows: &[&over_commit::Row]| -> Vec<f64> {
        rows.iter().map(|row| row.fairness().median).collect()
    };
    let (fair_hybrid, fair_unfair) = (fair(&hybrid), fair(&unfair));
    let shares: Vec<_> = hybrid.iter().map(|row| row.unfair_share().median).collect();
    vec![
        Verdict {
            claim: "The hybrid lock does more operations than the unfair one, back to back"
                .to_owned(),
            holds: in_all(hybrid.iter().map(|row| is_below(&row.ratio, 1.0))).map(|below| !below),
            because: format!(
                "{} of them at {}; published 2.81, 2.85, 2.84, 1.59",
                list(&ratios),
                points.iter().map(|p| format!("{:.2}x", p.times)).collect::<Vec<_>>().join(", ")
            ),
        },
        Verdict {
            claim: "It is fairer than the unfair lock".to_owned(),
            holds: Some(fair_hybrid.iter().zip(&fair_unfair).all(|(h, u)| h > u)),
            because: format!(
                "least over most {}, against {}; published 0.87, 0.87, 0.80, 0.76 against 0.11, 0.08, 0.03, 0.00",
                list(&fair_hybrid),
                list(&fair_unfair)
            ),
        },
        Verdict {
            claim: "The more over-commit, the more it is in unfair mode".to_owned(),
            holds: Some(shares.is_sorted()),
            because: format!("{} %; published 3.4, 57.5, 75.4, 84.3 %", list(&shares)),
        },
    ]
}

/// What all agree on.
fn in_all(mut each: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let first = each.next()??;
    each.all(|other| other == Some(first)).then_some(first)
}

fn find<'m>(
    measured: &'m Measured,
    lock: &str,
    point: &OverCommit,
    cpus: usize,
) -> Option<&'m over_commit::Row> {
    let threads = threads(point, cpus);
    measured
        .rows
        .iter()
        .find(|row| row.lock == lock && row.threads == threads && row.steps_outside == BACK_TO_BACK)
}
