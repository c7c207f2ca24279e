//! The diagnosis for people and for machines: docs/doctor.md has both.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::diagnosis::{Diagnosis, Effect, Finding, Process, Verdict};
use crate::run::watch::c_library;
use lockwright_console::error::Severity;
use lockwright_console::plain::{json as as_json, line as plain};

/// Value of `schema`.
const SCHEMA: &str = "lockwright-doctor";

/// Value of `version`: raised when a reader of the one before would go wrong. Fields may be added
/// without that.
const VERSION: u32 = 1;

/// The verdict, what it is about, then each finding with its remedies.
pub fn text(diagnosis: &Diagnosis, colour: bool) -> String {
    let bold = |text: &str| if colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() };
    let mut text = format!("{}: {}\n", bold(&plain(&diagnosis.name)), verdict(diagnosis));
    // Writing to a String cannot fail.
    let _ = writeln!(text, "  {}", subject(diagnosis));
    for finding in &diagnosis.findings {
        let severity = match finding.effect {
            Effect::Blocks => Severity::Error,
            Effect::Hides => Severity::Warning,
            Effect::Note => Severity::Note,
        };
        text += "\n";
        text += &severity.line(&plain(&finding.what), colour);
        for file in &finding.files {
            let _ = writeln!(text, "  in: {}", plain(file));
        }
        for help in &finding.help {
            let _ = writeln!(text, "  {}: {}", bold("help"), plain(help));
        }
    }
    text
}

fn verdict(diagnosis: &Diagnosis) -> &'static str {
    match (diagnosis.verdict(), &diagnosis.process) {
        (_, Some(Process { ledger: Some(_), .. })) => "is being watched",
        (Verdict::Whole, None) => "can be watched",
        (Verdict::Part, None) => "can be watched in part",
        (Verdict::Whole, Some(_)) => "is not being watched, but can be",
        (Verdict::Part, Some(_)) => "is not being watched, but can be in part",
        (Verdict::None, _) => "cannot be watched",
    }
}

fn subject(diagnosis: &Diagnosis) -> String {
    let mut way: Vec<String> = diagnosis.scripts.iter().map(|path| plain(&shown(path))).collect();
    way.push(plain(&shown(&diagnosis.file)));
    let mut text = way.join(", run by ");
    if diagnosis.libraries > 0 {
        let plural = if diagnosis.libraries == 1 { "y" } else { "ies" };
        text += &format!(" with {} librar{plural}", diagnosis.libraries);
    }
    text + &format!("; glibc here: {}", c_library::version_text())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[derive(Serialize)]
struct Document<'d> {
    schema: &'static str,
    version: u32,
    tool: Tool,
    name: &'d str,
    file: String,
    scripts: Vec<String>,
    glibc: String,
    process: Option<&'d Process>,
    verdict: Verdict,
    findings: &'d [Finding],
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

/// The diagnosis as JSON; ends with a newline.
pub fn json(diagnosis: &Diagnosis) -> String {
    let document = Document {
        schema: SCHEMA,
        version: VERSION,
        tool: Tool { name: "lockwright", version: env!("CARGO_PKG_VERSION") },
        name: &diagnosis.name,
        file: shown(&diagnosis.file),
        scripts: diagnosis.scripts.iter().map(|path| shown(path)).collect(),
        glibc: c_library::version_text(),
        process: diagnosis.process.as_ref(),
        verdict: diagnosis.verdict(),
        findings: &diagnosis.findings,
    };
    let mut text = serde_json::to_string_pretty(&document)
        .expect("strings and numbers under string keys always serialise");
    text.push('\n');
    as_json(text)
}
