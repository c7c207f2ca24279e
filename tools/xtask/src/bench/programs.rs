//! `cargo xtask bench programs`: whole programs natively, under each of the tool's commands, and
//! under Helgrind, DRD and, where they are rebuilt for it, ThreadSanitizer: time from begin to end
//! without the report, processor time, and memory at its peak.

use std::fmt::Write;

use lockwright_measure::stats::{self, Estimate};
use serde_json::{Map, Value, json};

use super::arm::{Arm, Bench};
use super::comparison::{BenchOptions, conclude, machine};
use super::table::{facts, quantity, verdict};
use super::usage::{Usage, Used};
use super::whole::{self, Size, Whole};

/// What is compared with the program alone, and at which size.
const ARMS: [(Arm, Size, &str); 6] = [
    (Arm::Check, Size::Full, "check"),
    (Arm::Meter, Size::Full, "meter"),
    (Arm::Run, Size::Full, "run"),
    (Arm::Helgrind, Size::Small, "helgrind"),
    (Arm::Drd, Size::Small, "drd"),
    (Arm::Tsan, Size::Small, "tsan"),
];

/// Rounds of the last three: they are so far away that few tell.
const ROUNDS_OF_OTHERS: usize = 3;

/// KiB that the tool may take: in any case, for a lock, and for a thread.
const KIB: f64 = 16.0 * 1024.0;
const KIB_A_LOCK: f64 = 64.0 / 1024.0;
const KIB_A_THREAD: f64 = 64.0;

/// One program in all arms.
struct Line {
    name: &'static str,
    /// By the clock.
    aim: f64,
    /// KiB that the tool may have for that many locks and threads.
    allowance: f64,
    /// Medians alone, at the full size.
    full: Usage,
    /// At the small one, if it was measured.
    small: Option<Usage>,
    /// By arm; `None` where it was not run.
    arms: [Option<Against>; ARMS.len()],
}

/// An arm against the program alone at the same size, in the same round.
struct Against {
    /// Ratio of the times by the clock.
    time: Estimate,
    /// Ratio of the processor times.
    cpu: Estimate,
    /// KiB more.
    more: Estimate,
}

/// One table: a figure of every arm of every program.
struct Table {
    title: &'static str,
    /// Its name in JSON.
    key: &'static str,
    /// What the program has alone.
    alone: fn(&Usage) -> String,
    figure: fn(&Against) -> &Estimate,
    show: fn(&Estimate) -> String,
    /// What the tool's own arms are to stay below, and how that is shown.
    aim: fn(&Line) -> Option<(f64, String)>,
}

const TABLES: [Table; 3] = [
    Table {
        title: "time by the clock, times native",
        key: "time",
        alone: |usage| quantity(usage.seconds, "s"),
        figure: |arm| &arm.time,
        show: ratio,
        aim: |line| Some((line.aim, format!("{:.2}", line.aim))),
    },
    Table {
        title: "processor time, times native",
        key: "cpu",
        alone: |usage| quantity(usage.used.cpu, "s"),
        figure: |arm| &arm.cpu,
        show: ratio,
        aim: |_| None,
    },
    Table {
        title: "memory at its peak, MiB more than native",
        key: "kib_more",
        alone: |usage| format!("{:.1} MiB", usage.used.kib / 1024.0),
        figure: |arm| &arm.more,
        show: mebibytes,
        aim: |line| Some((line.allowance, format!("{:.1}", line.allowance / 1024.0))),
    },
];

/// Runs it.
pub fn run(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let rounds = if options.smoke { 1 } else { usize::from(options.rounds) };
    let wanted = |name: &str| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let machine = machine();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let (mut lines, mut skipped) = (Vec::new(), Vec::new());
    // Without the others the tool is still measured.
    let cannot: Vec<_> = [("helgrind", Arm::Helgrind), ("drd", Arm::Drd), ("tsan", Arm::Tsan)]
        .into_iter()
        .filter_map(|(name, arm)| Some((name, arm, bench.can(arm).err()?)))
        .collect();
    for (name, make) in whole::ALL.into_iter().filter(|(name, _)| wanted(name)) {
        eprintln!("{name} ...");
        // Not to take another program's for it.
        let _ = std::fs::remove_file(bench.report());
        match make(bench, &ARMS.map(|(arm, ..)| arm)) {
            Ok(mut program) => {
                program.others.retain(|arm| cannot.iter().all(|(_, cannot, _)| cannot != arm));
                let runs = rounds_of(&mut program, rounds).map_err(|e| format!("{name}: {e}"))?;
                let aim = program.aim;
                // A server's report is there when it has ended.
                drop(program);
                lines.push(Line::new(name, aim, allowance(bench)?, &runs)?);
            }
            Err(why) => skipped.push((name, why)),
        }
    }
    skipped.extend(cannot.into_iter().map(|(name, _, why)| (name, why)));

    print!("{}", text(&machine, load.trim(), &lines, rounds, &skipped));
    conclude(options, &to_json(&machine, load.trim(), &lines, rounds), skipped.is_empty())
}

