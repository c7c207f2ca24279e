//! The report for machines: docs/report-schema.md describes it, docs/report.schema.json is its
//! schema.

use std::io;

use serde::Serialize;

use crate::coverage_json::{self, CompletenessOut, ModuleOut};
use crate::lockmeter;
use crate::lockmeter::json::{AdviceOut, all_advice};
use crate::prose::action::phrase;
use crate::prose::{Told, told};
use crate::verdict::baseline::{Entry, State};
use crate::verdict::{Judged, Policy, Rule, Source, Standing, identity};
use crate::waiting_json::{LongWaitOut, WaitingOut};
use lockwright_analysis::finding::confirmation::Confirmation;
use lockwright_analysis::finding::{
    Finding, Frame, Grade, HeldLock, Kind, LockInfo, Origin, Process, Report, Step, Summary,
    ThreadInfo, Unwatched,
};
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::merge::Run;
use lockwright_analysis::under_way::LongWait;
use lockwright_console::plain;

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
    summary: SummaryOut<'r>,
    processes: Vec<ProcessOut<'r>>,
    unwatched: &'r [Unwatched],
    modules: Vec<ModuleOut<'r>>,
    findings: Vec<JudgedFinding<'r>>,
    waiting: Vec<WaitingOut<'r>>,
    /// The runs of `merge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<&'r [Run]>,
    suppressions: Vec<Suppression<'r>>,
    suppressed: Suppressed,
    baseline: Option<Compared<'r>>,
    /// Where waits were looked at while the program ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    long_waits: Option<Vec<LongWaitOut<'r>>>,
    /// Where the run was measured, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    meter: Option<lockmeter::json::Document<'r>>,
}

/// How much was watched, and whether that is all there was.
#[derive(Serialize)]
struct SummaryOut<'r> {
    #[serde(flatten)]
    summary: &'r Summary,
    #[serde(flatten)]
    completeness: CompletenessOut,
}

/// A process, and what is to be known of how it was watched.
#[derive(Serialize)]
struct ProcessOut<'r> {
    #[serde(flatten)]
    process: &'r Process,
    notes: Vec<String>,
}

impl<'r> ProcessOut<'r> {
    fn new(process: &'r Process) -> Self {
        Self { process, notes: coverage_json::notes(&process.notes) }
    }
}

/// A finding, with the verdict of the user's files.
#[derive(Serialize)]
struct JudgedFinding<'r> {
    kind: Kind,
    grade: Grade,
    title: String,
    evidence: Vec<String>,
    help: Vec<String>,
    locks: &'r [LockInfo],
    steps: Vec<StepOut<'r>>,
    pid: u32,
    process: Option<usize>,
    #[serde(skip_serializing_if = "is_empty")]
    origins: &'r [Origin],
    also: u64,
    fingerprint: String,
    suppressed: Option<Suppression<'r>>,
    baseline: Option<State>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmation: Option<&'r Confirmation>,
}

impl<'r> JudgedFinding<'r> {
    fn new((finding, standing): (&'r Finding, &Standing<'r>)) -> Self {
        let Told { title, evidence, help } = told(finding);
        Self {
            kind: finding.kind,
            grade: finding.grade,
            title,
            evidence,
            help,
            locks: &finding.locks,
            steps: finding.steps.iter().map(StepOut::new).collect(),
            pid: finding.pid,
            process: finding.process,
            origins: &finding.origins,
            also: finding.also,
            fingerprint: identity::fingerprint(finding),
            suppressed: standing.suppressed.map(|rule| Suppression::new(rule, None)),
            baseline: standing.baseline,
            confirmation: finding.confirmation.as_deref(),
        }
    }
}

fn is_empty(origins: &&[Origin]) -> bool {
    origins.is_empty()
}

/// A thread's step.
#[derive(Serialize)]
struct StepOut<'r> {
    thread: &'r ThreadInfo,
    lock: usize,
    action: String,
    held: &'r [HeldLock],
    stack: &'r [Frame],
}

impl<'r> StepOut<'r> {
    fn new(step: &'r Step) -> Self {
        Self {
            thread: &step.thread,
            lock: step.lock,
            action: phrase(step.action),
            held: &step.held,
            stack: &step.stack,
        }
    }
}

/// How many findings are suppressed, by the origin of the rule.
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

/// As [`render_with`], with the verdicts of the user's files.
pub fn render_judged(judged: &Judged<'_>, metered: Option<&MeterReport>) -> String {
    plain::json_text(&document(judged, Besides { metered, ..Besides::default() }))
}

