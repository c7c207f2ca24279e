//! Which findings count: all but those that a rule suppresses and those that a baseline knows.
//!
//! The findings do not depend on it. [`Policy::judge`] applies the user's files to each finding
//! of a report; formats and the exit code go by its verdicts.

pub mod baseline;
mod generate;
pub mod identity;
mod rule;
mod suppressions;

use std::collections::HashMap;
use std::path::Path;

use crate::prose::words::{count, join, number, plain};
use crate::text::Remarks;
use baseline::{Baseline, Entry, State};
use lockwright_analysis::finding::{Finding, Grade, Report};
use lockwright_console::error::Result;
pub use rule::{Rule, Source};
pub use suppressions::{SHIPPED, SHIPPED_FILE};

/// The user's files about findings.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    baseline: Option<Baseline>,
}

impl Policy {
    /// Reads files of rules, and a baseline.
    ///
    /// # Errors
    /// If one cannot be read, or is not what it should be.
    pub fn read<'p>(
        suppressions: impl IntoIterator<Item = &'p Path>,
        baseline: Option<&Path>,
    ) -> Result<Self> {
        let mut rules = Vec::new();
        for path in suppressions {
            rules.extend(suppressions::read(path)?);
        }
        let baseline = baseline.map(Baseline::read).transpose()?;
        Ok(Self { rules, baseline })
    }

    /// The same with the rules that ship with lockwright, after the user's: a finding that both
    /// match is one that the user knows.
    #[must_use]
    pub fn with_shipped(mut self) -> Self {
        self.rules.extend(suppressions::shipped());
        self
    }

    /// Its verdicts on a report.
    pub fn judge<'r>(&'r self, report: &'r Report) -> Judged<'r> {
        let mut matched = vec![0; self.rules.len()];
        let mut standings = Vec::new();
        for finding in &report.findings {
            let mut suppressed = None;
            for (rule, matched) in self.rules.iter().zip(&mut matched) {
                if rule.matches(finding) {
                    *matched += 1;
                    suppressed = suppressed.or(Some(rule));
                }
            }
            standings.push(Standing { suppressed, baseline: None });
        }
        let mut gone = Vec::new();
        if let Some(baseline) = &self.baseline {
            let findings: Vec<&Finding> = report.findings.iter().collect();
            let (states, missing) = baseline.compare(&findings);
            for (standing, state) in standings.iter_mut().zip(states) {
                standing.baseline = Some(state);
            }
            gone = missing;
        }
        let rules = self.rules.iter().zip(matched).collect();
        let baseline = self.baseline.as_ref().map(|baseline| baseline.file.as_str());
        Judged { report, standings, rules, baseline, gone }
    }
}

/// The verdict of the user's files on a finding.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'r> {
    /// The first rule that suppresses it.
    pub suppressed: Option<&'r Rule>,
    /// The baseline's verdict, if there is a baseline.
    pub baseline: Option<State>,
}

impl Standing<'_> {
    /// Whether the finding counts: is shown, and may fail the run.
    pub fn counts(&self) -> bool {
        self.suppressed.is_none() && self.baseline != Some(State::Known)
    }
}

/// A report with the verdicts of the user's files.
#[derive(Debug)]
pub struct Judged<'r> {
    /// The report, whole.
    pub report: &'r Report,
    /// By finding.
    pub standings: Vec<Standing<'r>>,
    /// The rules, and how many findings each is about.
    pub rules: Vec<(&'r Rule, usize)>,
    /// The baseline's file.
    pub baseline: Option<&'r str>,
    /// The entries that the baseline has and the report has not.
    pub gone: Vec<&'r Entry>,
}

impl<'r> Judged<'r> {
    /// Findings and their verdicts.
    pub fn all(&self) -> impl Iterator<Item = (&'r Finding, &Standing<'r>)> {
        self.report.findings.iter().zip(&self.standings)
    }

