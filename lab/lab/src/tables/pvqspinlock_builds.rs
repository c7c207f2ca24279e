//! The builds of Long's 2017 pvqspinlock patch: the driver, with the lock of its pool swapped,
//! where there are more threads than CPUs.

use std::thread;

use serde_json::json;

use super::programs::{self, Ledgers, Run, median, number, ratio};
use super::publication::{Comparison, Here, Row};
use super::unit::Unit;
use super::verdict::{Asked, Machines, Point, Verdict};
use super::workload;
use super::{Options, Progress};
use crate::bench::published::{BUILDS, Build, PV_CPUS};
use crate::bench::{Section, grouped_signed};
use lockwright_measure::stats::{self, Estimate};

/// Small steps: the pool's lock is taken twice in each.
const SIZE: [&str; 8] = ["--units", "8000", "--steps", "64", "--bytes", "128", "--slice", "1"];

/// A lock of the pool, and whether lock events are counted.
#[derive(Clone, Copy)]
struct Arm {
    lock: &'static str,
    counts: bool,
}

/// Columns of the document, and one more, whose time does not count.
const ARMS: [Arm; 4] = [
    Arm { lock: "pvqspinlock", counts: false },
    Arm { lock: "hybrid", counts: false },
    Arm { lock: "unfair", counts: false },
    Arm { lock: "hybrid", counts: true },
];
const PVQ: usize = 0;
const HYBRID: usize = 1;
const UNFAIR: usize = 2;
const COUNTED: usize = 3;

/// What that part of the document's page is.
#[derive(Default)]
pub struct Builds {
    /// Published and measured.
    pub comparisons: Vec<Comparison>,
    /// What the patch's text concludes from them.
    pub verdicts: Vec<Verdict>,
    /// Ten rows by three locks.
    pub sections: Vec<Section>,
}

/// One run; acquisitions in queued and in unfair mode, where they are counted.
struct Outcome {
    run: Run,
    modes: [f64; 2],
}

/// All rounds with a number of threads, by arm.
struct Measured {
    threads: usize,
    arms: Vec<Vec<Outcome>>,
}

/// Measures them.
///
/// # Errors
/// If what is there does not run to its end, or to another result.
pub fn measure(options: &Options, progress: Progress<'_>) -> Result<Builds, String> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    if let Err(why) = workload::driver_with_locks(options, 1, &[]) {
        return Ok(missing(&why));
    }
    let mut numbers: Vec<usize> = BUILDS.iter().map(|build| threads(build, cpus)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let all = numbers
        .into_iter()
        .map(|threads| run(threads, options, progress))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Builds {
        comparisons: vec![times(&all, cpus), modes(&all, cpus)],
        verdicts: verdicts(&all, cpus, &BUILDS),
        sections: vec![section(&all, cpus)],
    })
}

/// Threads here for the virtual CPUs there.
fn threads(build: &Build, cpus: usize) -> usize {
    (build.vcpus as usize * cpus).div_ceil(build.cpus as usize)
}

fn over_commit(build: &Build) -> f64 {
    build.vcpus as f64 / build.cpus as f64
}

fn run(threads: usize, options: &Options, progress: Progress<'_>) -> Result<Measured, String> {
    let libraries = [options.parts.find("lib")?, options.parts.find("lib-events")?];
    let workloads = ARMS.map(|arm| {
        let arguments: Vec<_> = SIZE.into_iter().chain(["--lock", arm.lock]).collect();
        workload::driver_with_locks(options, threads, &arguments)
    });
    let workloads = workloads.into_iter().collect::<Result<Vec<_>, _>>()?;
    let arms: Vec<usize> = (0..ARMS.len()).collect();
    let arms = programs::in_turns(&arms, options.rounds, |round, &arm| {
        let Arm { lock, counts } = ARMS[arm];
        progress(&format!(
            "builds, {threads} threads, {lock}, round {round} of {}",
            options.rounds
        ));
        let events = Ledgers::new()?;
        let file = events.path().join("events");
        let run = workloads[arm].run(|command| {
            command.env("LD_LIBRARY_PATH", &libraries[usize::from(counts)]);
            if counts {
                command.env("LOCKWRIGHT_EVENTS", &file);
            }
        })?;
        let modes = if counts {
            let text =
                std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            [number(&text, "lock_slowpath")?, number(&text, "pv_lock_stealing")?]
        } else {
            [0.0; 2]
        };
        Ok(Outcome { run, modes })
    })?;
    workloads[PVQ].same_results(arms.iter().flatten().map(|outcome| &outcome.run))?;
    Ok(Measured { threads, arms })
}

fn elapsed(outcome: &Outcome) -> f64 {
    outcome.run.elapsed
}

impl Measured {
    fn ratio(&self, of: usize, base: usize) -> Estimate {
        ratio(&self.arms[of], &self.arms[base], elapsed)
    }

