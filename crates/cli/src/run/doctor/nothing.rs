//! Why a report is empty, or as good as empty: one line, with the remedy.

use std::path::Path;

use super::hidden::sorts_in;
use crate::finding::Report;
use crate::meter::model::MeterReport;
use crate::run::target::contents::{Contents, Mark};

/// A watched process.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'r> {
    /// Its executable.
    pub exe: &'r str,
    /// Threads that used something that is watched.
    pub threads: u64,
}

/// A thread that takes fewer locks than this does so in passing, as runtimes do where threads start and end.
const IN_PASSING: u64 = 10;

/// Why there is nothing to see, or next to nothing, in so many acquisitions, and which of the processes that is told of;
/// `None` if there is something, or nothing is known.
pub fn why_nothing(acquisitions: u64, processes: &[Seen<'_>]) -> Option<(usize, String)> {
    let threads: u64 = processes.iter().map(|process| process.threads).sum();
    if acquisitions >= IN_PASSING * threads.max(1) {
        return None;
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
        if let Some(sort) = sorts_in(&program).first() {
            let what = format!("{seen} locks were seen: {}", sort.what);
            return Some((index, format!("{what}; {}; {more}", sort.help[0])));
        }
        if processes.len() == 1 && acquisitions == 0 && !program.has(Mark::TakesLocks) {
            let what = "no locks were seen: the program itself calls no function that takes one, and what it may have started was not watched";
            return Some((index, format!("{what}; {more}")));
        }
    }
    None
}

/// Says so in the report of what was found.
pub fn explain(report: &mut Report) {
    if !report.findings.is_empty() {
        return;
    }
    let processes: Vec<Seen<'_>> =
        report.processes.iter().map(|p| Seen { exe: &p.exe, threads: p.threads }).collect();
    if let Some((index, why)) = why_nothing(report.summary.acquisitions, &processes) {
        report.processes[index].notes.push(why);
    }
}

/// Says so in the report of what was measured.
pub fn explain_measurement(report: &mut MeterReport) {
    let processes: Vec<Seen<'_>> =
        report.processes.iter().map(|p| Seen { exe: &p.exe, threads: p.threads }).collect();
    if let Some((index, why)) = why_nothing(report.total().acquisitions, &processes) {
        report.processes[index].notes.push(why);
        report.explained = true;
    }
}
