//! Why a report is empty, or as good as empty, in one line, with the remedy. If it is not empty:
//! the locks that the runtime of the program's language hides.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::hidden::{Hidden, most_in, named};
use super::modules::Modules;
use super::program::is_of_system;
use crate::run::target;
use crate::run::target::contents::{self, Contents, Mark};
use lockwright_analysis::finding::coverage::Note;
use lockwright_analysis::finding::{Grade, Report};
use lockwright_analysis::lockmeter::model::MeterReport;

/// A watched process.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'r> {
    /// Its executable.
    pub exe: &'r str,
    /// Threads that used something that is watched.
    pub threads: u64,
}

/// A thread that takes fewer locks than this does so in passing, as runtimes do where threads start
/// and end.
const IN_PASSING: u64 = 10;

/// Why there is nothing to see, or next to nothing, in so many acquisitions, and of which of the
/// processes that is said; nothing if there is something, or nothing is known.
fn why_nothing(acquisitions: u64, processes: &[Seen<'_>]) -> Vec<(usize, String)> {
    let threads: u64 = processes.iter().map(|process| process.threads).sum();
    if acquisitions >= IN_PASSING * threads.max(1) {
        return Vec::new();
    }
    let seen = if acquisitions == 0 { "no" } else { "hardly any" };
    let mut looked_into: Vec<&str> = Vec::new();
    for (index, process) in processes.iter().enumerate() {
        if looked_into.contains(&process.exe) {
            continue;
        }
        looked_into.push(process.exe);
        let Some(program) = Contents::read(Path::new(process.exe)) else { continue };
        let more = format!("`lockwright doctor {}` tells more", process.exe);
        let mut sorts = most_in(&program);
        if sorts.is_empty() {
            sorts.extend(of_libraries(&program));
        }
        if let Some((first, others)) = sorts.split_first() {
            let what = format!("{seen} locks were seen: {}", first.said());
            let mut notes = vec![(index, format!("{what}; {}; {more}", first.help[0]))];
            notes.extend(others.iter().map(|sort| (index, not_seen(sort))));
            return notes;
        }
        if processes.len() == 1 && acquisitions == 0 && !program.has(Mark::TakesLocks) {
            let what = "no locks were seen: the program itself calls no function that takes one, and what it may have started was not watched";
            return vec![(index, format!("{what}; {more}"))];
        }
    }
    Vec::new()
}

fn not_seen(sort: &Hidden) -> String {
    format!("not seen here: {}", sort.said())
}

/// What the first hides of the libraries that the program itself asks for. Its loader is run only if
/// there is one that is not the system's: most programs that take no lock have none.
fn of_libraries(program: &Contents) -> Option<&'static Hidden> {
    let is_others = |name: &&OsStr| !is_of_system(Path::new(name));
    let needed: Vec<&OsStr> = program.libraries.iter().map(OsStr::new).filter(is_others).collect();
    if needed.is_empty() {
        return None;
    }
    let loader = target::find(&program.file).ok()?.loader?;
    let modules = Modules::of_file(&program.file, &loader)?;
    let is_needed = |file: &&PathBuf| file.file_name().is_some_and(|name| needed.contains(&name));
    let hides = |file: &PathBuf| {
        let sorts = most_in(&Contents::read(file)?);
        sorts.into_iter().find(|sort| sort.is_certain)
    };
    modules.files.iter().filter(is_needed).find_map(hides)
}

/// What the runtimes of languages hide, and the first process that runs each program of theirs.
/// Their programs start threads of their own, so others are not looked into.
fn hidden_by_runtimes<'r>(processes: &[Seen<'r>]) -> Vec<(usize, String)> {
    let mut looked_into: Vec<&'r str> = Vec::new();
    let mut notes = Vec::new();
    for (index, process) in processes.iter().enumerate() {
        if process.threads < 2 || looked_into.contains(&process.exe) {
            continue;
        }
        looked_into.push(process.exe);
        let exe = Path::new(process.exe);
        let sorts = match contents::runtime(exe).and_then(named) {
            Some(sort) => vec![sort],
            None => of_language(exe),
        };
        notes.extend(sorts.into_iter().map(|sort| (index, not_seen(sort))));
    }
    notes
}

/// What the locks hide that a program has in itself, where others of it are seen.
fn of_language(exe: &Path) -> Vec<&'static Hidden> {
    let sorts = Contents::read(exe).map(|program| most_in(&program)).unwrap_or_default();
    sorts.into_iter().filter(|sort| sort.is_certain).collect()
}

/// Says so in the report of what was found.
pub fn explain(report: &mut Report) {
    let processes: Vec<Seen<'_>> =
        report.processes.iter().map(|p| Seen { exe: &p.exe, threads: p.threads }).collect();
    let acquisitions = report.summary.acquisitions;
    // What was only never destroyed is shown to those alone who ask for it.
    let is_empty = report.findings.iter().all(|finding| finding.grade == Grade::Untidy);
    let mut notes = Vec::new();
    if is_empty {
        notes = why_nothing(acquisitions, &processes);
    }
    if notes.is_empty() {
        notes = hidden_by_runtimes(&processes);
    }
    for (index, note) in notes {
        report.processes[index].notes.push(Note::Told(note));
    }
}

/// Says so in the report of what was measured.
pub fn explain_measurement(report: &mut MeterReport) {
    let processes: Vec<Seen<'_>> =
        report.processes.iter().map(|p| Seen { exe: &p.exe, threads: p.threads }).collect();
    let mut notes = why_nothing(report.total().acquisitions, &processes);
    report.explained = !notes.is_empty();
    if notes.is_empty() {
        notes = hidden_by_runtimes(&processes);
    }
    for (index, note) in notes {
        report.processes[index].notes.push(Note::Told(note));
    }
}