/// What a document has besides findings, where there is such.
#[derive(Clone, Copy, Default)]
pub struct Besides<'r> {
    /// What was measured in the same run.
    pub metered: Option<&'r MeterReport>,
    /// The runs that the findings are of if they are of several.
    pub runs: Option<&'r [Run]>,
    /// Waits that were long.
    pub long_waits: Option<&'r [LongWait]>,
}

/// As [`render_judged`], written out as it is made.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_judged(
    judged: &Judged<'_>,
    besides: Besides<'_>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    plain::write_json(&document(judged, besides), out)
}

fn document<'r>(judged: &'r Judged<'_>, besides: Besides<'r>) -> Document<'r> {
    let Besides { metered, runs, long_waits } = besides;
    let report = judged.report;
    let rule = |(rule, matched)| Suppression::new(rule, Some(matched));
    Document {
        schema: SCHEMA,
        version: VERSION,
        tool: Tool { name: "lockwright", version: env!("CARGO_PKG_VERSION") },
        summary: SummaryOut {
            summary: &report.summary,
            completeness: CompletenessOut::new(&report.summary.completeness),
        },
        processes: report.processes.iter().map(ProcessOut::new).collect(),
        unwatched: &report.unwatched,
        modules: coverage_json::modules(&report.modules),
        findings: judged.all().map(JudgedFinding::new).collect(),
        waiting: report.waiting.iter().map(WaitingOut::new).collect(),
        runs,
        suppressions: judged.rules_told().map(rule).collect(),
        suppressed: Suppressed {
            file: judged.suppressed_by(Source::File),
            default: judged.suppressed_by(Source::Default),
        },
        baseline: judged.baseline.map(|file| Compared { file, gone: &judged.gone }),
        long_waits: long_waits.map(|waits| waits.iter().map(LongWaitOut::new).collect()),
        meter: metered.map(|report| lockmeter::json::Document::new(report, None)),
    }
}

/// What a command of the user's is started for (docs/live.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// Something was found.
    Finding,
    /// A process has deadlocked.
    Deadlock,
    /// What was found has another grade in view of the whole run.
    Regraded,
    /// What was found is none in view of the whole run.
    Retracted,
    /// A wait lasts long.
    LongWait,
    /// Something could be better.
    Advice,
}

/// A finding and the process that it is of.
#[derive(Serialize)]
struct FindingEvent<'r> {
    event: Event,
    exe: Option<&'r str>,
    command: Option<&'r [String]>,
    #[serde(flatten)]
    finding: JudgedFinding<'r>,
}

/// A finding of a judged report as an object in a line.
pub fn finding_event(event: Event, judged: &Judged<'_>, finding: &Finding) -> String {
    let standing = judged.all().find(|(other, _)| std::ptr::eq(*other, finding));
    let none = Standing { suppressed: None, baseline: None };
    let process = judged.report.process_of(finding);
    one_line(&FindingEvent {
        event,
        exe: process.map(|process| process.exe.as_str()),
        command: process.map(|process| process.command.as_slice()),
        finding: JudgedFinding::new((finding, standing.map_or(&none, |(_, standing)| standing))),
    })
}

/// A long wait.
#[derive(Serialize)]
struct WaitEvent<'r> {
    event: Event,
    #[serde(flatten)]
    wait: LongWaitOut<'r>,
}

/// A long wait as an object in a line.
pub fn wait_event(wait: &LongWait) -> String {
    one_line(&WaitEvent { event: Event::LongWait, wait: LongWaitOut::new(wait) })
}

/// A piece of advice and the lock that it is about.
#[derive(Serialize)]
struct AdviceEvent<'r> {
    event: Event,
    lock_name: Option<&'r str>,
    #[serde(flatten)]
    advice: AdviceOut,
}

/// Each piece of advice on a measurement as an object in a line.
pub fn advice_events(report: &MeterReport) -> Vec<String> {
    let line = |advice: AdviceOut| {
        let lock_name =
            advice.lock.and_then(|lock| report.locks.get(lock)).map(|lock| lock.name.as_str());
        one_line(&AdviceEvent { event: Event::Advice, lock_name, advice })
    };
    all_advice(report).into_iter().map(line).collect()
}

fn one_line(object: &impl Serialize) -> String {
    // What is printed is made of strings, numbers and their lists.
    let text = serde_json::to_string(object).expect("an object with names for keys");
    plain::json(text) + "\n"
}
