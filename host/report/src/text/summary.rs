//! The end of a report: what to know about coverage, and in one line how much was watched.

use std::collections::HashSet;

use super::processes::{Row, table};
use super::remarks::Remarks;
use crate::prose::coverage;
use crate::prose::words::{count, duration, join, plain};
use lockwright_analysis::finding::{Finding, Grade, Kind, Report, Waiting};
use lockwright_analysis::process_end::ProcessEnd;

/// The last lines. Without any finding shown, of one process, it is exactly one line.
pub fn lines(report: &Report, shown: usize, remarks: Remarks) -> String {
    let mut notes = remarks.notes;
    // Gaps of a process are among its notes.
    let of_no_process = report.summary.completeness.gaps.iter().filter(|gap| gap.pid == 0);
    notes.extend(of_no_process.map(|gap| plain(&coverage::gap_line(&gap.missing))));
    for process in &report.processes {
        // Several have a table. While a program runs nobody asks how it ended.
        let is_told = report.processes.len() == 1 && process.end != ProcessEnd::Unknown;
        let end = coverage::end(process.end).filter(|_| is_told);
        for note in end.into_iter().chain(process.notes.iter().map(coverage::note)) {
            notes.push(if report.processes.len() > 1 {
                format!("process {} ({}): {}", process.pid, plain(&process.exe), plain(&note))
            } else {
                plain(&note)
            });
        }
    }
    notes.extend(modules(report, shown));
    let mut parts = vec![found(report, shown, remarks.goes_on), watched(report)];
    if !report.summary.completeness.is_whole() {
        parts.push("not watched whole".to_owned());
    }
    parts.extend(cost(report));
    parts.extend(hidden(report, shown));
    parts.extend(remarks.parts);
    if shown == 0 {
        parts.extend(notes.drain(..).map(|note| format!("note: {note}")));
    }
    let rows: Vec<Row<'_>> = report.processes.iter().map(Row::from).collect();
    let mut text = table(&rows, &report.unwatched);
    for note in notes {
        text += &format!("note: {note}\n");
    }
    text + &format!("lockwright: {}\n", parts.join("; "))
}

/// The missing names in the findings and waits shown.
fn modules(report: &Report, shown: usize) -> Vec<String> {
    let all = shown == report.findings.len();
    let findings = report.findings.iter().filter(|f| all || !f.grade.is_counted_only());
    let frames = findings.flat_map(Finding::frames);
    let waits = report.waiting.iter().flat_map(Waiting::frames);
    let named: HashSet<&str> =
        frames.chain(waits).filter_map(|frame| frame.module.as_deref()).collect();
    let notes = report.modules.iter().filter(|note| named.contains(note.module.as_str()));
    notes.map(|note| plain(&coverage::module(note))).collect()
}

fn found(report: &Report, shown: usize, goes_on: bool) -> String {
    if shown == 0 {
        let found = if goes_on { "no further findings" } else { "no findings" };
        let is_told = |number: usize| {
            report.waiting.iter().any(|waiting| waiting.process == number && waiting.is_told)
        };
        let mut processes = (0..).zip(&report.processes);
        let may_hang = processes.any(|(number, process)| process.all_waited && !is_told(number));
        return match may_hang {
            true => format!(
                "{found}, but it may have hung: all threads that had used a lock still waited"
            ),
            false => found.to_owned(),
        };
    }
    graded(report, shown)
}

/// "2 findings (1 deadlocked, 1 likely)".
pub fn graded(report: &Report, shown: usize) -> String {
    let mut grades: Vec<(Grade, u64)> = Vec::new();
    let all = shown == report.findings.len();
    for finding in report.findings.iter().filter(|finding| all || !finding.grade.is_counted_only())
    {
        match grades.iter_mut().find(|(grade, _)| *grade == finding.grade) {
            Some((_, n)) => *n += 1,
            None => grades.push((finding.grade, 1)),
        }
    }
    let grades: Vec<_> = grades.iter().map(|(g, n)| format!("{n} {}", g.name())).collect();
    format!("{} ({})", count(shown as u64, "finding"), grades.join(", "))
}

fn watched(report: &Report) -> String {
    let summary = &report.summary;
    let mut text = format!(
        "watched {} in {}, {}, {}, {}",
        count(summary.locks, "lock"),
        count(summary.classes, "class"),
        count(summary.chains, "chain"),
        count(summary.threads, "thread"),
        count(summary.acquisitions, "acquisition"),
    );
    if summary.contended > 0 {
        text += &format!(" ({} contended)", crate::prose::words::number(summary.contended));
    }
    if summary.processes > 1 {
        text += &format!(" in {}", count(summary.processes, "process"));
    }
    text
}

fn cost(report: &Report) -> Option<String> {
    let total = report.summary.cost_ns?;
    let mut text =
        format!("the tool took about {} of the program's CPU time", duration(total as f64));
    if let Some(each) = report.summary.cost_per_acquisition_ns {
        text += &format!(" ({} an acquisition)", duration(each.max(0.0)));
    }
    Some(text)
}

/// "2 guarded and 1 single-thread cycles and 3 objects never destroyed not shown: --all".
fn hidden(report: &Report, shown: usize) -> Option<String> {
    if shown == report.findings.len() {
        return None;
    }
    let (objects, hidden): (Vec<_>, Vec<_>) = report
        .findings
        .iter()
        .filter(|finding| finding.grade.is_counted_only())
        .partition(|finding| finding.kind == Kind::ObjectNeverDestroyed);
    let mut parts: Vec<_> = [Grade::Guarded, Grade::Ordered, Grade::SingleThread, Grade::Untidy]
        .into_iter()
        .filter_map(|wanted| {
            let n = hidden.iter().filter(|finding| finding.grade == wanted).count();
            (n > 0).then(|| format!("{n} {}", wanted.name()))
        })
        .collect();
    if !hidden.is_empty() {
        let is_cycle = hidden.iter().all(|finding| finding.kind == Kind::CircularDependency);
        let what = if is_cycle { "cycle" } else { "finding" };
        let s = if hidden.len() == 1 { "" } else { "s" };
        parts = vec![format!("{} {what}{s}", join(&parts))];
    }
    if !objects.is_empty() {
        // Several objects may be folded into one finding.
        let n = objects
            .iter()
            .fold(0, |n: u64, finding| n.saturating_add(finding.also).saturating_add(1));
        parts.push(format!("{} never destroyed", count(n, "object")));
    }
    Some(format!("{} not shown: --all", join(&parts)))
}
