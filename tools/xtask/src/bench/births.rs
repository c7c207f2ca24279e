//! `cargo xtask bench births`: what new locks, short threads, children and Python cost under each
//! command, and pairs of known locks next to them.
//!
//! One of the arms is the program alone once more: its ratio is 1, and how far from that it is says
//! what the others' are worth on this machine.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::process::Command;

use clap::Args;
use lockwright_measure::stats::{self, Estimate};
use serde_json::{Value, json};

use super::arm::{Bench, interpreter, said};
use super::comparison::{BenchOptions, conclude, machine};
use super::pages::with_figures;
use crate::workspace::root;

/// The page.
const PAGE: &str = "docs/bench/births.md";

/// With a precision there are at most so many times the rounds.
const PATIENCE: usize = 10;

/// Options of the comparison.
#[derive(Debug, Args)]
pub struct BirthsOptions {
    /// Options that other benchmarks have, too.
    #[command(flatten)]
    pub common: BenchOptions,

    /// Go on until each ratio's interval ends within PERCENT of the ratio, for at most ten times
    /// the rounds. A line that is not there by then says so.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,

    /// Write docs/bench/births.md instead of standard output.
    #[arg(long, conflicts_with = "smoke")]
    pub write: bool,
}

impl BirthsOptions {
    /// `--smoke` and nothing else.
    pub fn smoke() -> Self {
        Self { common: BenchOptions::smoke(), precision: None, write: false }
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok();
    number.filter(|&percent| percent > 0.0).ok_or_else(|| "not a percentage above 0".to_owned())
}

/// How a program runs, and the words for it. The first is what the others are compared with.
const ARMS: [(&str, &[&str]); 6] = [
    ("native", &[]),
    ("once more", &[]),
    ("check", &["check", "--exit-code", "0"]),
    ("meter", &["meter"]),
    ("sampled", &["meter", "--hold=sample:64"]),
    ("run", &["run", "--exit-code", "0"]),
];

/// What is measured: a name, the program, the word for it, and how often it is done.
const ROWS: [(&str, Program, &str, u64); 8] = [
    ("a mutex that nobody initialises, taken once", Program::C, "fresh", 1_000_000),
    ("pthread_mutex_init and destroy", Program::C, "init", 1_000_000),
    ("a thread that takes one mutex, joined", Program::C, "thread", 5_000),
    ("a forked child that takes one mutex", Program::C, "fork", 500),
    ("lock and unlock of a known mutex", Program::C, "pair", 10_000_000),
    ("two readers of one rwlock, a pair each", Program::C, "readers", 1_000_000),
    ("CPython, an item through a queue", Program::Python, "queue", 10_000),
    ("CPython, an item of ThreadPoolExecutor.map", Program::Python, "futures", 5_000),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    C,
    Python,
}

/// What one round of one arm took, in nanoseconds for one of what is measured.
#[derive(Clone, Copy)]
struct Took {
    clock: f64,
    processor: f64,
}

/// By arm, in the order of [`ARMS`], each with its rounds.
struct Row {
    name: &'static str,
    arms: [Vec<Took>; ARMS.len()],
}

impl Row {
    fn rounds(&self) -> usize {
        self.arms[0].len()
    }

    /// How many times as long as natively an arm took, by what `of` says.
    fn ratio(&self, arm: usize, of: fn(&Took) -> f64) -> Estimate {
        let pairs = self.arms[0].iter().zip(&self.arms[arm]);
        stats::estimate(&pairs.map(|(native, arm)| of(arm) / of(native)).collect::<Vec<_>>())
    }

