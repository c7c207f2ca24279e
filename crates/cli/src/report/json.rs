//! The report for machines: docs/report-schema.md describes it, docs/report.schema.json is its schema.

use serde::Serialize;

use crate::finding::{Finding, Kind, Process, Report, Summary};
use crate::meter;
use crate::meter::model::MeterReport;

/// Value of `schema`.
pub const SCHEMA: &str = "lockwright-report";

/// Value of `version`: raised when a reader of the one before would go wrong. Fields may be added
/// without that.
pub const VERSION: u32 = 1;

/// Every kind there is, in the order of the documentation.
pub const KINDS: [Kind; 16] = [
    Kind::CircularDependency,
    Kind::RecursiveLocking,
    Kind::InconsistentState,
    Kind::BadUnlockBalance,
    Kind::HeldLockFreed,
    Kind::HeldLockDestroyed,
    Kind::HeldLockInitialised,
    Kind::UseAfterDestroy,
    Kind::ExitWithLockHeld,
    Kind::ForkWithLockHeld,
    Kind::WaitWithLockHeld,
    Kind::CondvarMutexMismatch,
    Kind::UnlockInconsistent,
    Kind::LockNotHeld,
    Kind::Unpinned,
    Kind::InvalidWaitContext,
];

#[derive(Serialize)]
struct Document<'r> {
    schema: &'static str,
    version: u32,
    tool: Tool,
    summary: &'r Summary,
    processes: &'r [Process],
    findings: &'r [Finding],
    /// Where the run was measured, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    meter: Option<meter::json::Document<'r>>,
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
    let document = Document {
        schema: SCHEMA,
        version: VERSION,
        tool: Tool { name: "lockwright", version: env!("CARGO_PKG_VERSION") },
        summary: &report.summary,
        processes: &report.processes,
        findings: &report.findings,
        meter: metered.map(meter::json::Document::new),
    };
    let mut text = serde_json::to_string_pretty(&document)
        .expect("strings and numbers under string keys always serialise");
    text.push('\n');
    text
}
