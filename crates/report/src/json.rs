//! The report for machines: docs/report-schema.md describes it, docs/report.schema.json is its schema.

use serde::Serialize;

use crate::lockmeter;
use crate::verdict::baseline::{Entry, State};
use crate::verdict::{Judged, Policy, Rule, Source, Standing, identity};
use lockwright_analysis::finding::{
    Finding, ModuleNote, Process, Report, Summary, Unwatched, Waiting,
};
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::merge::{Merged, Run};

/// Value of `schema`.
pub const SCHEMA: &str = "lockwright-report";

/// Value of `version`: raised when a reader of the one before would go wrong. Fields may be added
/// without that.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'r> {
    schema: &'static str,
    version: u32,
    tool: Tool,
    summary: &'r Summary,
    processes: &'r [Process],
    unwatched: &'r [Unwatched],
    modules: &'r [ModuleNote],
    findings: Vec<JudgedFinding<'r>>,
    waiting: &'r [Waiting],
    /// Of `merge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<&'r [Run]>,
    suppressions: Vec<Suppression<'r>>,
    suppressed: Suppressed,
    baseline: Option<Compared<'r>>,
    /// Where the run was measured, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    meter: Option<lockmeter::json::Document<'r>>,
}

/// A finding, and what the user's files say of it.
#[derive(Serialize)]
struct JudgedFinding<'r> {
    #[serde(flatten)]
    finding: &'r Finding,
    fingerprint: String,
    suppressed: Option<Suppression<'r>>,
    baseline: Option<State>,
}

impl<'r> JudgedFinding<'r> {
    fn new((finding, standing): (&'r Finding, &Standing<'r>)) -> Self {
        Self {
            finding,
            fingerprint: identity::fingerprint(finding),
            suppressed: standing.suppressed.map(|rule| Suppression::new(rule, None)),
            baseline: standing.baseline,
        }
    }
}

/// How many findings are suppressed, by who wrote the rule.
#[derive(Serialize)]
struct Suppressed {
    file: u64,
    default: u64,
}

/// A rule that suppresses findings.
#[derive(Serialize)]
struct Suppression<'r> {
    source: Source,
    file: &'r str,
    line: u32,
    name: &'r str,
    /// Findings that it matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<usize>,
}

impl<'r> Suppression<'r> {
    fn new(rule: &'r Rule, matched: Option<usize>) -> Self {
        Self { source: rule.source, file: &rule.file, line: rule.line, name: &rule.name, matched }
    }
}

/// The baseline, and what is no longer found of it.
#[derive(Serialize)]
struct Compared<'r> {
    file: &'r str,
    gone: &'r [&'r Entry],
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

/// Renders the whole report, findings of every grade included; ends with a newline.
pub fn render(report: &Report) -> String {
    render_with(report, None)
}

/// As [`render`], with what was measured in the same run.
pub fn render_with(report: &Report, metered: Option<&MeterReport>) -> String {
    render_judged(&Policy::default().judge(report), metered)
}

/// As [`render_with`], with what the user's files say of the findings.
pub fn render_judged(judged: &Judged<'_>, metered: Option<&MeterReport>) -> String {
    text(&document(judged, metered))
}

/// As [`render_judged`], of what several runs make together.
pub fn render_merged(judged: &Judged<'_>, merged: &Merged) -> String {
    let mut document = document(judged, None);
    document.runs = Some(&merged.runs);
    text(&document)
}

fn document<'r>(judged: &'r Judged<'_>, metered: Option<&'r MeterReport>) -> Document<'r> {
    let report = judged.report;
    let rule = |(rule, matched)| Suppression::new(rule, Some(matched));
    Document {
        schema: SCHEMA,
        version: VERSION,
        tool: Tool { name: "lockwright", version: env!("CARGO_PKG_VERSION") },
        summary: &report.summary,
        processes: &report.processes,
        unwatched: &report.unwatched,
        modules: &report.modules,
        findings: judged.all().map(JudgedFinding::new).collect(),
        waiting: &report.waiting,
        runs: None,
        suppressions: judged.rules_told().map(rule).collect(),
        suppressed: Suppressed {
            file: judged.suppressed_by(Source::File),
            default: judged.suppressed_by(Source::Default),
        },
        baseline: judged.baseline.map(|file| Compared { file, gone: &judged.gone }),
        meter: metered.map(lockmeter::json::Document::new),
    }
}

fn text(document: &Document<'_>) -> String {
    let mut text = serde_json::to_string_pretty(document)
        .expect("strings and numbers under string keys always serialise");
    text.push('\n');
    text
}
