//! The output of the sweep, for people and for machines.

use serde_json::{Value, json};

use super::super::Options;
use super::super::report::Section;
use super::compare::{AIM, Against, Compared, Row};
use super::frontier::frontier;
use super::kind::Kind;
use super::measure::Measured;
use super::outcome::Outcome;
use super::overall::{Overall, Summary, overall};

/// So many cells are shown lock by lock; of more only the JSON says all.
const SHOWN: usize = 40;

/// Tables of a kind: ratios to the best, what each lock is over all cells, and then every figure.
pub fn sections(measured: &Measured, options: &Options) -> Vec<Section> {
    let locks = overall(&measured.compared, measured.kind.control[0], measured.cpus);
    let mut sections = vec![ratios(measured, &locks, Against::Best)];
    sections[0].notes.extend(notes(measured, options));
    sections[0].json = json(measured, &locks, options);
    if measured.compared.iter().any(|one| one.best_that_sleeps.is_some_and(|of| of != one.best)) {
        sections.push(ratios(measured, &locks, Against::BestThatSleeps));
    }
    sections.push(over_all(measured, &locks));
    if measured.compared.len() <= SHOWN {
        sections.push(figures(measured));
    } else {
        sections[0].notes.push("Every figure of each cell is in the JSON alone: --json.".into());
    }
    sections
}

/// What locks are compared with, in words.
fn words(against: Against) -> &'static str {
    match against {
        Against::Best => "the best of the others",
        Against::BestThatSleeps => "the best of the others whose waiters sleep",
    }
}

/// A row for each cell: which lock is the best of the others, and what ours do of that.
fn ratios(measured: &Measured, locks: &[Overall], against: Against) -> Section {
    let ours: Vec<_> = locks.iter().filter(|lock| lock.ours).collect();
    let mut columns = vec!["cell", "best", "M/s"];
    columns.extend(ours.iter().map(|lock| lock.lock));
    columns.push("control");
    let row = |compared: &Compared| {
        let base = compared.base(against);
        let mut cells = vec![
            compared.cell.to_string(),
            base.map_or_else(String::new, |row| row.lock.to_owned()),
            base.map_or_else(String::new, |row| millions(row.median(Outcome::rate))),
        ];
        let ratio = |lock: &&Overall| hundredths(compared.row(lock.lock)?.to(against));
        cells.extend(ours.iter().map(|lock| ratio(lock).unwrap_or_default()));
        cells.push(hundredths(compared.control.map(|ratio| ratio.median)).unwrap_or_default());
        cells
    };
    Section {
        title: format!(
            "{}: critical sections a second, against {}",
            title(measured.kind),
            words(against)
        ),
        columns,
        rows: measured.compared.iter().map(row).collect(),
        notes: ours.iter().filter_map(|lock| tell(lock, against)).collect(),
        json: Value::Null,
    }
}

/// How one of ours stands.
fn tell(lock: &Overall, against: Against) -> Option<String> {
    let Summary { reached, cells, worst, worst_cell, .. } = lock.against(against)?;
    Some(format!(
        "{} does {AIM} of {} in {reached} of {cells} cells; worst: {worst:.2} ({worst_cell}).",
        lock.lock,
        words(against)
    ))
}

fn hundredths(value: Option<f64>) -> Option<String> {
    Some(format!("{:.2}", value?))
}

fn title(kind: &Kind) -> &'static str {
    if kind.has_readers { "Reader-writer locks" } else { "Mutexes" }
}

/// A row for each lock: what it is over all cells.
fn over_all(measured: &Measured, locks: &[Overall]) -> Section {
    let frontier = frontier(locks, measured.compared.len()).tell(time);
    let row = |of: &Overall| {
        let mut cells = vec![of.lock.to_owned()];
        for against in [Against::Best, Against::BestThatSleeps] {
            let summary = of.against(against);
            let reached = |of: &Summary| format!("{} of {}", of.reached, of.cells);
            cells.push(summary.map_or_else(String::new, reached));
            cells.push(hundredths(summary.map(|of| of.mean)).unwrap_or_default());
            cells.push(hundredths(summary.map(|of| of.worst)).unwrap_or_default());
        }
        cells.push(hundredths(of.min_over_max).unwrap_or_default());
        cells.push(of.wait_p99_9.map_or_else(String::new, time));
        cells.push(hundredths(of.cpu).unwrap_or_default());
        cells.push(hundredths(of.kept).unwrap_or_default());
        cells
    };
    Section {
        title: format!("{}: each lock over all cells", title(measured.kind)),
        columns: vec![
            "lock",
            "of best: reached",
            "mean",
            "worst",
            "of best that sleeps: reached",
            "mean",
            "worst",
            "min/max",
            "wait p99.9",
            "CPU",
            "over-committed",
        ],
        rows: locks.iter().map(row).collect(),
        notes: std::iter::once(format!(
            "Reached: cells with {AIM} of the best of the others, and of the best of those whose waiters sleep; the \
             ratios' geometric mean and the least. Min/max: sections of the thread with the fewest over those of the \
             one with the most, the median of cells with several threads; of these, too, the geometric mean of the \
             p99.9 of waits. CPU: time for a section against {}, geometric mean. Over-committed: throughput with the \
             most threads to its own with as many as there are CPUs, the least.",
            measured.kind.control[0]
        ))
        .chain(frontier)
        .collect(),
        json: Value::Null,
    }
}

