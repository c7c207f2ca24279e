//! The report on a comparison: the finding first, then the figures.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::arm::Arm;
use super::rounds::{Figure, Measured, Metric};
use super::verdict::{self, Outcome, Verdict};
use lockwright_measure::machine;
use lockwright_measure::stats::{self, Estimate};
use lockwright_report::prose::words;

/// The version of the JSON.
const VERSION: u32 = 1;

/// Seconds of a run in which the start of lockwright, ten milliseconds or less, is a percent.
const SHORT: f64 = 1.0;

/// A comparison and what it shows.
#[derive(Debug)]
pub struct Report {
    arms: Vec<Arm>,
    metric: Metric,
    rounds: u16,
    seed: u64,
    measured: Measured,
    /// None if not even one round is whole.
    outcome: Option<Outcome>,
}

impl Report {
    /// Judges what was measured, where so many rounds were wanted.
    pub fn new(arms: Vec<Arm>, metric: Metric, rounds: u16, seed: u64, measured: Measured) -> Self {
        let values: Vec<Vec<f64>> = measured
            .rounds
            .iter()
            .map(|round| round.iter().map(|figure| figure.value).collect())
            .collect();
        let outcome = (!values.is_empty()).then(|| verdict::judge(metric.better(), &values));
        Self { arms, metric, rounds, seed, measured, outcome }
    }

