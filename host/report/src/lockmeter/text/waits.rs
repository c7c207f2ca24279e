//! Waits that are for no lock.

use super::format::{count, maybe_time, percent};
use super::page::Page;
use super::wakers;
use crate::prose::futexes::head;
use crate::prose::words::plain;
use lockwright_analysis::lockmeter::model::{Wait, WaitKind};

/// The columns.
pub const TITLES: [&str; 8] =
    ["waits", "blocked%", "timed out", "total", "mean", "p50", "p99", "max"];

/// A line of the table.
pub fn row(cells: &[String; 8]) -> String {
    let widths = [13, 10, 11, 9, 9, 9, 9, 9];
    cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect()
}

/// The numbers of one place.
pub fn cells(wait: &Wait) -> [String; 8] {
    let times = &wait.wait;
    let longest = (times.count > 0).then_some(times.max_ns);
    [
        count(wait.waits),
        slept(wait),
        count(wait.timeouts),
        maybe_time((times.count > 0).then_some(times.total_ns)),
        maybe_time(times.mean_ns()),
        maybe_time(times.percentile_ns(50.0)),
        maybe_time(times.percentile_ns(99.0)),
        maybe_time(longest),
    ]
}

/// `what` is waited for, with what the source calls it: `the condition ready`, and not `a condition`.
pub fn named(what: &str, wait: &Wait) -> String {
    match &wait.name {
        Some(name) => format!("{} `{}`", what.replacen(" a ", " the ", 1), plain(name)),
        None => what.to_owned(),
    }
}

/// How many of the waits blocked: `none` where all were over at once.
pub fn slept(wait: &Wait) -> String {
    match wait.slept() {
        0 if wait.wait.count > 0 => "none".to_owned(),
        slept => percent(slept as f64 / wait.waits.max(1) as f64),
    }
}

/// Writes the section, if there are any.
pub fn write(page: &mut Page<'_>) {
    // A call made with a lock held shows where that lock's time goes; it is no wait for another
    // thread.
    let waits: Vec<&Wait> = page
        .report
        .waits
        .iter()
        .filter(|wait| !wait.is_for_lock() && (wait.waits > 0 || wait.wait.count > 0))
        .collect();
    if waits.is_empty() {
        return;
    }
    page.section("WAITS", " for conditions, semaphores, barriers, threads and sleeping calls");
    page.line(&row(&TITLES.map(str::to_owned)));
    let shown = if page.view.top == 0 { waits.len() } else { page.view.top };
    for wait in waits.iter().take(shown) {
        let what = match (wait.kind, wait.call) {
            (WaitKind::Condition, _) => "condition",
            (WaitKind::Semaphore, _) => "semaphore",
            (WaitKind::Barrier, _) => "barrier",
            (WaitKind::Join, _) => "end of a thread",
            (WaitKind::Once, _) => "routine that is run once",
            (WaitKind::Call, Some(call)) => &format!("sleeping call `{call}`"),
            (WaitKind::Call, None) => "sleeping call",
            (WaitKind::Futex, _) => &wait.futex.as_ref().map_or_else(String::new, head),
            (WaitKind::Other, _) => "wait",
        };
        let lock = wait.lock.and_then(|lock| page.report.locks.get(lock));
        let lock = match (lock, wait.kind) {
            (None, _) => String::new(),
            (Some(lock), WaitKind::Condition) => format!(" with {}", page.reference(lock)),
            (Some(lock), _) => format!(" holding {}", page.reference(lock)),
        };
        let head = format!("{}{lock}: {}", named(what, wait), page.place(&wait.stack));
        page.line(&head);
        page.line(&row(&cells(wait)));
        wakers::write(page, wait);
    }
    if waits.len() > shown {
        page.line(&format!("... and {} more: --top 0 shows all", waits.len() - shown));
    }
}