    /// The clock's ratios all are known to within `precision`, a part of each.
    fn is_precise(&self, precision: f64) -> bool {
        (1..ARMS.len()).all(|arm| {
            let ratio = self.ratio(arm, clock);
            reach(&ratio).is_some_and(|reach| reach <= precision * ratio.median)
        })
    }
}

fn clock(took: &Took) -> f64 {
    took.clock
}

fn processor(took: &Took) -> f64 {
    took.processor
}

/// How far from the ratio the interval reaches; `None` of too few pairs.
fn reach(ratio: &Estimate) -> Option<f64> {
    let reach = (ratio.high - ratio.median).max(ratio.median - ratio.low);
    (ratio.confidence >= stats::USUAL).then_some(reach)
}

/// Compares all.
///
/// # Errors
/// If a program does not run to its end, or the page cannot be written.
pub fn run(bench: &'static Bench, options: &BirthsOptions) -> Result<(), String> {
    let common = &options.common;
    let wanted = |name: &str| common.only.as_ref().is_none_or(|text| name.contains(text.as_str()));
    let c = vec![bench.build("births", &[])?.into_os_string()];
    let script = root().join("tools/xtask/src/bench/programs/births.py").into_os_string();
    let python = vec![interpreter()?, script];
    let precision = options.precision.map(|percent| percent / 100.0);
    let mut rows = Vec::new();
    for (name, program, word, times) in ROWS.into_iter().filter(|row| wanted(row.0)) {
        eprintln!("{name} ...");
        let times = if common.smoke { times / 100 } else { times };
        let mut words = if program == Program::C { c.clone() } else { python.clone() };
        words.extend([word.into(), times.to_string().into()]);
        let mut row = Row { name, arms: Default::default() };
        while wants_more(&row, common, precision) {
            round(bench, &words, &mut row)?;
        }
        rows.push(row);
    }
    let text = text(&rows, precision);
    match options.write {
        true => fs::write(root().join(PAGE), with_figures(PAGE, &text)?)
            .map_err(|e| format!("{PAGE}: {e}"))?,
        false => print!("{text}"),
    }
    conclude(common, &as_json(&rows), true)
}

fn wants_more(row: &Row, options: &BenchOptions, precision: Option<f64>) -> bool {
    let rounds = if options.smoke { 2 } else { usize::from(options.rounds) };
    match precision {
        None => row.rounds() < rounds,
        Some(precision) => {
            row.rounds() < rounds * PATIENCE
                && (row.rounds() < rounds || !row.is_precise(precision))
        }
    }
}

/// Runs each arm once. The first is another in each round: a later one may find warmer caches,
/// or a hotter processor.
fn round(bench: &Bench, words: &[OsString], row: &mut Row) -> Result<(), String> {
    let first = row.rounds() % ARMS.len();
    let mut took = [None; ARMS.len()];
    for arm in (first..ARMS.len()).chain(0..first) {
        let mut command = match ARMS[arm].1 {
            [] => Command::new(&words[0]),
            under => {
                let mut command = Command::new(&bench.lockwright);
                command.args(under).args(["--output", "/dev/null", "--"]).arg(&words[0]);
                command
            }
        };
        let text = said(command.args(&words[1..]))?;
        let mut numbers = text.split_whitespace().map(str::parse);
        let (Some(Ok(clock)), Some(Ok(processor))) = (numbers.next(), numbers.next()) else {
            return Err(format!("{}: not two numbers: {text}", row.name));
        };
        took[arm] = Some(Took { clock, processor });
    }
    for (arm, took) in row.arms.iter_mut().zip(took) {
        arm.extend(took);
    }
    Ok(())
}

fn text(rows: &[Row], precision: Option<f64>) -> String {
    let mut out = format!("{:<44}{:>12}", "by the clock", "native");
    // Writing to a String cannot fail, here and below.
    for (name, _) in &ARMS[1..] {
        let _ = write!(out, "{name:>16}");
    }
    out.push('\n');
    for row in rows {
        line(&mut out, row, row.name, clock);
        line(&mut out, row, "  processor time", processor);
        if precision.is_some_and(|precision| !row.is_precise(precision)) {
            let _ = writeln!(out, "  not that precise on this machine, in {} rounds", row.rounds());
        }
    }
    let rounds: Vec<usize> = rows.iter().map(Row::rounds).collect();
    let (least, most) = (rounds.iter().min().unwrap_or(&0), rounds.iter().max().unwrap_or(&0));
    let rounds = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let _ = writeln!(
        out,
        "\nHow many times as long as natively: the median of {rounds} interleaved rounds' ratios, and in brackets\n\
         how far its interval of 95 % confidence reaches (order statistics; ?: too few rounds)."
    );
    out
}

fn line(out: &mut String, row: &Row, name: &str, of: fn(&Took) -> f64) {
    let native = stats::median(&row.arms[0].iter().map(of).collect::<Vec<_>>());
    let _ = write!(out, "{name:<44}{:>12}", duration(native));
    for arm in 1..ARMS.len() {
        let ratio = row.ratio(arm, of);
        let reach = reach(&ratio).map_or("?".to_owned(), |reach| format!("{reach:.2}"));
        let _ = write!(out, "{:>16}", format!("{:.2} ({reach})", ratio.median));
    }
    out.push('\n');
}

fn duration(ns: f64) -> String {
    if ns < 1000.0 { format!("{ns:.1} ns") } else { format!("{:.1} us", ns / 1000.0) }
}

fn as_json(rows: &[Row]) -> Value {
    let arm = |row: &Row, nth: usize| {
        let of = |of: fn(&Took) -> f64| -> Vec<f64> { row.arms[nth].iter().map(of).collect() };
        json!({ "arm": ARMS[nth].0, "clock_ns": of(clock), "processor_ns": of(processor) })
    };
    let row = |row: &Row| {
        let arms: Vec<Value> = (0..ARMS.len()).map(|nth| arm(row, nth)).collect();
        json!({ "name": row.name, "arms": arms })
    };
    json!({ "machine": machine(), "rows": rows.iter().map(row).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(natively: &[f64], watched: &[f64]) -> Row {
        let took = |values: &[f64]| -> Vec<Took> {
            values.iter().map(|&ns| Took { clock: ns, processor: 2.0 * ns }).collect()
        };
        let arm = |nth| if nth < 2 { took(natively) } else { took(watched) };
        Row { name: "row", arms: std::array::from_fn(arm) }
    }

    #[test]
    fn rounds_go_on_until_the_ratio_is_known_or_patience_ends() {
        let options = BenchOptions { smoke: false, ..BenchOptions::smoke() };
        let (even, uneven) = ([10.0; 8], [10.0, 30.0, 10.0, 30.0, 10.0, 30.0, 10.0, 30.0]);
        assert!(!wants_more(&row(&even, &[20.0; 8]), &options, Some(0.02)));
        assert!(wants_more(&row(&even, &uneven), &options, Some(0.02)));
        assert!(!wants_more(&row(&even, &uneven), &options, None));
        let most =
            |values: &[f64]| values.repeat(3)[..usize::from(options.rounds) * PATIENCE].to_vec();
        assert!(!wants_more(&row(&most(&even), &most(&uneven)), &options, Some(0.02)));
    }

    #[test]
    fn too_few_rounds_are_never_precise() {
        assert!(!row(&[10.0; 5], &[20.0; 5]).is_precise(0.5));
        assert!(row(&[10.0; 6], &[20.0; 6]).is_precise(0.01));
    }

    #[test]
    fn a_line_says_what_is_not_precise() {
        let uneven = row(&[10.0; 8], &[10.0, 30.0, 10.0, 30.0, 10.0, 30.0, 10.0, 30.0]);
        assert!(
            text(&[uneven], Some(0.02)).contains("not that precise on this machine, in 8 rounds")
        );
        let even = text(&[row(&[10.0; 8], &[20.0; 8])], Some(0.02));
        assert!(even.contains("2.00 (0.00)") && !even.contains("not that precise"), "{even}");
    }

    #[test]
    fn precisions_are_percentages() {
        assert_eq!((percent("2%"), percent("0.5")), (Ok(2.0), Ok(0.5)));
        assert!(percent("0").is_err() && percent("x").is_err() && percent("-1").is_err());
    }
}