    /// The signal that ended it before its time.
    pub fn interrupted(&self) -> Option<i32> {
        self.measured.interrupted
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let done = self.measured.rounds.len();
        if self.measured.interrupted.is_some() {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "interrupted; {done} of {} rounds are whole\n", self.rounds);
        }
        let Some(outcome) = &self.outcome else { return out };
        let _ = writeln!(out, "{}\n", self.finding(outcome));
        self.table(outcome, &mut out);
        let _ = writeln!(
            out,
            "\n{} in random order; medians. Speed is against the native runs of the same round, with an\n\
             interval of {:.1} % confidence.",
            words::count(done as u64, "round"),
            100.0 * outcome.control.confidence
        );
        if matches!(self.metric, Metric::Time) && self.median(0, |figure| figure.elapsed) < SHORT {
            let _ = writeln!(
                out,
                "note: with a lock, the time has some milliseconds of lockwright's own start in it: let the\n\
                 command run for longer than a second, or have it measure itself (--metric)"
            );
        }
        if let Some(fastest) = outcome.fastest {
            let name = self.lock(fastest);
            let _ = writeln!(out, "help: lockwright swap --lock {name} -- COMMAND");
        }
        out
    }

    /// What it comes to, in a sentence or two.
    fn finding(&self, outcome: &Outcome) -> String {
        let count = |verdict| outcome.locks.iter().filter(|one| one.verdict == verdict).count();
        if outcome.locks.is_empty() {
            return format!(
                "Two runs with the C library's locks differ by a factor of {}.",
                interval(&outcome.control)
            );
        }
        if count(Verdict::TooFewRounds) > 0 {
            return format!(
                "Too few rounds to tell anything: it takes {} (--rounds).",
                outcome.needed
            );
        }
        let Some(fastest) = outcome.fastest else {
            return if count(Verdict::Slower) == 0 {
                "No lock makes a difference to the C library's.".to_owned()
            } else {
                "No lock is faster than the C library's.".to_owned()
            };
        };
        let speed = &outcome.locks[fastest].speed;
        let mut text = format!(
            "`{}` is the fastest: {:.2} times as fast as the C library's locks ({}).",
            self.lock(fastest),
            speed.median,
            interval(speed)
        );
        if !outcome.as_fast.is_empty() {
            let names: Vec<String> =
                outcome.as_fast.iter().map(|&lock| format!("`{}`", self.lock(lock))).collect();
            let are = if names.len() == 1 { "is" } else { "are" };
            let _ = write!(text, " {} {are} as fast, as far as this shows.", words::join(&names));
        }
        text
    }

    fn table(&self, outcome: &Outcome, out: &mut String) {
        let names: Vec<String> = self.arms.iter().map(Arm::to_string).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let value = match &self.metric {
            Metric::Time => "time",
            Metric::Printed(..) => "metric",
        };
        let _ = writeln!(
            out,
            "{:width$}  {value:>10}  {:>10}  {:>5}  interval",
            "", "CPU time", "speed"
        );
        for (arm, name) in names.iter().enumerate() {
            let value = match &self.metric {
                Metric::Time => seconds(self.median(arm, |figure| figure.elapsed)),
                Metric::Printed(..) => number(self.median(arm, |figure| figure.value)),
            };
            let cpu = seconds(self.median(arm, |figure| figure.cpu));
            let told = match arm {
                0 => String::new(),
                1 => row(&outcome.control, "(chance)"),
                lock => {
                    let judged = &outcome.locks[lock - 2];
                    row(&judged.speed, said(judged.verdict))
                }
            };
            let line = format!("{name:width$}  {value:>10}  {cpu:>10}  {told}");
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }

    fn median(&self, arm: usize, of: impl Fn(&Figure) -> f64) -> f64 {
        let all: Vec<f64> = self.measured.rounds.iter().map(|round| of(&round[arm])).collect();
        stats::median(&all)
    }

    fn lock(&self, lock: usize) -> &str {
        self.arms[lock + 2].lock().expect("locks come after the native ones")
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let (pattern, better) = match &self.metric {
            Metric::Time => (None, self.metric.better()),
            Metric::Printed(pattern, better) => (Some(pattern.as_str()), *better),
        };
        let outcome = self.outcome.as_ref();
        let arms: Vec<Value> = (0..self.arms.len()).map(|arm| self.json_of(arm)).collect();
        let machine: serde_json::Map<String, Value> = machine::describe(&[])
            .into_iter()
            .map(|(name, value)| (name, Value::from(value)))
            .collect();
        json!({
            "schema": "lockwright-tune",
            "version": VERSION,
            "machine": machine,
            "metric": { "regex": pattern, "better": better },
            "rounds_wanted": self.rounds,
            "rounds": self.measured.rounds.len(),
            "interrupted": self.measured.interrupted.is_some(),
            "seed": self.seed,
            "arms": arms,
            "fastest": outcome.and_then(|o| o.fastest).map(|lock| self.lock(lock)),
            "as_fast": outcome.map(|o| o.as_fast.iter().map(|&l| self.lock(l)).collect::<Vec<_>>()),
        })
    }

    fn json_of(&self, arm: usize) -> Value {
        let all = |of: &dyn Fn(&Figure) -> f64| -> Vec<f64> {
            self.measured.rounds.iter().map(|round| of(&round[arm])).collect()
        };
        let (speed, verdict) = match (&self.outcome, arm) {
            (None, _) | (_, 0) => (None, None),
            (Some(outcome), 1) => (Some(outcome.control), None),
            (Some(outcome), lock) => {
                let judged = &outcome.locks[lock - 2];
                (Some(judged.speed), Some(judged.verdict))
            }
        };
        json!({
            "name": self.arms[arm].to_string(),
            "lock": self.arms[arm].lock(),
            "values": all(&|figure| figure.value),
            "seconds": all(&|figure| figure.elapsed),
            "cpu_seconds": all(&|figure| figure.cpu),
            "speed": speed,
            "verdict": verdict,
        })
    }
}

fn row(speed: &Estimate, said: &str) -> String {
    format!("{:>5.2}  {:12}  {said}", speed.median, interval(speed))
}

fn interval(speed: &Estimate) -> String {
    format!("{:.2} to {:.2}", speed.low, speed.high)
}

fn said(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoDifference => "no difference",
        Verdict::TooFewRounds => "too few rounds",
    }
}

/// A time with three digits or more.
fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", 1e3 * seconds) } else { format!("{seconds:.2} s") }
}

