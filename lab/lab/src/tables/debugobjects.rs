//! Long's 2019 debugobjects patches: its pools, in builds and in programs with many short-lived
//! objects.

use std::process::Command;
use std::thread;

use serde_json::json;

use super::programs::{self, Ledgers, Run, median, more, number, ratio};
use super::publication::{Block, Comparison, Here, Publication, Row};
use super::unit::Unit;
use super::verdict::{Asked, Machines, Point, Verdict};
use super::workload::{self, Workload};
use super::{Options, Progress};
use crate::bench::published::{POOLS, Pools as PublishedPools};
use crate::bench::{Section, grouped_signed};
use lockwright_measure::stats::{self, Estimate};

/// The preload library whose pools have the patches that the environment names.
const LIBRARY: &str = "preload/pool-switches.so";
const SWITCHES: &str = "LOCKWRIGHT_POOL_SWITCHES";

/// Which of the five patches there are; none: without the library.
struct Pools {
    name: &'static str,
    patches: Option<u32>,
}

/// The first `n` patches: the lowest bits.
const fn first(name: &'static str, n: u32) -> Pools {
    Pools { name, patches: Some((1 << n) - 1) }
}

// Indices of arms.
const NONE: usize = 1;
const THREE: usize = 4;
const FOUR: usize = 5;
const ALL: usize = 6;

const ARMS: [Pools; 7] = [
    Pools { name: "native", patches: None },
    first("none", 0),
    first("1: threads' pools", 1),
    first("1 and 2: look-ahead", 2),
    first("1 to 3: batched filling", 3),
    first("1 to 4: lazy freeing", 4),
    first("1 to 5: all", 5),
];

/// The fields of the document's statistics, and what they were before and after.
const FIELDS: [(&str, Option<u64>, u64); 8] = [
    ("pool_free", Some(3_082), 5_901),
    ("pool_pcp_free", None, 3_742),
    ("pool_min_free", Some(498), 1_022),
    ("pool_used", Some(108_488), 104_805),
    ("pool_max_used", Some(170_127), 168_081),
    ("on_free_list", Some(0), 0),
    ("objs_allocated", Some(POOLS.allocated[0]), POOLS.allocated[1]),
    ("objs_freed", Some(34_844_371), 5_687_182),
];

/// Hardware threads of the published machine.
const PUBLISHED_CPUS: usize = 72;

/// Objects had from the slab with the first three patches, as the fourth's own mail has it.
const ALLOCATED_BY_THREE: u64 = 39_268_280;

/// One run, and the statistics that it left.
struct Outcome {
    run: Run,
    /// Empty natively.
    statistics: String,
}

/// All rounds of a workload, by arm.
struct Measured {
    name: String,
    arms: Vec<Vec<Outcome>>,
}

/// Measures it.
///
/// # Errors
/// If what is there does not run to its end, or to another result.
pub fn measure(options: &Options, progress: Progress<'_>) -> Result<Publication, String> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let objects = ["--units", "400", "--scopes", "128"];
    let (mut all, mut comparisons) = (Vec::new(), Vec::new());
    for (name, workload) in [
        ("driver with many objects", workload::driver(options, cpus.max(2), &objects)),
        ("CPython with many futures", workload::futures(options)),
        ("driver", workload::driver(options, cpus, &[])),
        ("build of Lua", workload::make(options, cpus)),
    ] {
        let measured = workload.and_then(|mut workload| {
            options.parts.find(LIBRARY)?;
            if name == "driver with many objects" {
                workload.name += ", 128 locks created in each step";
            }
            Ok(workload)
        });
        match measured {
            Ok(workload) => all.push(run(&workload, options, progress)?),
            Err(why) => comparisons.push(missing(name, &why)),
        }
    }
    comparisons.splice(0..0, all.iter().map(comparison));
    let blocks = all.iter().take(2).flat_map(|measured| {
        [(NONE, "before"), (ALL, "after")].map(|(arm, when)| Block {
            title: format!("debug_objects/stats {when} the patches: {}", measured.name),
            text: measured.arms[arm]
                .first()
                .map_or_else(String::new, |o| in_the_documents_fields(&o.statistics)),
        })
    });
    Ok(Publication {
        number: 1,
        title: "debugobjects: Reduce global pool_lock contention",
        source: "Waiman Long, May 2019, linux-kernel; two Haswells of 36 cores and 72 threads.",
        method: vec![
            "The published objects are the timers, works and others of a kernel that builds a kernel. Here they are \
             mutexes and semaphores of programs, watched by debugobjects as under `lockwright check`. One library \
             has the patches that its environment names. A build by gcc has few objects, because its processes have \
             few locks: the programs with many objects stand for a kernel under load."
                .to_owned(),
        ],
        comparisons,
        verdicts: all.iter().flat_map(|measured| verdicts(measured, &POOLS)).collect(),
        sections: all.iter().map(section).collect(),
        blocks: blocks.collect(),
    })
}

