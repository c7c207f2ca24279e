//! A moment as text, for a pipe.

use std::fmt::Write;

use lockwright_report::live::{Lock, Moment, tree};

use crate::board::LockOrder;
use crate::cells::{NONE, count, percent, short, time};
use crate::views::waits;

/// A moment in lines: what `top` shows, without a terminal. `most` locks are shown; 0: all.
pub fn text(title: &str, moment: &Moment, most: usize) -> String {
    let mut out = String::new();
    let shown = if most == 0 { moment.locks.len() } else { most };
    let rates = moment.interval_ns > 0;
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{title}: {} threads, {}",
        moment.threads.len(),
        match rates {
            true => format!("in the last {}", time(moment.interval_ns as f64)),
            false => "so far".to_owned(),
        }
    );
    if !moment.locks.is_empty() {
        let (acquired, held, waiting) =
            if rates { ("acq/s", "held%", "waiting") } else { ("acquired", "held", "waited") };
        let counted = [(acquired, 9), ("cont%", 6), (held, 7)];
        let counted = counted.map(|(title, width)| format!("{title:>width$} "));
        let waits = if rates { "waits/s" } else { "waits" };
        let counted = match (moment.is_measured, moment.counts_waits) {
            (true, _) => counted.concat(),
            (false, true) => format!("{waits:>9} "),
            (false, false) => String::new(),
        };
        let _ = writeln!(out, "{counted}{waiting:>8} {:>4}  LOCK", "now");
    }
    let mut locks: Vec<&Lock> = moment.locks.iter().collect();
    locks.sort_by(|a, b| LockOrder::Waiting.compare(a, b, rates));
    for lock in locks.into_iter().take(shown) {
        let _ = writeln!(out, "{}", line(moment, lock));
    }
    if moment.locks.len() > shown {
        let _ = writeln!(out, "  ... and {} more (--top 0)", moment.locks.len() - shown);
    }
    for branch in tree(moment) {
        let indent = "  ".repeat(branch.depth + 1);
        let thread = branch.thread;
        let dead = if thread.is_deadlocked { "DEADLOCKED: " } else { "" };
        if branch.closes.is_some() {
            let _ = writeln!(out, "{indent}{} again: they wait for each other", thread.title());
            continue;
        }
        let does = format!("{}{}", waits::does(thread, branch.depth), waits::holds(thread));
        let _ = writeln!(out, "{indent}{dead}{} {does}", thread.title());
    }
    for finding in &moment.findings {
        let word = if finding.is_error { "error" } else { "warning" };
        let _ = writeln!(out, "{word}[{}]: {}: {}", finding.kind, finding.grade, finding.title);
    }
    // They stay as they are, mostly.
    for note in moment.notes.iter().filter(|_| !rates) {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

/// A lock in a line.
fn line(moment: &Moment, lock: &Lock) -> String {
    let rates = lock.rates.filter(|_| moment.interval_ns > 0);
    let (acquired, contended) = match rates {
        Some(rates) => (rates.acquisitions, rates.contended),
        None => (lock.totals.acquisitions as f64, lock.totals.contended as f64),
    };
    let part = if acquired > 0.0 { percent(contended / acquired) } else { NONE.to_owned() };
    let (held, waiting) = match rates {
        Some(rates) => (percent(rates.held), short(rates.waiting)),
        None => (time(lock.totals.hold_ns), time(lock.totals.wait_ns)),
    };
    let counted = match (moment.is_measured, moment.counts_waits) {
        (true, _) => format!("{:>9} {part:>6} {held:>7} ", short(acquired)),
        (false, true) => format!("{:>9} ", short(contended)),
        (false, false) => String::new(),
    };
    let place = lock.sites.first().map_or("", |site| site.place.text.as_str());
    let place = if place.is_empty() { String::new() } else { format!(": {place}") };
    let waiters = count(moment.waiters(&lock.id).count());
    format!("{counted}{waiting:>8} {waiters:>4}  {} ({}){place}", lock.name, lock.kind)
}
