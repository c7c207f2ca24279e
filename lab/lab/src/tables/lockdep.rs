//! Long's 2018 lockdep patches, which made lockdep faster, in builds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;

use serde_json::json;

use super::kernels::{CHECKED, DEBUG, EACH, Kernel, NATIVE, SHIPPED, UNDONE};
use super::programs::{self, Ledgers, Run, median, more, ratio};
use super::publication::{Comparison, Here, Publication, Row, TOO_SMALL};
use super::unit::Unit;
use super::verdict::{Asked, Machines, Point, Verdict};
use super::workload::{self, Workload};
use super::{Options, Progress, instructions};
use crate::bench::Section;
use lockwright_measure::stats::{self, Estimate};

/// Everything that is compared; in between is one of each.
const ALL: [&Kernel; 10] = [
    &NATIVE, &UNDONE, &SHIPPED, &DEBUG, &CHECKED, &EACH[0], &EACH[1], &EACH[2], &EACH[3], &EACH[4],
];
/// What is compared where only the number of threads is another.
const FEW: [&Kernel; 3] = [&NATIVE, &UNDONE, &SHIPPED];

/// Threads of the driver besides as many as there are CPUs.
const THREADS: [usize; 3] = [1, 4, 16];

/// What the shipped library may cost a build.
const AIM: f64 = 1.05;

/// What was published of the system with one socket, and that with four: kernels 2 to 4 over kernel
/// 1, and kernel 3 over kernel 2, in hundredths more.
const PUBLISHED: [(&str, [f64; 4]); 2] = [
    ("1 socket, 44 threads", [46.1, 40.7, 55.2, -3.7]),
    ("4 sockets, 144 threads", [83.0, 36.0, 51.6, -25.7]),
];

/// Seconds of the published builds, of kernels 1 to 4: best of three.
const SECONDS: [(&str, [f64; 4]); 2] = [
    ("1 socket, 44 threads", [366.0, 534.7, 514.9, 568.1]),
    ("4 sockets, 144 threads", [249.2, 456.0, 338.8, 377.8]),
];

/// Hardware threads of the smaller published machine.
const PUBLISHED_CPUS: usize = 44;

/// The document took the best of so many runs.
const BEST_OF: usize = 3;

/// All rounds of a workload.
struct Measured {
    name: String,
    kernels: BTreeMap<&'static str, Result<Vec<Run>, String>>,
}

/// Measures it.
///
/// # Errors
/// If what is there does not run to its end, or to another result.
pub fn measure(options: &Options, progress: Progress<'_>) -> Result<Publication, String> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let mut whole = Vec::new();
    let mut comparisons = Vec::new();
    for (name, workload) in [
        ("Driver", workload::driver(options, cpus, &[])),
        ("Build of Lua", workload::make(options, cpus)),
    ] {
        match workload {
            Ok(workload) => {
                let measured = run(&workload, &ALL, options, progress)?;
                comparisons.push(builds(&measured));
                comparisons.push(seconds(&measured));
                comparisons.push(patches(&measured));
                whole.push(measured);
            }
            Err(why) => comparisons.push(missing(name, &why)),
        }
    }
    let mut by_threads = Vec::new();
    for threads in THREADS.into_iter().filter(|threads| *threads != cpus) {
        if let Ok(workload) = workload::driver(options, threads, &[]) {
            by_threads.push(run(&workload, &FEW, options, progress)?);
        }
    }
    if let Ok(mut workload) = workload::driver(options, cpus, &["--scopes", "1"]) {
        workload.name += ", a lock created in each step";
        by_threads.push(run(&workload, &FEW, options, progress)?);
    }
    if !by_threads.is_empty() {
        comparisons.push(others(&by_threads));
    }
    comparisons.push(larger());
    progress("instructions");
    let counts = instructions::count(
        options,
        &[&[&SHIPPED, &UNDONE, &DEBUG], &EACH.each_ref()[1..]].concat(),
    );
    let mut verdicts: Vec<_> = whole.iter().flat_map(verdicts).collect();
    verdicts.extend(counts.as_deref().ok().and_then(by_instructions));
    let mut sections: Vec<_> = whole.iter().chain(&by_threads).map(section).collect();
    sections.push(instructions::section(&counts));
    Ok(Publication {
        number: 0,
        title: "locking/lockdep: Improve lockdep performance",
        source: "Waiman Long, October 2018, linux-kernel; Skylake of 22 cores and 44 threads, four Broadwells of 72 \
                 cores and 144 threads.",
        method: vec![
            "The published kernels are preload libraries here, built with one patch or all patches undone. The \
             published build of a kernel is two builds here. One is `make` of Lua by gcc, whose processes take few \
             locks. The other is examples/build_driver, a program whose threads take some hundred thousand locks a \
             second. The time is a process's from start to end, including recording, without the report that the \
             command makes afterwards."
                .to_owned(),
        ],
        comparisons,
        verdicts,
        sections,
        blocks: Vec::new(),
    })
}

