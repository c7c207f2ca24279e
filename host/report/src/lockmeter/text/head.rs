//! The head of the report: what was measured, how, what was lost, what it cost. And its foot:
//! notes.

use std::mem::discriminant;

use super::format::{percent, time};
use super::page::Page;
use crate::prose::coverage;
use crate::prose::futexes::used_as;
use crate::prose::words::{count, join, number, plain};
use crate::text::processes::{Row, table};
use crate::text::stack::shorten;
use lockwright_analysis::finding::lock_kind::LockKind;
use lockwright_analysis::lockmeter::model::{At, Clock, Holds, MeterReport, Process};

/// Processes named in the head.
const MOST_PROGRAMS: usize = 4;

/// Writes the head.
pub fn write(page: &mut Page<'_>) {
    let report = page.report;
    let title = page.style.heading("lockwright meter: ");
    page.line(&format!("{title}{}", programs(report)));
    page.line(&format!("  {}", size(report)));
    page.line(&format!("  {}", counted(report)));
    if let Some(seen) = seen(report) {
        page.line(&format!("  {seen}"));
    }
    page.line(&format!("  {}", timed(report)));
    let lost = match report.lost {
        0 => "0 records lost".to_owned(),
        lost => {
            let lost = format!("{} lost: numbers are too small", count(lost, "record"));
            page.style.warning(&lost)
        }
    };
    page.line(&format!("  {lost}"));
    if report.total().acquisitions > 0 {
        page.line(&format!("  {}", cost(report)));
    }
}

/// Writes a table of the processes, if there are several.
pub fn write_processes(page: &mut Page<'_>) {
    let report = page.report;
    let rows: Vec<Row<'_>> = report.processes.iter().map(Row::from).collect();
    let table = table(&rows, &report.unwatched);
    if !table.is_empty() {
        page.line("");
        table.lines().for_each(|line| page.line(line));
    }
}

/// Writes the notes.
pub fn write_notes(page: &mut Page<'_>) {
    let many = page.report.processes.len() > 1;
    let mut lines = Vec::new();
    for process in &page.report.processes {
        let end = coverage::end(process.end).filter(|_| !many);
        for note in end.into_iter().chain(process.notes.iter().map(coverage::note)) {
            lines.push(Row::from(process).note(&note, many));
        }
    }
    lines.extend(page.report.modules.iter().map(|note| plain(&coverage::module(note))));
    if !lines.is_empty() {
        page.line("");
    }
    let note = page.style.name("note");
    lines.iter().for_each(|line| page.line(&format!("{note}: {line}")));
}

fn programs(report: &MeterReport) -> String {
    let mut names: Vec<String> = Vec::new();
    for process in &report.processes {
        let command = match process.command.as_slice() {
            [] => plain(&process.exe),
            words => shorten(&plain(&words.join(" "))),
        };
        if !names.contains(&command) {
            names.push(command);
        }
    }
    let more = names.len().saturating_sub(MOST_PROGRAMS);
    names.truncate(MOST_PROGRAMS);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    match report.processes.as_slice() {
        [one] => format!("{} (process {})", names.join(""), one.pid),
        many => format!("{} ({})", join(&names), count(many.len() as u64, "process")),
    }
}

/// How much was watched. A check counts all threads that it saw begin; here, threads that did neither leave
/// no trace.
fn size(report: &MeterReport) -> String {
    let threads: u64 = report.processes.iter().map(|process| process.threads).sum();
    let locks: u64 = report.locks.iter().map(|lock| lock.locks).sum();
    format!(
        "{} elapsed, {} that locked or waited, {} of {}",
        time(report.elapsed_ns as f64),
        count(threads, "thread"),
        count(locks, "lock"),
        count(report.locks.len() as u64, "class"),
    )
}

fn counted(report: &MeterReport) -> String {
    let total = report.total();
    let acquired = count(total.acquisitions, "acquisition");
    // A wait that was given up is among those contended.
    let acquired = match total.timeouts {
        0 => acquired,
        given_up => format!("{acquired} and {} given up", number(given_up)),
    };
    // A thread whose wait is not over is not counted as contended yet.
    let still = report.waiting.iter().filter(|w| matches!(w.at, At::Lock { .. })).count() as u64;
    let waiting = match still {
        0 => String::new(),
        still => format!("; {} still waiting for locks", count(still, "thread")),
    };
    if total.contended == 0 {
        return format!("{acquired}, none of them contended{waiting}");
    }
    let part = percent(total.contended_part());
    let waited = time(total.wait.total_ns);
    let contended = number(total.contended);
    format!("{acquired}, {contended} of them contended ({part} %), {waited} waited{waiting}")
}

