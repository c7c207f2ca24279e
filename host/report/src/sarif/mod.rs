//! The report in SARIF 2.1.0, which code hosts and editors show in the source: docs/sarif.md.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>; section numbers are its.

mod flows;
mod message;
pub(crate) mod places;
mod rules;
mod uri;

use serde::Serialize;

use crate::prose::words::{self, Level, plain};
use crate::prose::{Told, coverage, told};
use crate::verdict::baseline::State;
use crate::verdict::{Judged, Rule, Source, Standing, identity};
use flows::CodeFlow;
use lockwright_analysis::finding::coverage::Note;
use lockwright_analysis::finding::{Finding, Grade, Process, Report};
use lockwright_console::plain;
use message::Message;
use places::{Location, Places};
use rules::Descriptor;

/// Where the schema that the document fits is published.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Where the tool is described (3.19.11): its manual page, as it has no address in the web.
const INFORMATION: &str = "man:lockwright(1)";

/// sarifLog (3.13).
#[derive(Serialize)]
struct Log<'r> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'r>; 1],
}

/// run (3.14).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'r> {
    tool: Tool,
    invocations: [Invocation; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    original_uri_base_ids: Option<places::Bases>,
    results: Vec<Result<'r>>,
    column_kind: &'static str,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

/// toolComponent (3.19).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    information_uri: &'static str,
    rules: Vec<Descriptor>,
}

/// invocation (3.20): the analysis, which has succeeded if there is a report.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    tool_execution_notifications: Vec<Notification>,
}

/// notification (3.58).
#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Message,
}

/// result (3.27).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Result<'r> {
    rule_id: &'static str,
    rule_index: usize,
    level: &'static str,
    message: Message,
    locations: Vec<Location>,
    code_flows: Vec<CodeFlow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
    partial_fingerprints: Fingerprints,
    /// Either all results of a run have it or none (3.27.23).
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressions: Option<Vec<Suppression<'r>>>,
    /// Likewise (3.27.24).
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_state: Option<&'static str>,
    properties: Properties<'r>,
}

#[derive(Serialize)]
struct Fingerprints {
    /// The version is that of baselines.
    #[serde(rename = "lockwright/v2")]
    fingerprint: String,
}

/// suppression (3.35).
#[derive(Serialize)]
struct Suppression<'r> {
    kind: &'static str,
    status: &'static str,
    justification: &'r str,
    /// None of a rule that ships with lockwright: it stands in no file of the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location>,
}

/// Properties that SARIF has no word for.
#[derive(Serialize)]
struct Properties<'r> {
    grade: Grade,
    evidence: Vec<String>,
    help: Vec<String>,
    pid: u32,
    /// That process's executable; `None`: of several.
    exe: Option<&'r str>,
    also: u64,
}

/// Renders what counts, is suppressed or known; of grades that are only counted, if `all`. Ends
/// with a newline.
pub fn render(judged: &Judged<'_>, all: bool) -> String {
    let places = Places::new();
    let shown = judged.all().filter(|(finding, _)| all || !finding.grade.is_counted_only());
    let results = shown.map(|(finding, standing)| result(judged, &places, finding, standing));
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "lockwright",
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    information_uri: INFORMATION,
                    rules: rules::all(),
                },
            },
            invocations: [Invocation {
                execution_successful: true,
                tool_execution_notifications: notifications(judged.report),
            }],
            results: results.collect(),
            original_uri_base_ids: places.bases(),
            column_kind: "unicodeCodePoints",
        }],
    };
    let mut text = serde_json::to_string_pretty(&log)
        .expect("strings and numbers under string keys always serialise");
    text.push('\n');
    plain::json(text)
}

fn result<'r>(
    judged: &Judged<'r>,
    places: &Places,
    finding: &'r Finding,
    standing: &Standing<'r>,
) -> Result<'r> {
    let suppression = |rule: &'r Rule| Suppression {
        kind: "external",
        status: "accepted",
        justification: &rule.name,
        location: (rule.source == Source::File).then(|| places.line(&rule.file, rule.line)),
    };
    let told = told(finding);
    let why = told.why(finding.grade).join("; ");
    let Told { title, evidence, help } = told;
    let text = format!("{}\n{}: {why}", plain(&title), finding.grade.name());
    Result {
        rule_id: finding.kind.name(),
        rule_index: rules::index(finding.kind),
        level: match words::level(finding.grade) {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        },
        message: Message::new(text),
        locations: finding
            .steps
            .first()
            .map(|step| places.of_step(finding, step))
            .into_iter()
            .collect(),
        code_flows: flows::of(finding, places),
        related_locations: places.related(finding),
        partial_fingerprints: Fingerprints { fingerprint: identity::fingerprint(finding) },
        suppressions: judged
            .rules_told()
            .next()
            .is_some()
            .then(|| standing.suppressed.map(suppression).into_iter().collect()),
        baseline_state: standing.baseline.map(|state| match state {
            State::New => "new",
            State::Worse => "updated",
            State::Known => "unchanged",
        }),
        properties: Properties {
            grade: finding.grade,
            evidence,
            help,
            pid: finding.pid,
            exe: judged.report.process_of(finding).map(|process| process.exe.as_str()),
            also: finding.also,
        },
    }
}

/// The limits of the coverage.
fn notifications(report: &Report) -> Vec<Notification> {
    let notes =
        report.processes.iter().flat_map(|process| process.notes.iter().map(move |n| (process, n)));
    let text = |(process, note): (&Process, &Note)| {
        format!(
            "process {} ({}): {}",
            process.pid,
            plain(&process.exe),
            plain(&coverage::note(note))
        )
    };
    let modules = report.modules.iter().map(|note| plain(&coverage::module(note)));
    let texts = notes.map(text).chain(modules);
    texts.map(|text| Notification { level: "note", message: Message::new(text) }).collect()
}
