//! GitHub's workflow commands: GitHub shows such lines of standard output or error next to the
//! lines of a change.
//!
//! <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>

use std::fmt::Write;

use super::entry::Entry;
use super::{Options, entries};
use crate::prose::coverage;
use crate::prose::words::{Level, plain};
use crate::verdict::Judged;

/// One command a line, for each finding and for each process that was not watched whole.
pub fn render(judged: &Judged<'_>, options: Options) -> String {
    let mut text = String::new();
    for entry in entries(judged, options).0 {
        command(&mut text, &entry);
    }
    for process in &judged.report.processes {
        for missing in process.missing() {
            let why = plain(&coverage::gap_line(missing));
            let what = format!("process {} ({}): {why}", process.pid, plain(&process.exe));
            let _ =
                writeln!(text, "::warning title=lockwright: not watched whole::{}", data(&what));
        }
    }
    text
}

fn command(text: &mut String, entry: &Entry<'_>) {
    let level = match entry.level() {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let kind = entry.finding.kind.name();
    let mut properties = String::new();
    if let Some(place) = &entry.place {
        let _ = write!(properties, "file={},line={},", property(&place.file), place.line);
        if let Some(column) = place.column {
            let _ = write!(properties, "col={column},");
        }
    }
    let title = format!("lockwright: {kind} ({})", entry.finding.grade.name());
    let _ = write!(properties, "title={}", property(&title));
    let mut lines = vec![entry.title.clone()];
    lines.extend(entry.lines.iter().cloned());
    lines.extend(entry.help.iter().map(|help| format!("help: {help}")));
    lines.extend(entry.test.iter().map(|test| format!("in: {test}")));
    let _ = writeln!(text, "::{level} {properties}::{}", data(&lines.join("\n")));
}

/// The text of a command: what would end it, or begin an escape, is escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, likewise.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_command_early() {
        assert_eq!(data("100 %\r\nof a::b"), "100 %25%0D%0Aof a::b");
        assert_eq!(property("a,b:c%"), "a%2Cb%3Ac%25");
    }
}
