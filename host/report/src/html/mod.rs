//! Reports as a page for a browser: one file that fetches nothing.
//!
//! Everything is in the markup: findings, tables and drawings are readable without JavaScript. The
//! script only sorts, searches and moves about. A page has a limit, whatever was recorded: each
//! section has its share of it ([`limits`]), and says what it leaves out.

mod blame;
mod context;
mod dependencies;
mod diff;
mod document;
mod every_wait;
mod excerpt;
mod findings;
mod first;
mod flame;
mod histogram;
mod layout;
mod limits;
mod locks;
mod meter;
mod notes;
mod runs;
mod section;
mod stack;
mod threads;
mod wait_lanes;
mod waits;
mod words;
mod worst_waits;

use crate::lockmeter::diff::Judged as JudgedChange;
use crate::prose::words::{command, plain};
use crate::text::stack::{Stacks, shorten};
use context::Context;
pub use context::Run;
use lockwright_analysis::finding::Finding;
use lockwright_analysis::lockmeter::diff::Comparison;
use lockwright_analysis::symbolize::source::Sources;
use section::Section;

/// The page of a run.
pub fn render(run: &Run<'_>) -> String {
    let findings: Vec<&Finding> = run.found.map_or_else(Vec::new, |judged| {
        judged.counted().filter(|f| run.all || !f.grade.is_counted_only()).collect()
    });
    let context = Context { sources: Sources::with_servers(), stacks: Stacks::new(), findings };
    let mut sections = vec![first::section(&context, run)];
    if let Some(judged) = run.found {
        sections.push(findings::section(&context, judged));
        sections.extend(waits::section(&context, judged.report));
        sections.extend(dependencies::section(&context, run));
    }
    sections.extend(every_wait::section(&context, run.every_wait));
    match run.metered {
        Some(metered) => {
            sections.extend(worst_waits::section(&context, metered));
            sections.extend(meter::sections(&context, metered));
        }
        None => sections.extend(locks::of_graphs(&context, run.graphs, run.runs)),
    }
    sections.extend(runs::section(run.runs));
    sections.extend(notes::section(run));
    document::render(&programs(run), what(run), &sections)
}

/// The page of a comparison.
pub fn render_diff(comparison: &Comparison, judged: &[JudgedChange]) -> String {
    let context =
        Context { sources: Sources::with_servers(), stacks: Stacks::new(), findings: Vec::new() };
    let sections: Vec<Section> = diff::sections(&context, comparison, judged);
    document::render(&joined(&comparison.after.programs), "diff", &sections)
}

fn what(run: &Run<'_>) -> &'static str {
    match (run.found, run.metered) {
        _ if !run.runs.is_empty() => "merge",
        (Some(_), Some(_)) => "run",
        (None, Some(_)) => "meter",
        _ => "check",
    }
}

/// The programs that ran.
fn programs(run: &Run<'_>) -> String {
    let commands: Vec<(&String, &Vec<String>)> = match (run.found, run.metered) {
        (Some(judged), _) => judged.report.processes.iter().map(|p| (&p.exe, &p.command)).collect(),
        (None, Some(metered)) => metered.processes.iter().map(|p| (&p.exe, &p.command)).collect(),
        (None, None) => Vec::new(),
    };
    let mut names: Vec<String> = Vec::new();
    for (exe, words) in commands {
        let name = command(exe, words);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    joined(&names)
}

/// The first names, and how many more there are.
fn joined(names: &[String]) -> String {
    const MOST: usize = 3;
    let mut shown: Vec<String> =
        names.iter().take(MOST).map(|name| shorten(&plain(name))).collect();
    if names.len() > MOST {
        shown.push(format!("{} more", names.len() - MOST));
    }
    shown.join(", ")
}
