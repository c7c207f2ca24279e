//! Hansen's 2002 patches: the big kernel lock as lockmeter saw it, before and after four of them.
//! The program is examples/c/bkl_fs: a file system in memory, whose call sites have the published
//! names.

pub mod published;
mod runs;

use std::collections::HashMap;

use serde_json::json;

use super::publication::{Block, Comparison, Here, NONE_BEFORE, Publication, Row};
use super::unit::Unit;
use super::verdict::{Asked, Machines, Point, Verdict};
use super::{Options, Progress};
use crate::bench::Section;
use lockwright_measure::stats::{self, Estimate};
use published::{AFTER, BEFORE, Published, share};
use runs::{Arm, Run, Runs};

/// Measures it.
///
/// # Errors
/// If the program fails, finds its file system inconsistent, or cannot be measured.
pub fn measure(options: &Options, progress: Progress<'_>) -> Result<Publication, String> {
    let runs = match options.parts.find("bkl_fs") {
        Ok(program) => Ok(runs::measure(options, &program, progress)?),
        Err(why) => Err(why),
    };
    let of = Figures(runs.as_ref().map_err(String::clone));
    let clients = runs::clients();
    Ok(Publication {
        number: 2,
        title: "BKL removal patches for 2.4.17",
        source: "Dave Hansen, 2002; dbench on Linux 2.4.17, on 8 CPUs as its waiting time tells.",
        method: vec![format!(
            "The program is examples/c/bkl_fs: ext2's operations on a file system in memory, under one `lw_bkl_t`, \
             and {clients} clients that work like dbench's. It checks the file system at its end. Each patch is a \
             switch of it. The kernel's lock spins and its holder keeps its CPU. This one sleeps, and a holder can \
             lose its CPU, so there is a client for each CPU. Holds are shorter than in 2002, and so is the work \
             between them. With fewer CPUs, fewer threads meet at the lock."
        )],
        comparisons: vec![
            of.lock(),
            of.patches(),
            of.exit(),
            of.shares("before", &BEFORE),
            of.shares("after", &AFTER),
        ],
        sections: runs.as_ref().map(sites).unwrap_or_default(),
        blocks: runs.as_ref().map(blocks).unwrap_or_default(),
        verdicts: runs.as_ref().map(verdicts).unwrap_or_default(),
    })
}

/// CPUs of the published machine.
const PUBLISHED_CPUS: usize = 8;

/// Times.
const MUCH_LONGER: f64 = 100.0;

/// Why the counts of acquisitions decide nothing.
const SET_BY_COUNTS: &str = "the clients' mix of operations was set by the published counts";

/// A figure of a run.
type Figure = fn(&Run) -> f64;

/// What was published of it.
type PublishedFigure = fn(&Published) -> f64;

/// The lock's own figures, as the table's first line has them: name, unit, how it is read.
const FIGURES: [(&str, Unit, Figure, PublishedFigure); 7] = [
    ("utilisation", Unit::Percent, |run| run.utilisation, |table| table.utilisation),
    ("contention", Unit::Percent, |run| run.contention(), |table| table.contention),
    ("acquisitions", Unit::Count, |run| run.acquisitions, |table| table.acquisitions as f64),
    ("waiting, of all CPUs' time", Unit::Percent, |run| run.wait_cpu, |table| table.wait_cpu),
    ("longest hold", Unit::Milliseconds, |run| run.longest_ms, |table| table.longest_ms),
    ("mean hold", Unit::Microseconds, |run| run.hold_us, |table| table.hold_us),
    ("mean wait", Unit::Microseconds, |run| run.wait_us, |table| table.wait_us),
];

/// All runs, or why there are none.
struct Figures<'r>(Result<&'r Runs, String>);