    /// Acquisitions in unfair mode among those in both, in hundredths; where nobody waited, none
    /// were in either.
    fn unfair_share(&self) -> Here {
        let share = |outcome: &Outcome| {
            let [queued, unfair] = outcome.modes;
            (queued + unfair > 0.0).then(|| 100.0 * unfair / (queued + unfair))
        };
        let shares: Vec<_> = self.arms[COUNTED].iter().filter_map(share).collect();
        if shares.is_empty() {
            Here::Counted(0.0)
        } else {
            Here::Measured(stats::estimate(&shares))
        }
    }
}

fn find<'m>(all: &'m [Measured], build: &Build, cpus: usize) -> Option<&'m Measured> {
    all.iter().find(|measured| measured.threads == threads(build, cpus))
}

/// What a row is of.
fn name(build: &Build, threads: usize) -> String {
    let Build { cpus, vcpus, .. } = build;
    format!("{vcpus} vCPUs on {cpus} ({:.2}x; {threads} threads here)", over_commit(build))
}

const TITLES: [&str; 2] = [
    "Build time over that with the lock before (driver; published: a kernel's)",
    "The hybrid lock's acquisitions in unfair mode, in the builds (none where nobody waited)",
];

fn times(all: &[Measured], cpus: usize) -> Comparison {
    let mut rows = Vec::new();
    for build in &BUILDS {
        let Some(measured) = find(all, build, cpus) else { continue };
        for (arm, lock) in [(HYBRID, "hybrid"), (UNFAIR, "unfair")] {
            rows.push(Row::new(
                format!("{lock}, {}", name(build, measured.threads)),
                Unit::Times,
                Some(build.seconds[arm] / build.seconds[PVQ]),
                Here::Measured(measured.ratio(arm, PVQ)),
            ));
        }
    }
    Comparison { title: TITLES[0].to_owned(), rows }
}

fn modes(all: &[Measured], cpus: usize) -> Comparison {
    let row = |build: &Build| {
        let [queued, unfair] = build.modes?;
        let measured = find(all, build, cpus)?;
        let share = 100.0 * unfair as f64 / (queued + unfair) as f64;
        let here = measured.unfair_share();
        Some(Row::new(name(build, measured.threads), Unit::Percent, Some(share), here))
    };
    Comparison { title: TITLES[1].to_owned(), rows: BUILDS.iter().filter_map(row).collect() }
}

fn missing(why: &str) -> Builds {
    let row = |build: &Build| {
        let published = build.seconds[HYBRID] / build.seconds[PVQ];
        let what = format!("hybrid, {} vCPUs on {}", build.vcpus, build.cpus);
        Row::new(what, Unit::Times, Some(published), Here::Missing(why.to_owned()))
    };
    let rows = BUILDS.iter().map(row).collect();
    Builds {
        comparisons: vec![Comparison { title: TITLES[0].to_owned(), rows }],
        ..Builds::default()
    }
}

fn verdicts(all: &[Measured], cpus: usize, builds: &[Build]) -> Vec<Verdict> {
    let machines = Machines { published_cpus: PV_CPUS, cpus };
    // Several published builds may have the same over-commit.
    let over = || builds.iter().filter(|build| threads(build, cpus) > cpus);
    let against = |base: usize, asked: fn(f64) -> Option<Asked>| -> Vec<Point> {
        let point = |build: &Build| {
            let published = build.seconds[HYBRID] / build.seconds[base];
            let measured = find(all, build, cpus)?;
            Some(Point {
                at: name(build, measured.threads),
                asked: asked(published)?,
                unit: Unit::Times,
                published: Some(published),
                here: measured.ratio(HYBRID, base),
            })
        };
        over().filter_map(point).collect()
    };
    vec![
        machines.decide(
            "Builds are faster with the hybrid lock than with that before, where over-committed",
            &against(PVQ, Asked::side_of_one),
            "",
        ),
        machines.decide(
            "They are no slower than with the unfair lock (5 %), where over-committed",
            &against(UNFAIR, |published| Some(Asked::side_of(1.05, published))),
            "",
        ),
    ]
}