/// A number with four digits or more.
fn number(number: f64) -> String {
    let digits = (3 - number.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{number:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tune::verdict::Better;

    /// So many rounds, all alike, of an arm each with this metric.
    fn report(values: &[f64], rounds: usize, interrupted: Option<i32>) -> Report {
        let metric = Metric::Printed("([0-9]+)".parse().unwrap(), Better::Higher);
        report_of(metric, values, rounds, interrupted)
    }

    fn report_of(
        metric: Metric,
        values: &[f64],
        rounds: usize,
        interrupted: Option<i32>,
    ) -> Report {
        let locks: Vec<String> = (0..values.len() - 2).map(|lock| format!("lock{lock}")).collect();
        let figure = |&value: &f64| Figure { value, elapsed: value, cpu: 0.25 };
        let round: Vec<Figure> = values.iter().map(figure).collect();
        let measured = Measured { rounds: vec![round; rounds], interrupted };
        Report::new(Arm::all(&locks), metric, 10, 7, measured)
    }

    #[test]
    fn short_times_are_not_trusted() {
        let text = |seconds| report_of(Metric::Time, &[seconds; 3], 10, None).text();
        assert!(text(0.5).contains("note: with a lock"), "{}", text(0.5));
        assert!(!text(1.5).contains("note:") && text(1.5).contains("1.50 s"), "{}", text(1.5));
    }

    #[test]
    fn the_finding_comes_first() {
        let text = report(&[100.0, 100.0, 125.0, 90.0], 10, None).text();
        assert!(
            text.starts_with(
                "`lock0` is the fastest: 1.25 times as fast as the C library's locks (1.25 to 1.25).\n"
            ),
            "{text}"
        );
        let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
        let words: Vec<&str> = row("lock1").split_whitespace().collect();
        assert_eq!(words.join(" "), "lock1 90.00 250.0 ms 0.90 0.90 to 0.90 slower");
        assert!(row("native, again").ends_with("(chance)"), "{text}");
        assert!(text.ends_with("help: lockwright swap --lock lock0 -- COMMAND\n"), "{text}");
    }

    #[test]
    fn other_findings() {
        let first = |values: &[f64], rounds, interrupted| {
            let text = report(values, rounds, interrupted).text();
            text.lines().next().unwrap().to_owned()
        };
        let same = first(&[100.0, 100.0, 100.0], 10, None);
        assert_eq!(same, "No lock makes a difference to the C library's.");
        let slower = first(&[100.0, 100.0, 100.0, 50.0], 10, None);
        assert_eq!(slower, "No lock is faster than the C library's.");
        let few = first(&[100.0, 100.0, 200.0], 3, None);
        assert_eq!(few, "Too few rounds to tell anything: it takes 6 (--rounds).");
        let tied = first(&[100.0, 100.0, 200.0, 200.0], 10, None);
        assert!(tied.ends_with("is as fast, as far as this shows."), "{tied}");
        let alone = first(&[100.0, 100.0], 10, None);
        assert!(alone.ends_with("differ by a factor of 1.00 to 1.00."), "{alone}");
        assert_eq!(
            first(&[100.0, 100.0, 200.0], 4, Some(2)),
            "interrupted; 4 of 10 rounds are whole"
        );
    }

    #[test]
    fn an_interrupt_in_the_first_round_leaves_nothing_to_tell() {
        let report = report(&[100.0, 100.0, 200.0], 0, Some(2));
        assert_eq!(report.text(), "interrupted; 0 of 10 rounds are whole\n\n");
        let json = report.json();
        assert_eq!((&json["interrupted"], &json["fastest"]), (&Value::from(true), &Value::Null));
    }

    #[test]
    fn machines_get_every_figure() {
        let json = report(&[100.0, 100.0, 125.0], 10, None).json();
        assert_eq!(
            (&json["schema"], &json["fastest"]),
            (&"lockwright-tune".into(), &"lock0".into())
        );
        assert_eq!(json["arms"][2]["values"], json!(vec![125.0; 10]));
        assert_eq!(json["arms"][2]["verdict"], "faster");
        assert_eq!(json["arms"][2]["speed"]["low"], 1.25);
        assert_eq!(json["arms"][0]["lock"], Value::Null);
        assert_eq!(json["metric"], json!({ "regex": "([0-9]+)", "better": "higher" }));
    }

    #[test]
    fn numbers_have_digits_enough() {
        assert_eq!(number(1_234_567.8), "1234568");
        assert_eq!(number(12.346), "12.35");
        assert_eq!(number(0.001_234_2), "0.001234");
        assert_eq!((seconds(0.0123), seconds(12.3)), ("12.3 ms".into(), "12.30 s".into()));
    }
}