/// What ran in one round.
type Round = Vec<(Arm, Size, Usage)>;

fn rounds_of(program: &mut Whole, rounds: usize) -> Result<Vec<Round>, String> {
    let mut all = Vec::new();
    for round in 0..rounds {
        let mut order = vec![(Arm::Native, Size::Full)];
        let others = if round < ROUNDS_OF_OTHERS { program.others.as_slice() } else { &[] };
        if !others.is_empty() {
            order.push((Arm::Native, Size::Small));
        }
        let arms = ARMS.iter().map(|&(arm, size, _)| (arm, size));
        order.extend(arms.filter(|(arm, size)| *size == Size::Full || others.contains(arm)));
        // The arms take turns to go first: a later one may find warmer caches, or a hotter
        // processor.
        let len = order.len();
        order.rotate_left(round % len);
        let measured = order
            .into_iter()
            .map(|(arm, size)| Ok((arm, size, (program.measure)(arm, size)?)))
            .collect::<Result<_, String>>()?;
        all.push(measured);
    }
    Ok(all)
}

/// KiB that the tool may take for the locks and threads of the last run under `check`.
fn allowance(bench: &Bench) -> Result<f64, String> {
    let file = bench.report();
    let report = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let report: Value = serde_json::from_slice(&report).map_err(|e| e.to_string())?;
    let count = |what: &str| report["summary"][what].as_f64().ok_or(format!("no {what}"));
    Ok(KIB + count("locks")? * KIB_A_LOCK + count("threads")? * KIB_A_THREAD)
}

impl Line {
    fn new(name: &'static str, aim: f64, allowance: f64, rounds: &[Round]) -> Result<Self, String> {
        let of = |round: &Round, arm, size| {
            round.iter().find(|(a, s, _)| (*a, *s) == (arm, size)).map(|(_, _, usage)| *usage)
        };
        let alone = |size| {
            let runs: Vec<Usage> =
                rounds.iter().filter_map(|round| of(round, Arm::Native, size)).collect();
            let median = |figure: fn(&Usage) -> f64| {
                stats::median(&runs.iter().map(figure).collect::<Vec<_>>())
            };
            (!runs.is_empty()).then(|| Usage {
                seconds: median(|usage| usage.seconds),
                used: Used { cpu: median(|u| u.used.cpu), kib: median(|u| u.used.kib) },
            })
        };
        let against = |(arm, size, _): (Arm, Size, &str)| {
            let pairs: Vec<(Usage, Usage)> = rounds
                .iter()
                .filter_map(|round| Some((of(round, Arm::Native, size)?, of(round, arm, size)?)))
                .collect();
            let estimate = |figure: fn(&(Usage, Usage)) -> f64| {
                stats::estimate(&pairs.iter().map(figure).collect::<Vec<_>>())
            };
            (!pairs.is_empty()).then(|| Against {
                time: estimate(|(alone, under)| under.seconds / alone.seconds),
                cpu: estimate(|(alone, under)| under.used.cpu / alone.used.cpu),
                more: estimate(|(alone, under)| under.used.kib - alone.used.kib),
            })
        };
        Ok(Self {
            name,
            aim,
            allowance,
            full: alone(Size::Full).ok_or("no native run")?,
            small: alone(Size::Small),
            arms: ARMS.map(against),
        })
    }
}

impl Table {
    fn text(&self, lines: &[Line]) -> String {
        let mut out = format!(
            "\n{:<40} {:>9}  {:<24} {:<24} {:<24} {:<5} {:>9}  {:<24} {:<24} {}\n",
            self.title,
            "native",
            "check",
            "meter",
            "run",
            "aim",
            "native, s",
            "helgrind, s",
            "drd, s",
            "tsan, s"
        );
        for line in lines {
            let small = line.small.as_ref().map_or_else(|| "-".to_owned(), self.alone);
            let (aim, shown) = (self.aim)(line).unzip();
            // Only the tool's own arms are compared with the aim.
            let [check, meter, run] = [0, 1, 2].map(|arm| self.cell(line.arms[arm].as_ref(), aim));
            let [helgrind, drd, tsan] =
                [3, 4, 5].map(|arm| self.cell(line.arms[arm].as_ref(), None));
            // Writing to a String cannot fail, here and below.
            let _ = writeln!(
                out,
                "{:<40} {:>9}  {check:<24} {meter:<24} {run:<24} {:<5} {small:>9}  {helgrind:<24} {drd:<24} {tsan}",
                line.name,
                (self.alone)(&line.full),
                shown.unwrap_or_default(),
            );
        }
        out
    }

    fn cell(&self, arm: Option<&Against>, aim: Option<f64>) -> String {
        let Some(arm) = arm else { return "-".to_owned() };
        let of = (self.figure)(arm);
        (self.show)(of) + aim.map_or("", |aim| verdict(of, aim))
    }
}