impl Figures<'_> {
    fn of(&self, arm: Arm, figure: impl Fn(&Run) -> f64) -> Here {
        Here::of(self.0.clone().map(|runs| estimate(runs.of(arm), figure)))
    }

    fn ratio(&self, arm: Arm, figure: impl Fn(&Run) -> f64) -> Here {
        match &self.0 {
            Ok(runs) => {
                against(runs, arm, figure).map_or(Here::Nothing(NONE_BEFORE), Here::Measured)
            }
            Err(why) => Here::Missing(why.clone()),
        }
    }

    /// The first line of both tables.
    fn lock(&self) -> Comparison {
        let mut rows = Vec::new();
        for (name, unit, here, there) in FIGURES {
            for (when, arm, table) in
                [("before", Arm::Before, &BEFORE), ("after", Arm::Rollup, &AFTER)]
            {
                let here = self.of(arm, here);
                rows.push(Row::new(format!("{name}, {when}"), unit, Some(there(table)), here));
            }
            let published = there(&AFTER) / there(&BEFORE);
            let ratio = self.ratio(Arm::Rollup, here);
            let what = format!("{name}, after over before");
            rows.push(Row::new(what, Unit::Times, Some(published), ratio));
        }
        Comparison { title: "The big kernel lock".to_owned(), rows }
    }

    /// What each switch does alone, which the document does not tell.
    fn patches(&self) -> Comparison {
        let rows = FIGURES.iter().flat_map(|(name, _, figure, _)| {
            Arm::ALONE.map(|arm| {
                let ratio = self.ratio(arm, figure);
                Row::new(format!("{name}, {}", arm.switch()), Unit::Times, None, ratio)
            })
        });
        Comparison { title: "Each patch alone, over none of them".to_owned(), rows: rows.collect() }
    }

    /// The first patch's pair.
    fn exit(&self) -> Comparison {
        let (before, after) = (Arm::Before, Arm::Rollup);
        let [exit, sem_exit] = published::EXIT;
        let of = |name: &'static str| move |run: &Run| run.site(name);
        let rows = vec![
            Row::new(
                "do_exit before, mean hold",
                Unit::Microseconds,
                Some(exit.mean_us),
                self.of(before, |run| of("do_exit")(run).mean_us()),
            ),
            Row::new(
                "do_exit before, longest hold",
                Unit::Microseconds,
                Some(exit.longest_us),
                self.of(before, |run| of("do_exit")(run).longest_us),
            ),
            Row::new(
                "sem_exit after, mean hold",
                Unit::Microseconds,
                Some(sem_exit.mean_us),
                self.of(after, |run| of("sem_exit")(run).mean_us()),
            ),
            Row::new(
                "sem_exit after, longest hold",
                Unit::Microseconds,
                Some(sem_exit.longest_us),
                self.of(after, |run| of("sem_exit")(run).longest_us),
            ),
        ];
        Comparison { title: "The end of a process".to_owned(), rows }
    }

    /// The functions that take the lock, compared with a published table.
    fn shares(&self, when: &str, table: &Published) -> Comparison {
        let arm = if when == "before" { Arm::Before } else { Arm::Rollup };
        // Sites of one function are one here.
        let mut functions: Vec<&'static str> =
            table.sites.iter().map(|site| site.function).collect();
        functions.dedup();
        let rows = functions.into_iter().map(|name| {
            let here =
                self.of(arm, |run| 100.0 * run.site(name).acquisitions / run.acquisitions.max(1.0));
            Row::new(name, Unit::Percent, Some(share(table, name)), here)
        });
        Comparison { title: format!("Shares of the acquisitions, {when}"), rows: rows.collect() }
    }
}

fn estimate(runs: &[Run], figure: impl Fn(&Run) -> f64) -> Estimate {
    stats::estimate(&runs.iter().map(figure).collect::<Vec<_>>())
}

/// Ratios to no patch, of the rounds in which that has a figure.
fn against(runs: &Runs, arm: Arm, figure: impl Fn(&Run) -> f64) -> Option<Estimate> {
    let pairs = runs.of(arm).iter().zip(runs.of(Arm::Before));
    let ratios: Vec<_> = pairs
        .filter(|(_, before)| figure(before) > 0.0)
        .map(|(after, before)| figure(after) / figure(before))
        .collect();
    (!ratios.is_empty()).then(|| stats::estimate(&ratios))
}

/// TOTAL, CON, and the means of HOLD and WAIT: published, and this machine's if it has the site.
type SiteFigures = [(Unit, f64, Option<f64>); 4];

/// The rows of both tables, each with this machine's figures of the site: within a function they are
/// in the order of its lines.
fn sites(runs: &Runs) -> Vec<Section> {
    let section = |when: &str, arm: Arm, table: &Published| {
        let mut nth: HashMap<&str, usize> = HashMap::new();
        let rows = table.sites.iter().map(|site| {
            let counter = nth.entry(site.function).or_default();
            let at = *counter;
            *counter += 1;
            let here = |figure: fn(&runs::Site) -> f64| {
                let figures = runs.of(arm).iter().filter_map(|run| run.nth_site(site.function, at));
                let figures: Vec<f64> = figures.map(figure).collect();
                (!figures.is_empty()).then(|| stats::median(&figures))
            };
            let figures = [
                (Unit::Count, site.acquisitions as f64, here(|site| site.acquisitions)),
                (Unit::Percent, site.contention, here(runs::Site::contention)),
                (Unit::Microseconds, site.hold_us, here(runs::Site::mean_us)),
                (Unit::Microseconds, site.wait_us, here(runs::Site::mean_wait_us)),
            ];
            (site.function, figures)
        });
        let rows: Vec<_> = rows.collect();
        let cells = |(function, figures): &(&str, SiteFigures)| {
            let both = figures.iter().flat_map(|(unit, published, here)| {
                let here = here.map_or("no such site".to_owned(), |here| unit.show(here));
                [unit.show(*published), here]
            });
            std::iter::once((*function).to_owned()).chain(both).collect()
        };
        let json = rows.iter().map(|(function, figures)| {
            let [acquisitions, contention, hold, wait] =
                figures.map(|(_, published, here)| json!({ "published": published, "here": here }));
            json!({
                "function": function, "acquisitions": acquisitions, "contention": contention,
                "hold_us": hold, "wait_us": wait,
            })
        });
        Section {
            title: format!("Sites {when} the rollup"),
            columns: vec![
                "function",
                "TOTAL, published",
                "here",
                "CON, published",
                "here",
                "mean hold, published",
                "here",
                "mean wait, published",
                "here",
            ],
            notes: vec![
                "The published TOTAL is what the program's mix of operations was set by. A function with several \
                 rows has them in the order of its code."
                    .to_owned(),
            ],
            json: json.collect(),
            rows: rows.iter().map(cells).collect(),
        }
    };
    vec![section("before", Arm::Before, &BEFORE), section("after", Arm::Rollup, &AFTER)]
}