/// All figures of all locks in all cells.
fn figures(measured: &Measured) -> Section {
    let mut rows = Vec::new();
    for compared in &measured.compared {
        let mut heading = vec![compared.cell.to_string()];
        heading.resize(COLUMNS.len(), String::new());
        rows.push(heading);
        rows.extend(compared.rows.iter().map(figures_of));
    }
    Section {
        title: format!("{}: each lock in each cell", title(measured.kind)),
        columns: COLUMNS.to_vec(),
        rows,
        notes: vec![
            "Medians of the rounds; the interval is that of the ratio. Min, average and max: sections of a thread \
             in thousands a second. Waits: from the call that takes the lock to its return, of those that were \
             timed; the longest of all rounds. Switches and futex: context switches, and calls of the kernel's futex, for a \
             thousand sections; the latter in a run of their own."
                .to_owned(),
        ],
        json: Value::Null,
    }
}

const COLUMNS: [&str; 17] = [
    "lock", "M/s", "of best", "interval", "min", "average", "max", "min/max", "Jain", "wait p50",
    "p99", "p99.9", "longest", "CPU ns", "switches", "futex", "timed",
];

fn figures_of(row: &Row) -> Vec<String> {
    let thousands = |index: usize| {
        let a_second = |one: &Outcome| one.spread()[index] / one.times.seconds();
        format!("{:.1}", row.median(a_second) / 1e3)
    };
    let wait = |figure: fn(&Outcome) -> u64| time(row.median(|one| figure(one) as f64));
    let longest = row.rounds.iter().map(|one| one.waits.max).max().unwrap_or(0);
    vec![
        format!("  {}", row.lock),
        millions(row.median(Outcome::rate)),
        format!("{:.2}", row.ratio.median),
        format!("{:.2} to {:.2}", row.ratio.low, row.ratio.high),
        thousands(0),
        thousands(1),
        thousands(2),
        format!("{:.2}", row.median(Outcome::min_over_max)),
        format!("{:.2}", row.median(Outcome::jain)),
        wait(|one| one.waits.p50),
        wait(|one| one.waits.p99),
        wait(|one| one.waits.p99_9),
        time(longest as f64),
        nanoseconds(row.median(Outcome::cpu_ns)),
        format!("{:.3}", 1e3 * row.median(Outcome::switches)),
        row.counted
            .as_ref()
            .and_then(Outcome::futex_calls)
            .map_or_else(String::new, |calls| format!("{:.3}", 1e3 * calls)),
        row.rounds.iter().map(|one| one.waits.timed).sum::<u64>().to_string(),
    ]
}

/// How it was measured, and what came of it.
fn notes(measured: &Measured, options: &Options) -> Vec<String> {
    let mut notes: Vec<_> = control(&measured.compared).into_iter().collect();
    let seed = options.peers.seed;
    notes.push(format!(
        "{} rounds of {:?} each, in random order (seed {seed}); medians of the rounds' ratios, in each to the lock that \
         is the best of the others by all other rounds, as luck would choose it otherwise. All locks, those of Rust \
         too, are called through pointers to C functions: the loop and both calls take {:.1} ns by themselves. \
         Sections and gaps are steps of {:.2} ns on an idle CPU. Every run checked that the lock excludes, and that its \
         times can be.",
        options.rounds,
        measured.interval,
        measured.pass_ns,
        1.0 / measured.calibration.steps_per_ns,
    ));
    if measured.compared.iter().any(|compared| compared.cell.hog) {
        notes.push(
            "With a hog on each CPU, a lock's threads and the hogs share the CPUs: the more of the threads are awake, \
             the more CPU time they get, and the less the hogs. What the lock itself costs is the CPU time for a \
             section."
                .to_owned(),
        );
    }
    if options.peers.cells.is_some_and(|cells| cells < measured.all_cells) {
        let (some, all) = (measured.compared.len(), measured.all_cells);
        notes.push(format!(
            "{some} of the {all} cells of the sweep, chosen at random (seed {seed})."
        ));
    }
    notes.extend(
        measured
            .not_counted
            .iter()
            .map(|why| format!("Calls of the kernel's futex are not counted: {why}.")),
    );
    if !measured.left_out.is_empty() {
        notes.push(format!(
            "Not run where threads outnumber the CPUs, as their waiters spin in a queue: {}.",
            measured.left_out.join(", ")
        ));
    }
    notes
}

/// What a lock differs from itself by.
fn control(compared: &[Compared]) -> Option<String> {
    let ratios = compared.iter().filter_map(|one| one.control).map(|control| control.median);
    let (low, high) = ratios
        .fold((f64::INFINITY, 0.0f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    (low <= high).then(|| {
        format!("Control: one lock under two names, {low:.2} to {high:.2}. What differs by less is noise.")
    })
}

fn json(measured: &Measured, locks: &[Overall], options: &Options) -> Value {
    json!({
        "kind": measured.kind.name,
        "seed": options.peers.seed,
        "interval_ns": measured.interval.as_nanos() as u64,
        "calibration": measured.calibration,
        "pass_ns": measured.pass_ns,
        "aim": AIM,
        "locks": locks,
        "frontier": frontier(locks, measured.compared.len()),
        "left_out_where_threads_outnumber_cpus": measured.left_out,
        "futex_not_counted": measured.not_counted,
        "cells": measured.compared,
    })
}

/// To a tenth where that is a part of an uncontended lock.
fn nanoseconds(ns: f64) -> String {
    if ns < 100.0 { format!("{ns:.1}") } else { format!("{ns:.0}") }
}

/// A rate, in millions a second.
fn millions(rate: f64) -> String {
    let millions = rate / 1e6;
    if millions < 1.0 { format!("{millions:.4}") } else { format!("{millions:.2}") }
}

/// A time in nanoseconds, as text.
fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}