/// `1.08 (1.05-1.12)`.
fn ratio(of: &Estimate) -> String {
    let decimals = if of.median < 10.0 { 2 } else { 0 };
    format!("{:.decimals$} ({:.decimals$}-{:.decimals$})", of.median, of.low, of.high)
}

/// `7.4 (7.3 to 7.6)`, of KiB: there may be less than natively.
fn mebibytes(of: &Estimate) -> String {
    let [median, low, high] = [of.median, of.low, of.high].map(|kib| kib / 1024.0);
    format!("{median:.1} ({low:.1} to {high:.1})")
}

fn text(
    machine: &Map<String, Value>,
    load: &str,
    lines: &[Line],
    rounds: usize,
    skipped: &[(&str, String)],
) -> String {
    let mut out = facts(machine);
    let _ = writeln!(out, "{:>18}: {load}", "load before");
    for table in &TABLES {
        out += &table.text(lines);
    }
    let _ = writeln!(
        out,
        "\nRounds: {rounds}, arms interleaved; medians of what the rounds say, with intervals of 95 % confidence where \
         there are\nrounds enough (6). helgrind, drd and tsan: {} of them, with a smaller input (s), natively too; - is \
         not run. Aims are for\ncheck, meter and run; that of memory is 16 MiB, 64 bytes a lock and 64 KiB a thread.",
        rounds.min(ROUNDS_OF_OTHERS)
    );
    for (name, why) in skipped {
        let _ = writeln!(out, "\nskipped: {name}: {}", why.trim());
    }
    out
}

fn to_json(machine: &Map<String, Value>, load: &str, lines: &[Line], rounds: usize) -> Value {
    let usage =
        |of: &Usage| json!({ "seconds": of.seconds, "cpu": of.used.cpu, "kib": of.used.kib });
    let figures = |arm: &Against| -> Map<String, Value> {
        TABLES.iter().map(|t| (t.key.to_owned(), json!((t.figure)(arm)))).collect()
    };
    let line = |line: &Line| {
        let arms: Map<String, Value> = ARMS
            .iter()
            .zip(&line.arms)
            .filter_map(|((_, _, name), arm)| {
                Some(((*name).to_owned(), figures(arm.as_ref()?).into()))
            })
            .collect();
        json!({
            "name": line.name, "aim": line.aim, "aim_kib_more": line.allowance, "native": usage(&line.full),
            "native_small": line.small.as_ref().map(usage), "arms": arms,
        })
    };
    let results: Vec<_> = lines.iter().map(line).collect();
    json!({ "machine": machine, "load_before": load, "rounds": rounds, "results": results })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that takes 1 s alone at the full size, 0.1 s at the small one, and so many times
    /// that.
    fn program(others: &[Arm]) -> Whole {
        let measure = |arm, size| {
            let times = match arm {
                Arm::Native => 1.0,
                Arm::Check => 1.25,
                Arm::Drd => 50.0,
                Arm::Tsan => 10.0,
                Arm::Helgrind => 100.0,
                _ => 1.5,
            };
            let seconds = times * if size == Size::Full { 1.0 } else { 0.1 };
            Ok(Usage { seconds, used: Used { cpu: 2.0 * seconds, kib: 100.0 * times } })
        };
        Whole { aim: 1.1, others: others.to_vec(), measure: Box::new(measure) }
    }

    fn line(others: &[Arm]) -> Line {
        let rounds = rounds_of(&mut program(others), 7).expect("nothing fails");
        Line::new("a", 1.1, 1024.0, &rounds).expect("has native runs")
    }

    #[test]
    fn every_arm_is_held_against_native_at_its_own_size() {
        let line = line(&[Arm::Helgrind, Arm::Drd, Arm::Tsan]);
        let times = |of: &Option<Against>| of.as_ref().map(|of| of.time.median.round());
        assert_eq!(line.arms[0].as_ref().map(|check| check.time.median), Some(1.25));
        assert_eq!(line.arms.each_ref().map(times)[3..], [Some(100.0), Some(50.0), Some(10.0)]);
        assert_eq!(line.full.seconds, 1.0);
        assert_eq!(line.small.map(|small| small.seconds), Some(0.1));
    }

    #[test]
    fn only_the_tools_own_arms_are_judged() {
        let [time, cpu, memory] =
            TABLES.each_ref().map(|table| table.text(&[line(&[Arm::Helgrind, Arm::Drd])]));
        assert_eq!(time.matches(" missed").count(), 3, "{time}");
        assert_eq!(cpu.matches(" missed").count(), 0, "{cpu}");
        assert_eq!(memory.matches(" met ").count(), 3, "{memory}");
    }

    #[test]
    fn what_others_cannot_run_is_left_out() {
        let helgrind = line(&[Arm::Helgrind]);
        assert!(helgrind.small.is_some() && helgrind.arms[3].is_some());
        assert!(helgrind.arms[4].is_none() && helgrind.arms[5].is_none());
        let line = line(&[]);
        assert!(line.small.is_none() && line.arms[3].is_none() && line.arms[4].is_none());
        assert!(TABLES[0].text(&[line]).trim_end().ends_with('-'));
    }
}
