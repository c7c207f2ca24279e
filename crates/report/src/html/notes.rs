//! What to know of how the program was watched, and its processes.

use maud::html;

use super::section::{Column, Section, left_out, number_cell, table};
use super::{Run, limits, runs};
use crate::prose::coverage;
use crate::prose::words::{number, plain};
use lockwright_analysis::finding::coverage::Note;
use lockwright_analysis::process_end::ProcessEnd;

/// A process, of whichever report.
struct Row<'r> {
    /// Which of several runs it is of.
    run: Option<usize>,
    pid: u32,
    exe: &'r str,
    command: &'r [String],
    end: ProcessEnd,
    numbers: [u64; 3],
    notes: &'r [Note],
}

const COLUMNS: &[Column] = &[
    Column::number("process", ""),
    Column::text("command"),
    Column::number("threads", "that used a lock"),
    Column::number("locks", "each life of a piece of memory is its own"),
    Column::number("acquisitions", ""),
    Column::text("end"),
];

/// `None` if there is nothing to tell.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let rows = rows(run);
    let mut lines: Vec<String> = Vec::new();
    if let Some(judged) = run.found {
        let gaps = judged.report.summary.completeness.gaps.iter().filter(|gap| gap.pid == 0);
        lines.extend(gaps.map(|gap| plain(&coverage::gap_line(&gap.missing))));
        lines.extend(judged.report.modules.iter().map(|note| plain(&coverage::module(note))));
        lines.extend(judged.remarks(run.all).notes.iter().map(|note| plain(note)));
    } else if let Some(metered) = run.metered {
        lines.extend(metered.modules.iter().map(|note| plain(&coverage::module(note))));
    }
    for row in &rows {
        let many = rows.len() > 1;
        for note in row.notes.iter().map(coverage::note) {
            lines.push(match (many, row.run) {
                (true, Some(run)) => {
                    format!("run {run}, process {} ({}): {}", row.pid, plain(row.exe), plain(&note))
                }
                (true, None) => {
                    format!("process {} ({}): {}", row.pid, plain(row.exe), plain(&note))
                }
                (false, _) => plain(&note),
            });
        }
    }
    let unwatched = match (run.found, run.metered) {
        (Some(judged), _) => judged.report.unwatched.as_slice(),
        (None, Some(metered)) => &metered.unwatched,
        (None, None) => &[],
    };
    lines.extend(unwatched.iter().map(|process| {
        format!(
            "{} (process {}) was not watched: {}",
            plain(&process.exe),
            process.pid,
            plain(&process.why)
        )
    }));
    if rows.is_empty() && lines.is_empty() {
        return None;
    }
    let (notes, notes_left) = limits::NOTES.fill(&lines, |line| html! { li { (line) } });
    let (body, left) = limits::NOTES.fill(&rows, |row| {
        let command =
            if row.command.is_empty() { row.exe.to_owned() } else { row.command.join(" ") };
        html! { tr.item {
            @if let Some(run) = row.run { (number_cell(&run.to_string(), run as f64)) }
            (number_cell(&row.pid.to_string(), f64::from(row.pid)))
            td { code { (crate::text::stack::shorten(&plain(&command))) } }
            @for value in row.numbers { (number_cell(&number(value), value as f64)) }
            td { (coverage::end(row.end).unwrap_or_else(|| "exited".to_owned())) }
        } }
    });
    let mut columns = COLUMNS.to_vec();
    if !run.runs.is_empty() {
        columns.insert(0, Column::number("run", ""));
    }
    let body = html! {
        @if !lines.is_empty() { ul.notes { (notes) } (left_out(notes_left, "note", "--json")) }
        (table("Processes", &columns, &body))
        (left_out(left, "process", "--json"))
    };
    Some(Section::new("notes", "Processes and notes", body))
}

fn rows<'r>(run: &Run<'r>) -> Vec<Row<'r>> {
    if let Some(judged) = run.found {
        let row = |(index, p): (usize, &'r lockwright_analysis::finding::Process)| Row {
            run: runs::number_of(run.runs, index),
            pid: p.pid,
            exe: &p.exe,
            command: &p.command,
            end: p.end,
            numbers: [p.threads, p.locks, p.acquisitions],
            notes: &p.notes,
        };
        return judged.report.processes.iter().enumerate().map(row).collect();
    }
    let row = |p: &'r lockwright_analysis::lockmeter::model::Process| Row {
        run: None,
        pid: p.pid,
        exe: &p.exe,
        command: &p.command,
        end: p.end,
        numbers: [p.threads, p.locks, p.acquisitions],
        notes: &p.notes,
    };
    run.metered.map_or_else(Vec::new, |metered| metered.processes.iter().map(row).collect())
}