fn run(workload: &Workload, options: &Options, progress: Progress<'_>) -> Result<Measured, String> {
    let library = options.parts.find(LIBRARY)?;
    let arms = programs::in_turns(&ARMS, options.rounds, |round, pools| {
        progress(&format!(
            "{}, {}, round {round} of {}",
            workload.name, pools.name, options.rounds
        ));
        let ledgers = Ledgers::new()?;
        let run = workload.run(|command| {
            if let Some(patches) = pools.patches {
                ledgers.watch(command, &library, "lockdep,debugobjects");
                command.env(SWITCHES, patches.to_string());
            }
        })?;
        let statistics = match pools.patches {
            Some(_) => statistics(options, &ledgers)?,
            None => String::new(),
        };
        Ok(Outcome { run, statistics })
    })?;
    workload.same_results(arms.iter().flatten().map(|outcome| &outcome.run))?;
    Ok(Measured { name: workload.name.clone(), arms })
}

/// What the tool reports about the pools in its ledgers, summed over all processes.
fn statistics(options: &Options, ledgers: &Ledgers) -> Result<String, String> {
    let mut tool = Command::new(&options.tool);
    let file = ledgers.path().join("statistics");
    tool.args(["report", "--stats", "--exit-code", "0", "--output"]).arg(&file).arg(ledgers.path());
    programs::run(&mut tool)?;
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    match text.split_once("\ndebug_objects:\n") {
        Some((_, statistics)) => Ok(statistics.to_owned()),
        None => Err(format!("no statistics of debugobjects in: {text}")),
    }
}

fn in_the_documents_fields(statistics: &str) -> String {
    let is_one = |line: &&str| {
        FIELDS.iter().any(|(name, ..)| line.split(':').next().map(str::trim) == Some(name))
    };
    statistics.lines().filter(is_one).map(|line| format!("{line}\n")).collect()
}

impl Measured {
    fn pairs(
        &self,
        of: usize,
        base: usize,
        estimate: impl Fn(&[Outcome], &[Outcome]) -> Estimate,
    ) -> Estimate {
        estimate(&self.arms[of], &self.arms[base])
    }

    /// By how much the fourth patch divides the allocations, over what the three before it divide
    /// them by: of the same rounds.
    fn fourth_over_others(&self) -> Estimate {
        let allocated = |arm: usize| {
            self.arms[arm].iter().map(|outcome| at_least_one(outcome, "objs_allocated"))
        };
        let rounds = allocated(NONE).zip(allocated(THREE)).zip(allocated(FOUR));
        let ratios = rounds.map(|((none, three), four)| (three / four) / (none / three));
        stats::estimate(&ratios.collect::<Vec<_>>())
    }
}

/// A statistic of a run; 0 where there is none.
fn statistic(outcome: &Outcome, name: &str) -> f64 {
    number(&outcome.statistics, name).unwrap_or(0.0)
}

/// As a figure of a ratio: what there is none of counts as one, so that there is a ratio.
fn at_least_one(outcome: &Outcome, name: &str) -> f64 {
    statistic(outcome, name).max(1.0)
}

fn elapsed(outcome: &Outcome) -> f64 {
    outcome.run.elapsed
}

fn cpu(outcome: &Outcome) -> f64 {
    outcome.run.cpu()
}

/// The kernel's clock for processes ticks; nothing is no time to divide by.
fn system(outcome: &Outcome) -> f64 {
    outcome.run.system.max(1e-3)
}

