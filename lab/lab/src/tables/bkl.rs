//! Hansen's 2002 patches: the big kernel lock as lockmeter saw it, before and after four of them.
//! The program is examples/c/bkl_fs: a file system in memory, whose call sites have the published
//! names.

pub mod published;
mod runs;

use super::publication::{
    Block, Comparison, Here, NONE_BEFORE, Publication, Row, Unit, Verdict, is_below,
};
use super::{Options, Progress};
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
        sections: Vec::new(),
        blocks: runs.as_ref().map(blocks).unwrap_or_default(),
        verdicts: runs.as_ref().map(verdicts).unwrap_or_default(),
    })
}

/// A figure of a run.
type Figure = fn(&Run) -> f64;

/// What was published of it.
type PublishedFigure = fn(&Published) -> f64;

/// The lock's own figures, as the table's first line has them: name, unit, how it is read.
const FIGURES: [(&str, Unit, Figure, PublishedFigure); 5] = [
    ("utilisation", Unit::Percent, |run| run.utilisation, |table| table.utilisation),
    ("contention", Unit::Percent, |run| run.contention(), |table| table.contention),
    ("acquisitions", Unit::Count, |run| run.acquisitions, |table| table.acquisitions as f64),
    ("waiting, of all CPUs' time", Unit::Percent, |run| run.wait_cpu, |table| table.wait_cpu),
    ("longest hold", Unit::Milliseconds, |run| run.longest_ms, |table| table.longest_ms),
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
        let rows = table.sites.iter().map(|&(name, _)| {
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
    let claims = [
        "After the rollup the lock is held for less of the time",
        "After it less of the acquisitions are contended",
        "After it there are about half as many acquisitions (0.4 to 0.6)",
        "After it CPUs wait less for it",
        "After it the longest hold is shorter",
    ];
    let mut verdicts: Vec<_> = claims
        .into_iter()
        .zip(FIGURES)
        .map(|(claim, (name, _, figure, there))| {
            let ratio = against(runs, Arm::Rollup, figure);
            let here = ratio.map_or("no figure".to_owned(), |ratio| {
                format!("{:.3} times, {:.3} to {:.3}", ratio.median, ratio.low, ratio.high)
            });
            let holds = ratio.and_then(|ratio| match name {
                // Counts hardly differ from round to round.
                "acquisitions" => Some(ratio.low >= 0.4 && ratio.high <= 0.6),
                _ => is_below(&ratio, 1.0),
            });
            let published = there(&AFTER) / there(&BEFORE);
            let because = format!("{here}; published {published:.3}");
            Verdict { claim: claim.to_owned(), holds, because }
        })
        .collect();
    let mean = |arm: Arm, name: &str| estimate(runs.of(arm), |run| run.site(name).mean_us());
    let (exit, sem_exit) = (mean(Arm::Before, "do_exit"), mean(Arm::Rollup, "sem_exit"));
    let times = exit.median / sem_exit.median;
    verdicts.push(Verdict {
        claim: "do_exit held it at least 100 times as long as sem_exit does".to_owned(),
        holds: times.is_finite().then_some(times >= 100.0),
        because: format!("{times:.0} times; published 4,819 times by the means"),
    });
    let lseek = estimate(runs.of(Arm::Before), |run| {
        100.0 * run.site("sys_lseek").acquisitions / run.acquisitions.max(1.0)
    });
    verdicts.push(Verdict {
        claim: "Half of all acquisitions before are sys_lseek's (45 to 55 %)".to_owned(),
        holds: Some(lseek.low >= 45.0 && lseek.high <= 55.0),
        because: format!("{:.1} %; published {:.1} %", lseek.median, share(&BEFORE, "sys_lseek")),
    });
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
