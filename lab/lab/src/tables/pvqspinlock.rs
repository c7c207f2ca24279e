//! Long's 2017 pvqspinlock patch: the spinlock that is queued or unfair, as its waiters do.

use std::thread;

use super::publication::{Comparison, Here, Publication, Row};
use super::unit::Unit;
use super::verdict::{Asked, Machines, Point, Verdict};
use super::{Options, Progress, pvqspinlock_builds};
use crate::bench::over_commit::{self, HYBRID, Measured, UNFAIR, threads};
use crate::bench::published::{Locks, OVER_COMMIT, OverCommit, PV_CPUS};

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
    let machines = Machines { published_cpus: PV_CPUS, cpus };
    let at = |point: &OverCommit| format!("{:.2}x", point.times);
    let of = |lock, point| find(measured, lock, point, cpus);
    let operations = OVER_COMMIT.iter().filter_map(|point| {
        let Locks { hybrid, unfair } = point.operations.as_ref()?;
        let published = hybrid[1] as f64 / unfair[1] as f64;
        Some(Point {
            at: at(point),
            asked: Asked::side_of_one(published)?,
            unit: Unit::Times,
            published: Some(published),
            here: of(HYBRID, point)?.ratio,
        })
    });
    let fairness = OVER_COMMIT.iter().filter_map(|point| {
        let Locks { hybrid, unfair } = point.operations.as_ref()?;
        let least_over_most = |of: &[u64; 3]| of[0] as f64 / of[2] as f64;
        let published = least_over_most(hybrid) - least_over_most(unfair);
        Some(Point {
            at: at(point),
            asked: Asked::side_of(0.0, published),
            unit: Unit::Times,
            published: Some(published),
            here: of(HYBRID, point)?.fairer_than(of(UNFAIR, point)?),
        })
    });
    // Two published points may be one here.
    let mut apart: Vec<&OverCommit> = OVER_COMMIT.iter().collect();
    apart.dedup_by_key(|point| threads(point, cpus));
    let more_often_unfair = apart.windows(2).filter_map(|pair| {
        let share = |[queued, unfair]: [u64; 2]| 100.0 * unfair as f64 / (queued + unfair) as f64;
        let published = share(pair[1].modes?) - share(pair[0].modes?);
        Some(Point {
            at: format!("{} to {}", at(pair[0]), at(pair[1])),
            asked: Asked::side_of(0.0, published),
            unit: Unit::Percent,
            published: Some(published),
            here: of(HYBRID, pair[1])?.more_often_unfair_than(of(HYBRID, pair[0])?),
        })
    });
    let [operations, fairness, more_often_unfair]: [Vec<_>; 3] =
        [operations.collect(), fairness.collect(), more_often_unfair.collect()];
    vec![
        machines.decide(
            "The hybrid lock does more operations than the unfair one, back to back",
            &operations,
            "",
        ),
        machines.decide(
            "It is fairer than the unfair lock",
            &fairness,
            " (least over most operations of a thread: the difference)",
        ),
        machines.decide(
            "The more over-commit, the more it is in unfair mode",
            &more_often_unfair,
            " (the share in unfair mode: the difference)",
        ),
    ]
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
