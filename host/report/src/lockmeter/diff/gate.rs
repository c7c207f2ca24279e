//! `--fail-if`: what change is too much.

use std::str::FromStr;

use lockwright_analysis::finding::Name;
use lockwright_analysis::lockmeter::diff::{Change, Comparison, FEWEST, METRICS, Metric};

use crate::glob;
use lockwright_console::error::{Error, Result};

/// A condition under which the comparison fails.
#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    /// As it was written.
    pub text: String,
    /// The metric that changes.
    pub metric: Metric,
    /// More than the limit is too much; else, less.
    pub above: bool,
    /// The limit, after as a multiple of before.
    pub limit: f64,
    /// Each lock whose name fits; `None`: all locks together.
    pub locks: Option<String>,
}

impl FromStr for FailIf {
    type Err = String;

    /// Reads `METRIC > +N%` or `METRIC < -N%`, with or without `@LOCK-GLOB`.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (condition, locks) = match text.split_once('@') {
            Some((condition, glob)) if !glob.trim().is_empty() => {
                (condition, Some(glob.trim().to_owned()))
            }
            Some(_) => return Err("a pattern for names of locks is missing after `@`".into()),
            None => (text, None),
        };
        let Some(at) = condition.find(['<', '>']) else {
            return Err("a comparison is missing: METRIC > +N%, as in `wait > +10%`".into());
        };
        let (name, limit) = (condition[..at].trim(), condition[at + 1..].trim());
        let metric = METRICS.iter().find(|(_, known)| *known == name).map(|(metric, _)| *metric);
        let Some(metric) = metric else {
            let names: Vec<_> = METRICS.iter().map(|(_, name)| *name).collect();
            return Err(format!("`{name}` is no metric: one of {}", names.join(", ")));
        };
        let Some(number) = limit.strip_suffix('%') else {
            return Err(format!("`{limit}` is no relative change: a number with `%`, as in +10%"));
        };
        let percent: f64 = match number.trim().parse() {
            Ok(percent) if f64::is_finite(percent) => percent,
            _ => return Err(format!("`{}` is no number", number.trim())),
        };
        if percent < -100.0 {
            return Err(format!("nothing gets less by more than 100 %: `{limit}`"));
        }
        let above = condition[at..].starts_with('>');
        Ok(Self {
            text: text.trim().to_owned(),
            metric,
            above,
            limit: 1.0 + percent / 100.0,
            locks,
        })
    }
}

/// The result of a condition on one lock, or on all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All of the interval is beyond the limit: it fails.
    Exceeded,
    /// The change is beyond the limit, but the interval is not: it may be chance.
    Unsure,
    /// It is not.
    Kept,
}

/// A condition, a lock and what came of them.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The condition, as it was written.
    pub condition: String,
    /// Name of the lock; `None`: all locks together.
    pub lock: Option<Name>,
    /// The change that was judged.
    pub change: Change,
    /// The outcome.
    pub verdict: Verdict,
}

impl FailIf {
    /// Judges a comparison.
    ///
    /// # Errors
    /// If it cannot: a side has one run or two, or no lock has such a name. A condition that can never be
    /// met would look like one that is.
    pub fn judge(&self, comparison: &Comparison) -> Result<Vec<Judged>> {
        let runs = (comparison.before.count, comparison.after.count);
        let fewest = runs.0.min(runs.1);
        if fewest < FEWEST {
            let few = if fewest < 2 { "one run" } else { "two runs" };
            let error = Error::new(format!("cannot judge `{}` by {few}", self.text)).note(format!(
                "{} before and {} after: how much runs differ by chance cannot be known",
                runs.0, runs.1
            ));
            return Err(error.help(
                "measure each side three times at least, better five, with `lockwright meter --keep`",
            ));
        }
        let judged = |lock: Option<&Name>, changes: &[Change]| {
            let change = *changes.iter().find(|change| change.metric == self.metric)?;
            Some(Judged {
                condition: self.text.clone(),
                lock: lock.cloned(),
                change,
                verdict: self.verdict(&change),
            })
        };
        let Some(pattern) = &self.locks else {
            return Ok(judged(None, &comparison.total).into_iter().collect());
        };
        let chosen = comparison.locks.iter().filter(|lock| glob::matches(pattern, &lock.name.text));
        let all: Vec<Judged> =
            chosen.filter_map(|lock| judged(Some(&lock.name), &lock.changes)).collect();
        if all.is_empty() {
            let names: Vec<_> = comparison
                .locks
                .iter()
                .take(5)
                .map(|lock| format!("`{}`", lock.name.text))
                .collect();
            return Err(Error::new(format!(
                "no lock is called `{pattern}`, as in `{}`",
                self.text
            ))
            .note(format!("there are {}", names.join(", ")))
            .help("in a pattern, `*` stands for any characters: `@*` is each lock by itself"));
        }
        Ok(all)
    }

    fn verdict(&self, change: &Change) -> Verdict {
        let beyond = |ratio: f64| if self.above { ratio > self.limit } else { ratio < self.limit };
        let nearest = change.interval.map(|(low, high)| if self.above { low } else { high });
        match (change.ratio, nearest) {
            (Some(ratio), Some(nearest)) if beyond(ratio) && beyond(nearest) => Verdict::Exceeded,
            (Some(ratio), _) if beyond(ratio) => Verdict::Unsure,
            _ => Verdict::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let read = |text: &str| text.parse::<FailIf>().unwrap();
        let wait = read("wait > +10%");
        assert_eq!((wait.metric, wait.above, wait.locks.as_deref()), (Metric::Wait, true, None));
        assert!((wait.limit - 1.1).abs() < 1e-12);
        let rate = read(" acquisitions<-5 % @ pool* ");
        assert_eq!(
            (rate.metric, rate.above, rate.locks.as_deref()),
            (Metric::Acquisitions, false, Some("pool*"))
        );
        assert!((rate.limit - 0.95).abs() < 1e-12);
        assert_eq!(read("utilisation > 0%").limit, 1.0);
    }

    #[test]
    fn what_cannot_be_read_is_explained() {
        for (text, words) in [
            ("", "comparison is missing"),
            ("wait", "`wait > +10%`"),
            ("wiat > +10%", "`wiat` is no metric: one of wait, hold,"),
            ("wait > 10", "`10` is no relative change"),
            ("wait > x%", "`x` is no number"),
            ("wait > inf%", "`inf` is no number"),
            ("wait < -101%", "more than 100 %"),
            ("wait >= 10%", "no number"),
            ("wait > 10% @", "after `@`"),
        ] {
            let error = text.parse::<FailIf>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