fn comparison(measured: &Measured) -> Comparison {
    let times = |of, base, name: &str| {
        Here::Measured(
            measured.pairs(of, base, |of, base| ratio(of, base, |o| at_least_one(o, name))),
        )
    };
    let hundredths = |figure: fn(&Outcome) -> f64| {
        Here::Measured(measured.pairs(ALL, NONE, |of, base| more(of, base, figure)))
    };
    let published = |of: u64, base: u64| Some(of as f64 / base as f64);
    let [.., allocated, freed] = FIELDS;
    let (allocated, freed) =
        ((allocated.1.unwrap_or(1), allocated.2), (freed.1.unwrap_or(1), freed.2));
    let mut rows = vec![
        Row::new(
            "objs_allocated, before over after",
            Unit::Times,
            published(allocated.0, allocated.1),
            times(NONE, ALL, "objs_allocated"),
        ),
        Row::new(
            "objs_freed, before over after",
            Unit::Times,
            published(freed.0, freed.1),
            times(NONE, ALL, "objs_freed"),
        ),
        Row::new(
            "objs_allocated, with patches 1 to 3 over 1 to 4",
            Unit::Times,
            published(ALLOCATED_BY_THREE, allocated.1),
            times(THREE, FOUR, "objs_allocated"),
        ),
        Row::new(
            "acquisitions of the pool's lock, before over after",
            Unit::Times,
            None,
            times(NONE, ALL, "pool_lock_acquired"),
        ),
        Row::new(
            "elapsed, after against before",
            Unit::MorePercent,
            Some(100.0 * (POOLS.elapsed[1] / POOLS.elapsed[0] - 1.0)),
            hundredths(elapsed),
        ),
        Row::new(
            "system time, after against before",
            Unit::MorePercent,
            Some(100.0 * (POOLS.system[1] / POOLS.system[0] - 1.0)),
            hundredths(system),
        ),
        Row::new("processor time, after against before", Unit::MorePercent, None, hundredths(cpu)),
    ];
    // Where no object was given back, the pools had nothing to do.
    let has_churn = median(&measured.arms[NONE], |outcome| statistic(outcome, "objs_freed")) > 0.0;
    for (name, before, after) in FIELDS.iter().filter(|_| has_churn) {
        for (arm, when, published) in [(NONE, "before", *before), (ALL, "after", Some(*after))] {
            let here =
                Here::Counted(median(&measured.arms[arm], |outcome| statistic(outcome, name)));
            rows.push(Row::new(
                format!("{name}, {when}"),
                Unit::Count,
                published.map(|n| n as f64),
                here,
            ));
        }
    }
    Comparison { title: format!("The pools before and after the patches: {}", measured.name), rows }
}

fn missing(name: &str, why: &str) -> Comparison {
    let row = |what: &str| Row::new(what, Unit::Times, None, Here::Missing(why.to_owned()));
    Comparison {
        title: format!("The pools before and after the patches: {name}"),
        rows: vec![row("all figures")],
    }
}

fn verdicts(measured: &Measured, published: &PublishedPools) -> Vec<Verdict> {
    let machines = Machines::published(PUBLISHED_CPUS);
    let name = &measured.name;
    let decide = |claim: &str, figure: f64, here, more: &str| {
        let point = Asked::side_of_one(figure).map(|asked| Point {
            at: String::new(),
            asked,
            unit: Unit::Times,
            published: Some(figure),
            here,
        });
        machines.decide(format!("{claim} ({name})"), point.as_slice(), more)
    };
    let times = |of, base, what: &str| {
        measured.pairs(of, base, |of, base| ratio(of, base, |o| at_least_one(o, what)))
    };
    let [before, after] = published.allocated.map(|objects| objects as f64);
    let by_three = ALLOCATED_BY_THREE as f64;
    let (by_fourth, by_others) =
        (times(THREE, FOUR, "objs_allocated"), times(NONE, THREE, "objs_allocated"));
    let said = |e: &Estimate| format!("{:.2} ({:.2} to {:.2})", e.median, e.low, e.high);
    vec![
        decide(
            "Objects are allocated and freed less often",
            before / after,
            times(NONE, ALL, "objs_allocated"),
            " (times before over after)",
        ),
        decide(
            "It is patch 4, lazy freeing, that does it",
            (by_three / after) / (before / by_three),
            measured.fourth_over_others(),
            &format!(
                ": patch 4 divides the allocations by {}, the three before it by {}; published {:.2} and {:.2}",
                said(&by_fourth),
                said(&by_others),
                by_three / after,
                before / by_three
            ),
        ),
        decide(
            "It takes less time",
            published.elapsed[1] / published.elapsed[0],
            measured.pairs(ALL, NONE, |of, base| ratio(of, base, elapsed)),
            " (of the time before)",
        ),
        decide(
            "The kernel has less to do",
            published.system[1] / published.system[0],
            measured.pairs(ALL, NONE, |of, base| ratio(of, base, system)),
            " (of the system time before)",
        ),
    ]
}

