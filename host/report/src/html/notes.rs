//! Notes on how the program was watched, and its processes.

use maud::html;

use super::section::{Column, Section, left_out, number_cell, table};
use super::{Run, limits, runs};
use crate::prose::coverage;
use crate::prose::words::{number, plain};
use crate::text::processes::Row;

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
    let many = rows.len() > 1;
    for (run, row) in &rows {
        for note in row.notes.iter().map(coverage::note) {
            let note = row.note(&note, many);
            lines.push(match run {
                Some(run) if many => format!("run {run}, {note}"),
                _ => note,
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
    let (body, left) = limits::NOTES.fill(&rows, |(run, row)| {
        html! { tr.item {
            @if let Some(run) = run { (number_cell(&run.to_string(), *run as f64)) }
            (number_cell(&row.pid.to_string(), f64::from(row.pid)))
            td { code { (row.command()) } }
            @for value in [row.threads, row.locks, row.acquisitions] {
                (number_cell(&number(value), value as f64))
            }
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

/// Watched processes, each with the run that it is of if several were merged.
fn rows<'r>(run: &Run<'r>) -> Vec<(Option<usize>, Row<'r>)> {
    let rows: Vec<Row<'r>> = match (run.found, run.metered) {
        (Some(judged), _) => judged.report.processes.iter().map(Row::from).collect(),
        (None, Some(metered)) => metered.processes.iter().map(Row::from).collect(),
        (None, None) => Vec::new(),
    };
    let number = |(index, row)| (runs::number_of(run.runs, index), row);
    rows.into_iter().enumerate().map(number).collect()
}
