//! The results as a table for people and as JSON for machines.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::callgrind::Count;
use super::switches::Switches;
use lockwright_measure::stats::Estimate;

/// One measured line.
pub struct Line {
    /// What ran.
    pub name: String,
    /// What the two numbers are.
    pub unit: &'static str,
    /// Median without the tool.
    pub native: f64,
    /// Median with it.
    pub check: f64,
    /// The ratio of the pairs.
    pub ratio: Estimate,
    /// The ratio to stay below.
    pub aim: Option<f64>,
    /// Pairs measured.
    pub rounds: usize,
}

/// Everything that a run of the benchmark found.
pub struct Results {
    /// What it ran on.
    pub machine: Map<String, Value>,
    /// The measured lines.
    pub lines: Vec<Line>,
    /// Instruction counts.
    pub counts: Vec<Count>,
    /// What each of lockdep's patches is worth, if that was measured.
    pub switches: Option<Switches>,
    /// What was not measured, and why.
    pub skipped: Vec<(String, String)>,
}

impl Results {
    /// None yet.
    pub fn new(machine: Map<String, Value>) -> Self {
        Self { machine, lines: Vec::new(), counts: Vec::new(), switches: None, skipped: Vec::new() }
    }

    /// The table.
    pub fn text(&self) -> String {
        // Writing to a String cannot fail, here and below.
        let mut out = facts(&self.machine);
        if !self.lines.is_empty() {
            let _ = writeln!(
                out,
                "\n{:<44} {:>12} {:>12}  {:>6}  {:<17} {:>6}",
                "native against `check`, or as it says",
                "native",
                "watched",
                "ratio",
                "interval",
                "aim"
            );
        }
        for line in &self.lines {
            let _ = writeln!(
                out,
                "{:<44} {:>12} {:>12}  {:>6.3}  {:<17} {}",
                line.name,
                quantity(line.native, line.unit),
                quantity(line.check, line.unit),
                line.ratio.median,
                format!("{:.3} to {:.3}", line.ratio.low, line.ratio.high),
                line.verdict(),
            );
        }
        if let Some(line) = self.lines.first() {
            let _ = writeln!(
                out,
                "{} pairs of runs each, arms interleaved; the ratio is the median of the pairs', its interval has \
                 at least {:.0} % confidence (order statistics).",
                line.rounds,
                100.0 * self.lines.iter().map(|l| l.ratio.confidence).fold(1.0, f64::min),
            );
        }
        if !self.counts.is_empty() {
            let _ = writeln!(
                out,
                "\n{:<44} {:>12} {:>12}  {:>6}",
                "instructions per round (callgrind)", "native", "check", "more"
            );
            for count in &self.counts {
                let more = count.check - count.native;
                let _ = writeln!(
                    out,
                    "{:<44} {:>12.1} {:>12.1}  {more:>6.1}",
                    count.what, count.native, count.check
                );
            }
        }
        if let Some(switches) = &self.switches {
            out.push_str(&switches.text());
        }
        for (name, why) in &self.skipped {
            let _ = writeln!(out, "\nskipped: {name}: {}", why.trim());
        }
        out
    }

    /// The same for machines.
    pub fn json(&self) -> Value {
        let lines: Vec<_> = self
            .lines
            .iter()
            .map(|l| {
                json!({
                    "name": l.name, "unit": l.unit, "native": l.native, "check": l.check, "rounds": l.rounds,
                    "ratio": l.ratio.median, "low": l.ratio.low, "high": l.ratio.high,
                    "confidence": l.ratio.confidence, "aim": l.aim,
                })
            })
            .collect();
        let counts: Vec<_> = self
            .counts
            .iter()
            .map(|c| json!({ "what": c.what, "native": c.native, "check": c.check }))
            .collect();
        let skipped: Vec<_> =
            self.skipped.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
        json!({
            "machine": self.machine, "results": lines, "instructions": counts,
            "switches": self.switches.as_ref().map(Switches::json), "skipped": skipped,
        })
    }
}

impl Line {
    /// The aim, and what the interval says about it; too few pairs say nothing.
    fn verdict(&self) -> String {
        let Some(aim) = self.aim else { return String::new() };
        format!("{aim:.2}{}", verdict(&self.ratio, aim))
    }
}

/// What an interval says about an aim to stay below, with a blank before it; too few pairs say
/// nothing.
pub fn verdict(measured: &Estimate, aim: f64) -> &'static str {
    match measured {
        measured if measured.confidence < 0.95 => "",
        measured if measured.high <= aim => " met",
        measured if measured.low > aim => " missed",
        _ => " open",
    }
}

/// What it ran on, a line each.
pub fn facts(machine: &Map<String, Value>) -> String {
    let line = |(name, value): (&String, &Value)| {
        format!("{name:>18}: {}\n", value.as_str().unwrap_or_default())
    };
    machine.iter().map(line).collect()
}

/// Four significant digits and the unit, without what it is counted per: the name says that.
pub fn quantity(value: f64, unit: &str) -> String {
    let unit = unit.split('/').next().unwrap_or(unit);
    let decimals = (3 - value.abs().max(1e-3).log10().floor() as i32).clamp(0, 4) as usize;
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_enough() {
        assert_eq!(quantity(9.10492, "ns/round"), "9.105 ns");
        assert_eq!(quantity(2117.99, "ns/statement"), "2118 ns");
        assert_eq!(quantity(0.03251, "s"), "0.0325 s");
    }

    #[test]
    fn an_aim_is_judged_by_the_interval() {
        let line = |low, high, confidence| Line {
            name: String::new(),
            unit: "s",
            native: 1.0,
            check: 1.0,
            ratio: Estimate { median: (low + high) / 2.0, low, high, confidence },
            aim: Some(1.1),
            rounds: 21,
        };
        assert_eq!(line(1.0, 1.05, 0.96).verdict(), "1.10 met");
        assert_eq!(line(1.2, 1.3, 0.96).verdict(), "1.10 missed");
        assert_eq!(line(1.0, 1.2, 0.96).verdict(), "1.10 open");
        assert_eq!(line(1.0, 1.05, 0.5).verdict(), "1.10");
    }
}