fn run(
    workload: &Workload,
    kernels: &[&'static Kernel],
    options: &Options,
    progress: Progress<'_>,
) -> Result<Measured, String> {
    let found: Vec<(&'static Kernel, Result<Option<PathBuf>, String>)> = kernels
        .iter()
        .map(|kernel| (*kernel, kernel.library.map(|part| options.parts.find(part)).transpose()))
        .collect();
    let there: Vec<(&'static Kernel, Option<PathBuf>)> = found
        .iter()
        .filter_map(|(kernel, library)| Some((*kernel, library.as_ref().ok()?.clone())))
        .collect();
    let outcomes = programs::in_turns(&there, options.rounds, |round, (kernel, library)| {
        progress(&format!(
            "{}, {}, round {round} of {}",
            workload.name, kernel.name, options.rounds
        ));
        let ledgers = Ledgers::new()?;
        workload.run(|command| {
            if let Some(library) = library {
                ledgers.watch(command, library, kernel.engines);
            }
        })
    })?;
    workload.same_results(outcomes.iter().flatten())?;
    let mut kernels: BTreeMap<_, _> =
        there.iter().zip(outcomes).map(|((kernel, _), runs)| (kernel.name, Ok(runs))).collect();
    kernels.extend(
        found.into_iter().filter_map(|(kernel, library)| Some((kernel.name, Err(library.err()?)))),
    );
    Ok(Measured { name: workload.name.clone(), kernels })
}

impl Measured {
    fn runs(&self, kernel: &Kernel) -> Result<&Vec<Run>, String> {
        match self.kernels.get(kernel.name) {
            Some(runs) => runs.as_ref().map_err(Clone::clone),
            None => Err("not measured".to_owned()),
        }
    }

    /// The figures of both kernels' runs in the same rounds.
    fn pairs(
        &self,
        of: &Kernel,
        base: &Kernel,
        estimate: impl Fn(&[Run], &[Run]) -> Estimate,
    ) -> Result<Estimate, String> {
        Ok(estimate(self.runs(of)?, self.runs(base)?))
    }

    fn more(&self, of: &Kernel, base: &Kernel, figure: fn(&Run) -> f64) -> Here {
        Here::of(self.pairs(of, base, |of, base| more(of, base, figure)))
    }
}

fn elapsed(run: &Run) -> f64 {
    run.elapsed
}

fn builds(measured: &Measured) -> Comparison {
    let [kernel2, kernel3, kernel4, after] = PUBLISHED[0].1;
    let row = |kernel: &Kernel, published, figure, what: &str| {
        let here = measured.more(kernel, &NATIVE, figure);
        Row::new(format!("{}{what}", kernel.name), Unit::MorePercent, published, here)
    };
    let mut rows = vec![
        row(&UNDONE, Some(kernel2), elapsed, ""),
        row(&SHIPPED, Some(kernel3), elapsed, ""),
        row(&DEBUG, Some(kernel4), elapsed, ""),
        row(&CHECKED, None, elapsed, ""),
    ];
    rows.extend(
        [&UNDONE, &SHIPPED, &DEBUG, &CHECKED]
            .map(|kernel| row(kernel, None, Run::cpu, ": processor time")),
    );
    rows.push(Row::new(
        "shipped against all patches undone",
        Unit::MorePercent,
        Some(after),
        measured.more(&SHIPPED, &UNDONE, elapsed),
    ));
    Comparison {
        title: format!("Time more than native, {} (published: {})", measured.name, PUBLISHED[0].0),
        rows,
    }
}

fn patches(measured: &Measured) -> Comparison {
    let rows = |figure: fn(&Run) -> f64, what: &'static str| {
        EACH.iter().map(move |kernel| {
            let here = measured.more(kernel, &SHIPPED, figure);
            Row::new(format!("{}{what}", kernel.name), Unit::MorePercent, None, here)
        })
    };
    Comparison {
        title: format!("Time more than shipped, one patch undone, {}", measured.name),
        rows: rows(elapsed, "").chain(rows(Run::cpu, ": processor time")).collect(),
    }
}

fn others(all: &[Measured]) -> Comparison {
    let rows = |measured| {
        [
            (&UNDONE, elapsed as fn(&Run) -> f64, ""),
            (&SHIPPED, elapsed, ""),
            (&SHIPPED, Run::cpu, ": processor time"),
        ]
        .map(|(kernel, figure, what)| {
            let here = Measured::more(measured, kernel, &NATIVE, figure);
            Row::new(
                format!("{}, {}{what}", measured.name, kernel.name),
                Unit::MorePercent,
                None,
                here,
            )
        })
    };
    Comparison {
        title: "Time more than native, the driver otherwise".to_owned(),
        rows: all.iter().flat_map(rows).collect(),
    }
}

/// The times themselves: other builds, on other machines.
fn seconds(measured: &Measured) -> Comparison {
    let mut rows = Vec::new();
    for (at, (system, published)) in SECONDS.iter().enumerate() {
        for (kernel, published) in [&NATIVE, &UNDONE, &SHIPPED, &DEBUG].into_iter().zip(published) {
            let best = |runs: &Vec<Run>| {
                let seconds = runs.iter().take(BEST_OF).map(elapsed);
                Here::Counted(seconds.fold(f64::INFINITY, f64::min))
            };
            let here = match at {
                0 => measured.runs(kernel).map_or_else(Here::Missing, best),
                _ => Here::Nothing(TOO_SMALL),
            };
            let what = format!("{}, published of {system}", kernel.name);
            rows.push(Row::new(what, Unit::Seconds, Some(*published), here));
        }
    }
    Comparison {
        title: format!(
            "Seconds of a build, best of {BEST_OF}: a kernel's, and here {}",
            measured.name
        ),
        rows,
    }
}

fn larger() -> Comparison {
    let (system, published) = PUBLISHED[1];
    let names = [
        "all patches undone",
        "shipped",
        "shipped, with debug counters",
        "shipped against all patches undone",
    ];
    let rows = names.into_iter().zip(published);
    Comparison {
        title: format!("Time more than native (published: {system})"),
        rows: rows
            .map(|(name, published)| {
                Row::new(name, Unit::MorePercent, Some(published), Here::Nothing(TOO_SMALL))
            })
            .collect(),
    }
}

fn missing(name: &str, why: &str) -> Comparison {
    let rows = [&UNDONE, &SHIPPED, &DEBUG].into_iter().zip(PUBLISHED[0].1);
    Comparison {
        title: format!("Time more than native, {name} (published: {})", PUBLISHED[0].0),
        rows: rows
            .map(|(kernel, published)| {
                Row::new(
                    kernel.name,
                    Unit::MorePercent,
                    Some(published),
                    Here::Missing(why.to_owned()),
                )
            })
            .collect(),
    }
}

fn verdicts(measured: &Measured) -> Vec<Verdict> {
    let machines = Machines::published(PUBLISHED_CPUS);
    let name = &measured.name;
    let mut verdicts = Vec::new();
    let times = |of, base, figure: fn(&Run) -> f64| {
        measured.pairs(of, base, |of, base| ratio(of, base, figure)).ok()
    };
    let point = |at: &str, asked, published, here| Point {
        at: at.to_owned(),
        asked,
        unit: Unit::Times,
        published,
        here,
    };
    let published = 1.0 + PUBLISHED[0].1[3] / 100.0;
    if let (Some(here), Some(asked)) =
        (times(&SHIPPED, &UNDONE, elapsed), Asked::side_of_one(published))
    {
        let faster = point("", asked, Some(published), here);
        let claim = format!("A build is faster with the patches ({name})");
        verdicts.push(machines.decide(claim, &[faster], " (of the time)"));
    }
    for (kernel, words) in [(&SHIPPED, "lockdep"), (&CHECKED, "lockdep and debugobjects")] {
        let figures = [("time", elapsed as fn(&Run) -> f64), ("processor time", Run::cpu)];
        let points = figures.into_iter().filter_map(|(at, figure)| {
            Some(point(at, Asked::below(AIM), None, times(kernel, &NATIVE, figure)?))
        });
        let points: Vec<_> = points.collect();
        if !points.is_empty() {
            let claim = format!("Ours: {words} cost a build at most 5 % ({name})");
            verdicts.push(Machines::own().decide(claim, &points, " (of native)"));
        }
    }
    verdicts.extend(last_two(measured));
    verdicts
}

/// Whether undoing patches 4 and 5 costs more than undoing 2 and 3: by the rounds' differences.
fn last_two(measured: &Measured) -> Option<Verdict> {
    let shipped = measured.runs(&SHIPPED).ok()?;
    let worth: Vec<Vec<f64>> = EACH
        .iter()
        .map(|kernel| {
            let undone = measured.runs(kernel).ok()?;
            Some(
                undone
                    .iter()
                    .zip(shipped)
                    .map(|(u, s)| 100.0 * (u.cpu() / s.cpu() - 1.0))
                    .collect(),
            )
        })
        .collect::<Option<_>>()?;
    let difference =
        |round: usize| worth[3][round] + worth[4][round] - worth[1][round] - worth[2][round];
    let here = stats::estimate(&(0..shipped.len()).map(difference).collect::<Vec<_>>());
    let medians: Vec<_> =
        worth.iter().map(|worth| format!("{:+.1} %", stats::median(worth))).collect();
    let point = Point {
        at: String::new(),
        asked: Asked::more_by_hundredths(),
        unit: Unit::MorePercent,
        published: None,
        here,
    };
    Some(Machines::published(PUBLISHED_CPUS).decide(
        format!("The last two patches yield most ({})", measured.name),
        &[point],
        &format!(
            " more for 4 and 5 together than for 2 and 3; undone, patches 1 to 5 cost {} of the processor time; \
             published without figures",
            medians.join(", ")
        ),
    ))
}

/// The same by exact counts of one thread, which know nothing of cache lines that move.
fn by_instructions(counts: &[instructions::Count]) -> Option<Verdict> {
    let of = |kernel: &Kernel| {
        let count = counts.iter().find(|count| count.name == kernel.name)?;
        Some(count.pairs.iter().sum::<f64>() / count.pairs.len() as f64)
    };
    let shipped = of(&SHIPPED)?;
    let worth: Vec<f64> =
        EACH[1..].iter().map(|kernel| Some(of(kernel)? - shipped)).collect::<Option<_>>()?;
    let more = worth[2] + worth[3] - worth[0] - worth[1];
    let point = Point {
        at: String::new(),
        asked: Asked::above(0.0),
        unit: Unit::Count,
        published: None,
        here: Estimate { median: more, low: more, high: more, confidence: 1.0 },
    };
    Some(Machines::own().decide(
        "The last two patches save most instructions (a lock and its unlock)",
        &[point],
        &format!(
            " more for 4 and 5 together than for 2 and 3; undone, patches 2 to 5 cost {:+.1}, {:+.1}, {:+.1}, {:+.1} \
             instructions; what a cache line costs that moves between CPUs is not in them; published without figures",
            worth[0], worth[1], worth[2], worth[3]
        ),
    ))
}

/// Everything that was measured of a workload.
fn section(measured: &Measured) -> Section {
    let native = measured.runs(&NATIVE).ok();
    let best = |runs: &[Run]| runs.iter().take(BEST_OF).map(elapsed).fold(f64::INFINITY, f64::min);
    let mut rows = Vec::new();
    for kernel in ALL {
        let Some(runs) = measured.kernels.get(kernel.name) else { continue };
        let runs = match runs {
            Ok(runs) => runs,
            Err(why) => {
                rows.push(
                    [kernel.name.to_owned(), why.clone()]
                        .into_iter()
                        .chain(vec![String::new(); 7])
                        .collect(),
                );
                continue;
            }
        };
        let mut cells = vec![
            kernel.name.to_owned(),
            format!("{:.3} s", median(runs, elapsed)),
            format!("{:.3} s", best(runs)),
        ];
        if let Some(native) = native {
            let (time, cpu) = (ratio(runs, native, elapsed), ratio(runs, native, Run::cpu));
            cells.push(format!("{:+.1} %", 100.0 * (best(runs) / best(native) - 1.0)));
            cells.push(format!("{:.3}", time.median));
            cells.push(format!("{:.3} to {:.3}", time.low, time.high));
            cells.push(format!("{:.3} s", median(runs, Run::cpu)));
            cells.push(format!("{:.3}", cpu.median));
            cells.push(format!("{:.3} to {:.3}", cpu.low, cpu.high));
        }
        rows.push(cells);
    }
    Section {
        title: format!("Builds: {}", measured.name),
        columns: vec![
            "library",
            "time",
            "best of 3",
            "best more than native",
            "ratio",
            "interval",
            "processor time",
            "ratio of it",
            "interval of it",
        ],
        rows,
        notes: notes(measured),
        json: json!(measured.kernels.iter().filter_map(|(name, runs)| {
            let runs = runs.as_ref().ok()?;
            let figures: Vec<_> = runs.iter().map(|run| json!({ "elapsed": run.elapsed, "user": run.user, "system": run.system })).collect();
            Some((*name, figures))
        }).collect::<BTreeMap<_, _>>()),
    }
}

/// How lock-rich the driver was.
fn notes(measured: &Measured) -> Vec<String> {
    let of_driver = |runs: &Vec<Run>| {
        let run = runs.first()?;
        let locks = programs::number(&run.text, "locks taken").ok()?;
        Some(format!(
            "{} locks taken in a run: {:.2} million for each second of processor time.",
            crate::bench::grouped_signed(locks as i64),
            locks / 1e6 / run.cpu()
        ))
    };
    let native = measured.runs(&NATIVE).ok();
    let mut notes = vec![
        "Medians of all rounds, and of their ratios to native; the best of the first three runs as published."
            .to_owned(),
    ];
    notes.extend(native.and_then(of_driver));
    notes
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Outcome;
    use super::*;

    /// Rounds in which undoing patches 1 to 5 costs so many hundredths of the processor time.
    fn measured(costs: [f64; 5]) -> Measured {
        let run =
            |seconds| Run { elapsed: seconds, user: seconds, system: 0.0, text: String::new() };
        let rounds = |cost: f64| {
            // Each round of all kernels is as much disturbed.
            Ok((0..7)
                .map(|round| run((1.0 + cost / 100.0) * (1.0 + f64::from(round) / 10.0)))
                .collect())
        };
        let mut kernels: BTreeMap<_, _> =
            EACH.iter().zip(costs).map(|(kernel, cost)| (kernel.name, rounds(cost))).collect();
        kernels.insert(SHIPPED.name, rounds(0.0));
        kernels.insert(DEBUG.name, Err("no such library".to_owned()));
        Measured { name: "planted".to_owned(), kernels }
    }

    #[test]
    fn the_verdict_on_the_last_two_follows_the_figures() {
        let of = |costs| last_two(&measured(costs)).expect("all are there").outcome;
        assert_eq!(of([0.0, 1.0, 1.0, 5.0, 2.0]), Outcome::Agrees);
        assert_eq!(of([0.0, 5.0, 1.0, 1.0, 2.0]), Outcome::Differs(1, 1));
        assert_eq!(of([0.0, 1.0, 2.0, 2.0, 1.0]), Outcome::TooSmall);
    }

    #[test]
    fn what_is_missing_is_a_row() {
        let measured = measured([0.0; 5]);
        let row = builds(&measured).rows.remove(2);
        assert!(matches!(&row.here, Here::Missing(why) if why == "no such library"));
        assert!(section(&measured).rows.iter().any(|row| row[1] == "no such library"));
    }

    #[test]
    fn hundredths_more_are_of_the_same_round() {
        let measured = measured([0.0, 0.0, 0.0, 10.0, 0.0]);
        let figure = measured.more(&EACH[3], &SHIPPED, elapsed).figure().unwrap();
        assert!((figure - 10.0).abs() < 1e-9, "{figure}");
    }
}
