//! `cargo xtask bench swap`: whole programs on locks of the family, under `lockwright swap`, against
//! the same programs on the C library's.

use std::fmt::Write;

use lockwright_measure::stats::{self, Estimate};
use serde_json::{Map, Value, json};

use super::arm::{Arm, Bench};
use super::comparison::{BenchOptions, conclude, machine};
use super::table::{facts, quantity};
use super::usage::Usage;
use super::whole::{self, Size, Whole};

/// The arms that are compared with the program alone. The first is the program alone once more, as a control: a
/// difference no larger than its own is noise.
const ARMS: [(Arm, &str); 5] = [
    (Arm::Native, "glibc again"),
    (Arm::Swap("hybrid"), "hybrid"),
    (Arm::Swap("mutex"), "mutex"),
    (Arm::Swap("pvqspinlock"), "pvqspinlock"),
    (Arm::Swap("qspinlock"), "qspinlock"),
];

/// One program: on the C library's locks, medians, and the ratios to that of each arm.
struct Line {
    name: &'static str,
    seconds: f64,
    cpu: f64,
    arms: [Against; ARMS.len()],
}

/// Ratios to the program on the C library's locks in the same round.
struct Against {
    /// By the clock.
    time: Estimate,
    /// The estimate for the processor times.
    cpu: Estimate,
}

/// One round: the program alone, and each arm.
type Round = (Usage, Vec<Usage>);

/// Runs it.
pub fn run(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let rounds = if options.smoke { 1 } else { usize::from(options.rounds) };
    let wanted = |name: &str| options.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let machine = machine();
    let (mut lines, mut skipped) = (Vec::new(), Vec::new());
    let arms = ARMS.map(|(arm, _)| arm);
    for (name, make) in whole::ALL.into_iter().filter(|(name, _)| wanted(name)) {
        eprintln!("{name} ...");
        match make(bench, &arms) {
            Ok(mut program) => {
                let runs = rounds_of(&mut program, rounds).map_err(|e| format!("{name}: {e}"))?;
                lines.push(Line::new(name, &runs));
            }
            Err(why) => skipped.push((name, why)),
        }
    }
    print!("{}", text(&machine, &lines, rounds, &skipped));
    conclude(options, &to_json(&machine, &lines, rounds), skipped.is_empty())
}

fn rounds_of(program: &mut Whole, rounds: usize) -> Result<Vec<Round>, String> {
    (0..rounds)
        .map(|round| {
            // None: alone. The arms take turns to go first.
            let mut order: Vec<_> =
                std::iter::once(None).chain((0..ARMS.len()).map(Some)).collect();
            let len = order.len();
            order.rotate_left(round % len);
            let mut measured = order
                .into_iter()
                .map(|which| {
                    let arm = which.map_or(Arm::Native, |arm| ARMS[arm].0);
                    Ok((which, (program.measure)(arm, Size::Full)?))
                })
                .collect::<Result<Vec<_>, String>>()?;
            measured.sort_by_key(|(which, _)| *which);
            let mut usages = measured.into_iter().map(|(_, usage)| usage);
            let alone = usages.next().ok_or("no run")?;
            Ok((alone, usages.collect()))
        })
        .collect()
}

impl Line {
    fn new(name: &'static str, rounds: &[Round]) -> Self {
        let median = |figure: fn(&Usage) -> f64| {
            stats::median(&rounds.iter().map(|(alone, _)| figure(alone)).collect::<Vec<_>>())
        };
        let against = |arm: usize| {
            let ratio = |figure: fn(&Usage) -> f64| {
                let ratios = rounds.iter().map(|(alone, arms)| figure(&arms[arm]) / figure(alone));
                stats::estimate(&ratios.collect::<Vec<_>>())
            };
            Against { time: ratio(|usage| usage.seconds), cpu: ratio(|usage| usage.used.cpu) }
        };
        Self {
            name,
            seconds: median(|usage| usage.seconds),
            cpu: median(|usage| usage.used.cpu),
            arms: std::array::from_fn(against),
        }
    }
}