    /// Findings that count.
    pub fn counted(&self) -> impl Iterator<Item = &'r Finding> {
        self.all().filter(|(_, standing)| standing.counts()).map(|(finding, _)| finding)
    }

    /// The report for people: with what counts and is `told`.
    pub fn shown(&self, told: impl Fn(&Finding) -> bool) -> Report {
        let findings = self.counted().filter(|finding| told(finding)).cloned().collect();
        let Report { summary, processes, unwatched, waiting, modules, .. } = self.report.clone();
        Report { summary, processes, unwatched, findings, waiting, modules }
    }

    /// How many findings are suppressed by rules of a source.
    pub fn suppressed_by(&self, source: Source) -> u64 {
        let rules = self.standings.iter().filter_map(|standing| standing.suppressed);
        rules.filter(|rule| rule.source == source).count() as u64
    }

    /// The rules that a reader should know of: the user's, and of those that ship the ones that
    /// match.
    pub fn rules_told(&self) -> impl Iterator<Item = (&'r Rule, usize)> {
        let is_told =
            |&(rule, matched): &(&Rule, usize)| rule.source == Source::File || matched > 0;
        self.rules.iter().copied().filter(is_told)
    }

    /// A rule for each finding that is shown.
    pub fn generated(&self, all: bool) -> String {
        generate::rules(self.counted().filter(|finding| all || !finding.grade.is_counted_only()))
    }

    /// The text of a baseline with what is not suppressed, nor merely counted unless that fails a
    /// run or `all` is asked for.
    pub fn next_baseline(&self, all: bool, fail_on: Grade) -> String {
        let findings = self.all().filter(|(_, standing)| standing.suppressed.is_none());
        let findings = findings.map(|(finding, _)| finding);
        baseline::render(
            findings.filter(|finding| {
                all || finding.grade <= fail_on || !finding.grade.is_counted_only()
            }),
        )
    }

    /// The remarks about findings that are not shown; fewer are hidden with `all`.
    pub fn remarks(&self, all: bool) -> Remarks {
        let mut remarks = Remarks::default();
        // Each finding by the rule that goes before others.
        let mut by_rule: HashMap<String, u64> = HashMap::new();
        for rule in self.standings.iter().filter_map(|standing| standing.suppressed) {
            *by_rule.entry(rule.place()).or_default() += 1;
        }
        let places: Vec<String> = self
            .rules
            .iter()
            .filter(|(rule, _)| rule.source == Source::File)
            .filter_map(|(rule, _)| {
                let n = by_rule.get(&rule.place())?;
                Some(format!("{} suppressed by {}", number(*n), plain(&rule.place())))
            })
            .collect();
        if !places.is_empty() {
            remarks.parts.push(join(&places));
        }
        let shipped = self.suppressed_by(Source::Default);
        if shipped > 0 {
            let shipped = number(shipped);
            remarks.parts.push(format!("{shipped} suppressed by rules that ship with lockwright"));
        }
        if all {
            // Most of the shipped rules are for other programs.
            remarks.notes.extend(self.rules_told().filter_map(|(rule, matched)| {
                let what = match (rule.source, matched) {
                    (Source::File, 0) => "suppresses nothing here",
                    (Source::File, _) => return None,
                    (Source::Default, _) => {
                        "ships with lockwright: --no-default-suppressions shows what it suppresses"
                    }
                };
                Some(format!("{}: the rule [{}] {what}", plain(&rule.place()), plain(&rule.name)))
            }));
        }
        if let Some(file) = self.baseline {
            let known = self
                .all()
                .filter(|(_, standing)| !standing.counts() && standing.suppressed.is_none());
            remarks.parts.push(format!(
                "{} in the baseline {}",
                number(known.count() as u64),
                plain(file)
            ));
            if !self.gone.is_empty() {
                let n = count(self.gone.len() as u64, "finding");
                remarks.parts.push(format!("{n} of the baseline not found any more"));
            }
            if all {
                remarks.notes.extend(self.gone.iter().map(|entry| {
                    format!(
                        "{}: not found any more: {}: {}",
                        plain(file),
                        plain(&entry.kind),
                        plain(&entry.title)
                    )
                }));
            }
        }
        remarks
    }
}