/// Everything that was measured of a workload.
fn section(measured: &Measured) -> Section {
    let count = |runs: &[Outcome], name: &str| match runs
        .iter()
        .all(|outcome| outcome.statistics.is_empty())
    {
        true => String::new(),
        false => grouped_signed(median(runs, |outcome| statistic(outcome, name)) as i64),
    };
    let row = |(arm, runs): (usize, &Vec<Outcome>)| {
        let against = measured.pairs(arm, NONE, |of, base| ratio(of, base, elapsed));
        let cpu_against = measured.pairs(arm, NONE, |of, base| ratio(of, base, cpu));
        let mut cells = vec![
            ARMS[arm].name.to_owned(),
            format!("{:.3} s", median(runs, elapsed)),
            format!("{:.3}", against.median),
            format!("{:.3} to {:.3}", against.low, against.high),
            format!("{:.3} s", median(runs, cpu)),
            format!("{:.3} to {:.3}", cpu_against.low, cpu_against.high),
            format!("{:.3} s", median(runs, |outcome| outcome.run.system)),
        ];
        cells.extend(
            ["objs_allocated", "objs_freed", "pool_lock_acquired", "pool_lock_contended"]
                .map(|name| count(runs, name)),
        );
        cells
    };
    let figures = |runs: &Vec<Outcome>| -> Vec<_> {
        let one = |o: &Outcome| json!({ "elapsed": o.run.elapsed, "user": o.run.user, "system": o.run.system, "statistics": o.statistics });
        runs.iter().map(one).collect()
    };
    Section {
        title: format!("Pools, cumulatively: {}", measured.name),
        columns: vec![
            "patches",
            "time",
            "against none",
            "interval",
            "processor time",
            "interval of its ratio",
            "system time",
            "objs_allocated",
            "objs_freed",
            "pool lock",
            "contended",
        ],
        rows: measured.arms.iter().enumerate().map(row).collect(),
        notes: vec![
            "Medians of all rounds; the pool's lock: how often it was taken, and waited for."
                .to_owned(),
        ],
        json: json!(
            ARMS.iter()
                .zip(&measured.arms)
                .map(|(arm, runs)| json!({ "patches": arm.name, "runs": figures(runs) }))
                .collect::<Vec<_>>()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict;
    use super::*;

    const STATISTICS: &str = "max_chain     :17\npool_free     :1172\npool_pcp_free :63\npool_min_free :320\npool_used     :5\n\
                              pool_max_used :6096\non_free_list  :4236\nobjs_allocated:14773\nobjs_freed    :9360\nlost          :0\n";

    #[test]
    fn the_block_has_the_documents_fields_and_no_other() {
        let block = in_the_documents_fields(STATISTICS);
        let names: Vec<_> =
            block.lines().map(|line| line.split(':').next().unwrap().trim()).collect();
        assert_eq!(names, FIELDS.map(|(name, ..)| name));
    }

    /// Seven rounds in which so many objects were allocated, by arm.
    fn measured(allocated: [u64; 7]) -> Measured {
        let outcome = |allocated| Outcome {
            run: Run { elapsed: 1.0, user: 1.0, system: 0.0, text: String::new() },
            statistics: format!("objs_allocated:{allocated}\n"),
        };
        let arms = allocated.map(|n| (0..7).map(|_| outcome(n)).collect());
        Measured { name: "planted".to_owned(), arms: arms.into() }
    }

    fn outcomes(allocated: [u64; 7], published: &PublishedPools) -> Vec<verdict::Outcome> {
        verdicts(&measured(allocated), published).iter().map(|verdict| verdict.outcome).collect()
    }

    #[test]
    fn the_verdicts_follow_the_figures() {
        let [agrees, differs] = [verdict::Outcome::Agrees, verdict::Outcome::Differs(1, 1)];
        let of = |allocated| outcomes(allocated, &POOLS);
        assert_eq!(of([0, 600, 600, 600, 650, 100, 100])[..2], [agrees; 2]);
        assert_eq!(of([0, 600, 600, 600, 120, 100, 100])[..2], [agrees, differs]);
        assert_eq!(of([0, 100, 100, 100, 100, 600, 600])[..2], [differs; 2]);
        // Without an object, and in the same time.
        assert_eq!(of([0; 7]), [verdict::Outcome::TooSmall; 4]);
    }

    #[test]
    fn the_other_way_round_published_would_be_another_verdict() {
        let of = |published| outcomes([0, 600, 600, 600, 650, 100, 100], published);
        let turned = |[before, after]: [u64; 2]| [after, before];
        let other = PublishedPools { allocated: turned(POOLS.allocated), ..POOLS };
        assert_eq!(
            (of(&POOLS)[0], of(&other)[0]),
            (verdict::Outcome::Agrees, verdict::Outcome::Differs(1, 1))
        );
        let slower = PublishedPools { elapsed: [POOLS.elapsed[1], POOLS.elapsed[0]], ..POOLS };
        let in_less_time = |published: &PublishedPools| {
            let mut measured = measured([1; 7]);
            measured.arms[ALL].iter_mut().for_each(|outcome| outcome.run.elapsed = 0.5);
            verdicts(&measured, published)[2].outcome
        };
        let both = (in_less_time(&POOLS), in_less_time(&slower));
        assert_eq!(both, (verdict::Outcome::Agrees, verdict::Outcome::Differs(1, 1)));
    }
}