/// `1.08 (1.05-1.12) more`: where the interval is on one side of 1, which.
fn cell(of: &Estimate) -> String {
    let side = match of {
        of if of.low > 1.0 => " more",
        of if of.high < 1.0 => " less",
        _ => "",
    };
    format!("{:.2} ({:.2}-{:.2}){side}", of.median, of.low, of.high)
}

fn table(
    title: &str,
    lines: &[Line],
    alone: fn(&Line) -> f64,
    figure: fn(&Against) -> &Estimate,
) -> String {
    let mut out = format!("\n{title:<44} {:>9}", "glibc");
    // Writing to a String cannot fail, here and below.
    ARMS.iter().for_each(|(_, name)| _ = write!(out, "  {name:<21}"));
    for line in lines {
        let _ = write!(out, "\n{:<44} {:>9}", line.name, quantity(alone(line), "s"));
        line.arms.iter().for_each(|arm| _ = write!(out, "  {:<21}", cell(figure(arm))));
    }
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn text(
    machine: &Map<String, Value>,
    lines: &[Line],
    rounds: usize,
    skipped: &[(&str, String)],
) -> String {
    let mut out = facts(machine);
    out += &table("time by the clock, times glibc's", lines, |line| line.seconds, |arm| &arm.time);
    out += &table("processor time, times glibc's", lines, |line| line.cpu, |arm| &arm.cpu);
    let _ = writeln!(
        out,
        "\nRounds: {rounds}, arms interleaved; medians of the rounds' ratios, with intervals of 95 % confidence where\n\
         there are rounds enough (6). `more` and `less` are said where the interval is on one side of 1."
    );
    for (name, why) in skipped {
        let _ = writeln!(out, "\nskipped: {name}: {}", why.trim());
    }
    out
}

fn to_json(machine: &Map<String, Value>, lines: &[Line], rounds: usize) -> Value {
    let line = |line: &Line| {
        let arms: Map<String, Value> = ARMS
            .iter()
            .zip(&line.arms)
            .map(|((_, name), arm)| {
                let figures = json!({ "time": arm.time, "cpu": arm.cpu });
                ((*name).to_owned(), figures)
            })
            .collect();
        json!({ "name": line.name, "seconds": line.seconds, "cpu": line.cpu, "arms": arms })
    };
    let results: Vec<_> = lines.iter().map(line).collect();
    json!({ "machine": machine, "rounds": rounds, "results": results })
}

#[cfg(test)]
mod tests {
    use super::super::usage::Used;
    use super::*;

    /// A program that takes 1 s on the C library's locks.
    fn program() -> Whole {
        let measure = |arm, _| {
            let seconds = match arm {
                Arm::Swap("hybrid") => 0.5,
                Arm::Swap("mutex") => 2.0,
                _ => 1.0,
            };
            Ok(Usage { seconds, used: Used { cpu: 3.0 * seconds, kib: 1.0 } })
        };
        Whole { aim: 1.1, others: Vec::new(), measure: Box::new(measure) }
    }

    #[test]
    fn every_arm_is_held_against_glibc_whoever_goes_first() {
        let rounds = rounds_of(&mut program(), 7).expect("nothing fails");
        let line = Line::new("a", &rounds);
        let time = line.arms.each_ref().map(|arm| arm.time.median);
        assert_eq!(time, [1.0, 0.5, 2.0, 1.0, 1.0]);
        assert_eq!(line.arms.map(|arm| arm.cpu.median), time);
        assert_eq!((line.seconds, line.cpu), (1.0, 3.0));
    }

    #[test]
    fn what_is_on_one_side_of_1_is_said() {
        let line = Line::new("a", &rounds_of(&mut program(), 7).expect("nothing fails"));
        let cells = line.arms.each_ref().map(|arm| cell(&arm.time));
        assert_eq!(
            cells[..3],
            ["1.00 (1.00-1.00)", "0.50 (0.50-0.50) less", "2.00 (2.00-2.00) more"]
        );
        let text = table("times", &[line], |line| line.seconds, |arm| &arm.time);
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}