fn blocks(runs: &Runs) -> Vec<Block> {
    let table = |when: &str, arm: Arm| {
        let text = runs.of(arm).last().map(|run| run.table.clone()).unwrap_or_default();
        Block { title: format!("lockmeter's table {when}, of the last round"), text }
    };
    vec![
        table("before", Arm::Before),
        table("after", Arm::Rollup),
        Block { title: "lockwright diff of all rounds".to_owned(), text: runs.diff.clone() },
    ]
}

fn verdicts(runs: &Runs) -> Vec<Verdict> {
    let machines = Machines::published(PUBLISHED_CPUS);
    let claims = [
        "After the rollup the lock is held for less of the time",
        "After it less of the acquisitions are contended",
        "After it there are about half as many acquisitions",
        "After it CPUs wait less for it",
        "After it the longest hold is shorter",
        "After it the mean hold is longer",
        "After it those that wait do so for longer",
    ];
    let mut verdicts = Vec::new();
    for (claim, (name, _, figure, there)) in claims.into_iter().zip(FIGURES) {
        let published = there(&AFTER) / there(&BEFORE);
        let point = against(runs, Arm::Rollup, figure).zip(Asked::side_of_one(published)).map(
            |(here, asked)| Point {
                at: String::new(),
                asked,
                unit: Unit::Times,
                published: Some(published),
                here,
            },
        );
        verdicts.push(match (name, &point) {
            ("acquisitions", Some(point)) => Verdict::input(claim, point, SET_BY_COUNTS),
            _ => machines.decide(claim, point.as_slice(), " (after over before)"),
        });
    }
    let [exit, sem_exit] = published::EXIT;
    let published = exit.mean_us / sem_exit.mean_us;
    let longer =
        runs.of(Arm::Before).iter().zip(runs.of(Arm::Rollup)).filter_map(|(before, after)| {
            let after = after.site("sem_exit").mean_us();
            (after > 0.0).then(|| before.site("do_exit").mean_us() / after)
        });
    let longer: Vec<f64> = longer.collect();
    let point = (!longer.is_empty()).then(|| Point {
        at: String::new(),
        asked: Asked::side_of(MUCH_LONGER, published),
        unit: Unit::Times,
        published: Some(published),
        here: stats::estimate(&longer),
    });
    verdicts.push(machines.decide(
        format!("do_exit held it at least {MUCH_LONGER} times as long as sem_exit does"),
        point.as_slice(),
        " (times the mean)",
    ));
    let lseek = estimate(runs.of(Arm::Before), |run| {
        100.0 * run.site("sys_lseek").acquisitions / run.acquisitions.max(1.0)
    });
    let published = share(&BEFORE, "sys_lseek");
    let lseek = Point {
        at: String::new(),
        asked: Asked::side_of(45.0, published),
        unit: Unit::Percent,
        published: Some(published),
        here: lseek,
    };
    let claim = "Half of all acquisitions before are sys_lseek's";
    verdicts.push(Verdict::input(claim, &lseek, SET_BY_COUNTS));
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_contended_before_has_no_ratio_and_is_no_fault() {
        let mut quiet = Run::default();
        (quiet.acquisitions, quiet.utilisation) = (100.0, 1.0);
        let runs = Runs::all_alike(&quiet);
        let of = Figures(Ok(&runs));
        let contention = of.ratio(Arm::Rollup, Run::contention);
        assert!(matches!(contention, Here::Nothing(NONE_BEFORE)));
        let utilisation = of.ratio(Arm::Rollup, |run| run.utilisation);
        assert_eq!(utilisation.figure(), Some(1.0));
        let of = Figures(Err("no such program".to_owned()));
        assert!(matches!(of.ratio(Arm::Rollup, Run::contention), Here::Missing(_)));
    }
}