/// Ten rows by three locks.
fn section(all: &[Measured], cpus: usize) -> Section {
    let row = |build: &Build| {
        let measured = find(all, build, cpus)?;
        let seconds = |arm: usize| median(&measured.arms[arm], elapsed);
        let best = |arm: usize| {
            measured.arms[arm].iter().take(3).map(elapsed).fold(f64::INFINITY, f64::min)
        };
        let mode = |index: usize| {
            grouped_signed(median(&measured.arms[COUNTED], |o| o.modes[index]) as i64)
        };
        let mut cells = vec![
            format!("{} on {} ({:.2}x)", build.vcpus, build.cpus, over_commit(build)),
            measured.threads.to_string(),
        ];
        for lock in [PVQ, HYBRID, UNFAIR] {
            cells.push(format!("{:.1} s", build.seconds[lock]));
            cells.push(format!("{:.3} s", seconds(lock)));
            cells.push(format!("{:.3} s", best(lock)));
        }
        let published = build
            .modes
            .map_or_else(Default::default, |modes| modes.map(|n| grouped_signed(n as i64)));
        let [queued, unfair] = published;
        cells.extend([queued, mode(0), unfair, mode(1)]);
        Some(cells)
    };
    let figures = |measured: &Measured| {
        let arms = ARMS.iter().zip(&measured.arms).map(|(arm, runs)| {
            let runs: Vec<_> = runs.iter().map(|o| json!({ "elapsed": o.run.elapsed, "cpu": o.run.cpu(), "queued": o.modes[0], "unfair": o.modes[1] })).collect();
            json!({ "lock": arm.lock, "events": arm.counts, "runs": runs })
        });
        json!({ "threads": measured.threads, "arms": arms.collect::<Vec<_>>() })
    };
    Section {
        title: format!("Builds by the pool's lock, on {cpus} CPUs"),
        columns: vec![
            "vCPUs",
            "threads here",
            "pvqlock, published",
            "here",
            "best of 3",
            "hybrid, published",
            "here",
            "best of 3",
            "unfair, published",
            "here",
            "best of 3",
            "queued, published",
            "here",
            "in unfair mode, published",
            "here",
        ],
        rows: BUILDS.iter().filter_map(row).collect(),
        notes: vec![
            "Published: builds of a kernel whose spinlocks are all of that kind. Here: the driver, whose lock of the \
             pool's queue is of that kind. Rows with the same number of threads here are one measurement. Queued and \
             unfair: acquisitions of the hybrid lock after a wait in the queue, and ahead of it. They are from \
             separate runs with the library that counts lock events; acquisitions of a free lock are in neither."
                .to_owned(),
        ],
        json: json!(all.iter().map(figures).collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict;
    use super::*;

    #[test]
    fn over_commit_is_the_published_one() {
        let of = |vcpus, cpus_here| {
            let build = BUILDS.iter().find(|build| build.vcpus == vcpus).unwrap();
            threads(build, cpus_here)
        };
        assert_eq!([36, 45, 54, 72, 108].map(|vcpus| of(vcpus, 2)), [2, 3, 3, 4, 6]);
        assert_eq!([30, 108].map(|vcpus| of(vcpus, 36)), [30, 108]);
    }

    fn measured(seconds: [f64; 4], modes: [f64; 2]) -> Vec<Measured> {
        let outcome = |elapsed| Outcome {
            run: Run { elapsed, user: 1.0, system: 0.0, text: String::new() },
            modes,
        };
        let arms = seconds.map(|seconds| (0..7).map(|_| outcome(seconds)).collect());
        vec![Measured { threads: 4, arms: arms.into() }]
    }

    fn outcomes(seconds: [f64; 4], builds: &[Build]) -> Vec<verdict::Outcome> {
        let measured = measured(seconds, [0.0; 2]);
        verdicts(&measured, 2, builds).iter().map(|verdict| verdict.outcome).collect()
    }

    #[test]
    fn the_verdicts_follow_the_figures() {
        use verdict::Outcome::{Agrees, Differs, TooSmall};
        let of = |seconds| outcomes(seconds, &BUILDS);
        // Two of the published builds have as much over-commit as four threads on two CPUs.
        assert_eq!(of([10.0, 8.0, 9.0, 0.0]), [Agrees, Agrees]);
        assert_eq!(of([8.0, 10.0, 9.0, 0.0]), [Differs(2, 2), Differs(2, 2)]);
        assert_eq!(of([10.0, 10.0, 10.0, 0.0]), [TooSmall, Agrees]);
    }

    #[test]
    fn the_other_way_round_published_would_be_another_verdict() {
        let turned = BUILDS.map(|build| {
            let [before, hybrid, unfair] = build.seconds;
            Build { seconds: [hybrid, before, unfair], ..build }
        });
        let [faster, _] = outcomes([10.0, 8.0, 9.0, 0.0], &turned)[..] else { panic!("two") };
        assert_eq!(faster, verdict::Outcome::Differs(2, 2));
    }

    #[test]
    fn a_share_is_of_those_who_waited() {
        let share = |modes| measured([1.0; 4], modes)[0].unfair_share().figure();
        assert_eq!(share([1.0, 3.0]), Some(75.0));
        assert_eq!(share([0.0; 2]), Some(0.0));
    }

    #[test]
    fn all_ten_rows_have_three_locks() {
        let all = measured([1.0; 4], [1.0, 1.0]);
        // With two CPUs, one row has four threads on each system.
        let section = section(&all, 2);
        assert_eq!(section.rows.len(), 2);
        assert!(section.rows.iter().all(|row| row.len() == section.columns.len()));
        assert_eq!(missing("no").comparisons[0].rows.len(), 10);
    }
}