/// Which locks were seen, and how far; `None` where all that is known was seen whole.
fn seen(report: &MeterReport) -> Option<String> {
    let futexes = report.waits.iter().filter_map(|wait| Some((wait, wait.futex.as_ref()?)));
    let mut by_waits: Vec<(String, u64)> = Vec::new();
    for (wait, futex) in futexes {
        let what = futex.kind.of.map_or_else(|| used_as(futex.kind), str::to_owned);
        match by_waits.iter_mut().find(|(known, _)| *known == what) {
            Some((_, waits)) => *waits = waits.saturating_add(wait.waits),
            None => by_waits.push((what, wait.waits)),
        }
    }
    if by_waits.is_empty() {
        return None;
    }
    let mut kinds: Vec<(LockKind, u64)> = Vec::new();
    for lock in &report.locks {
        let kind = LockKind::of(lock.kind);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, locks)) => *locks += lock.locks,
            None => kinds.push((kind, lock.locks)),
        }
    }
    let whole: Vec<String> = kinds.iter().map(|(kind, locks)| count(*locks, kind.name())).collect();
    let waits: Vec<String> =
        by_waits.iter().map(|(what, n)| format!("{what} ({})", count(*n, "wait"))).collect();
    let whole = if whole.is_empty() { "no lock".to_owned() } else { join(&whole) };
    Some(format!("seen whole: {whole}; by their waits alone: {}", join(&waits)))
}

fn timed(report: &MeterReport) -> String {
    let holds = match report.holds() {
        Some(Holds::Exact) => "every hold and every wait timed".to_owned(),
        Some(Holds::Sampled(n)) => {
            format!("every wait timed, of holds one in {n} (so utilisation is an estimate)")
        }
        Some(Holds::Off) => "every wait timed, no holds (--hold=off)".to_owned(),
        None if report.processes.is_empty() => "nothing was measured".to_owned(),
        None => "every wait timed, holds not in all processes alike".to_owned(),
    };
    match clock(&report.processes) {
        None => holds,
        Some(clock) => format!("{holds}, by {clock}"),
    }
}

/// The processor's counter. That of x86-64, the time-stamp counter, is never as slow as that of 64-bit Arm often is.
fn counter(mhz: f64) -> String {
    if mhz >= COARSE_MHZ {
        return format!("the time-stamp counter ({mhz:.0} MHz)");
    }
    let tick = time(1000.0 / mhz);
    format!("the processor's counter ({mhz:.0} MHz: times are multiples of {tick})")
}

/// Below this rate a tick is longer than what many holds last.
const COARSE_MHZ: f64 = 200.0;

/// The clock of all processes' times. A rate is that of the process which had the
/// most time to find it.
fn clock(processes: &[Process]) -> Option<String> {
    let longest = processes.iter().max_by_key(|process| process.elapsed_ns)?.clock;
    let alike = |process: &Process| discriminant(&process.clock) == discriminant(&longest);
    Some(match longest {
        _ if !processes.iter().all(alike) => "several clocks".to_owned(),
        Clock::Tsc { mhz } => counter(mhz),
        Clock::Monotonic => "CLOCK_MONOTONIC".to_owned(),
        Clock::Unknown => "no clock".to_owned(),
    })
}

fn cost(report: &MeterReport) -> String {
    let Some(cost) = report.cost else {
        return "what lockwright itself cost is not known: it is measured at the end of a run"
            .into();
    };
    let mut text = format!("lockwright itself cost {} of CPU time", time(cost.cpu_ns));
    if let Some(program) = cost.program_cpu_ns.filter(|&ns| ns > 0.0) {
        let part = percent(cost.cpu_ns / program);
        text += &format!(" ({part} % of the program's {})", time(program));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::counter;

    #[test]
    fn a_coarse_counter_says_so() {
        assert_eq!(counter(2596.2), "the time-stamp counter (2596 MHz)");
        assert_eq!(counter(62.5), "the processor's counter (62 MHz: times are multiples of 16ns)");
    }
}
