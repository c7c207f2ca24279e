//! Threads that were still waiting: for what, since when, and which thread has it.

use super::format::time;
use super::page::{Page, quoted};
use super::waits;
use crate::prose::futexes::{used_as, which};
use crate::prose::words::{count, join};
use lockwright_analysis::lockmeter::model::{At, Holder, Lock, MeterReport, WaitKind, Waiter};

/// Threads named of those that wait at one place.
const MOST_THREADS: usize = 8;

/// Writes the section, if there are any worth telling of.
pub fn write(page: &mut Page<'_>) {
    let report = page.report;
    let waiters: Vec<&Waiter> =
        report.waiting.iter().filter(|waiter| is_remarkable(report, waiter)).collect();
    if waiters.is_empty() {
        return;
    }
    page.section("STILL WAITING", ", with times since the start of the process");
    for group in groups(&waiters) {
        write_group(page, &group);
    }
}

/// Most programs end with threads that wait for work when `main` returns. A thread that waits for a
/// lock does so because another one holds it.
fn is_remarkable(report: &MeterReport, waiter: &Waiter) -> bool {
    let exited = report.processes.get(waiter.process).is_some_and(|process| process.end.is_exit());
    matches!(waiter.at, At::Lock { .. }) || !exited
}

/// Groups the threads that wait at one place for one thing: the report lists them together.
fn groups<'w>(waiters: &[&'w Waiter]) -> Vec<Vec<&'w Waiter>> {
    let mut groups: Vec<Vec<&Waiter>> = Vec::new();
    for &waiter in waiters {
        let what = |w: &Waiter| (w.process, w.at, w.addr);
        match groups.iter_mut().find(|group| what(group[0]) == what(waiter)) {
            Some(group) => group.push(waiter),
            None => groups.push(vec![waiter]),
        }
    }
    groups
}

fn write_group(page: &mut Page<'_>, group: &[&Waiter]) {
    let first = group[0];
    let mut names: Vec<String> =
        group.iter().take(MOST_THREADS).map(|waiter| waiter.tid.to_string()).collect();
    if group.len() > MOST_THREADS {
        names.push(format!("{} more", group.len() - MOST_THREADS));
    }
    let threads = if group.len() == 1 { "thread" } else { "threads" };
    let of = match page.report.processes.len() {
        0 | 1 => String::new(),
        _ => format!(" of process {}", first.pid),
    };
    let since = first.begun_ns.map_or_else(String::new, |ns| match group.len() {
        1 => format!(" since {}", time(ns)),
        _ => format!(", the first since {}", time(ns)),
    });
    let (what, place) = wanted(page, first);
    page.line(&format!("{threads} {}{of}{since}: {what}", join(&names)));
    page.line(&format!("  in {}", page.style.name(&place)));
    if let Some(tid) = first.names {
        page.line(&format!("  its word has the id of thread {tid}"));
    }
    if !matches!(first.at, At::Lock { .. }) {
        return;
    }
    if first.holders.is_empty() {
        page.line("  held by no live thread that is known");
    }
    for holder in first.holders.iter().take(MOST_THREADS) {
        let line = held(page, first, holder);
        page.line(&format!("  {line}"));
    }
    let more = first.holders.len().saturating_sub(MOST_THREADS);
    if more > 0 {
        page.line(&format!("  and by {}", count(more as u64, "thread")));
    }
}

/// The lock that a thread waits for, and where it waits.
fn wanted(page: &Page<'_>, waiter: &Waiter) -> (String, String) {
    let place = match waiter.at {
        At::Lock { lock, site } => page.report.site(lock, site).map(|site| &site.stack),
        At::Wait(index) => page.report.waits.get(index).map(|wait| &wait.stack),
        At::Unknown => None,
    };
    let place = place.map_or_else(|| page.place(&[]), |stack| page.place(stack));
    (phrase(page.report, waiter, |lock| page.reference(lock)), place)
}

/// What a thread does that waits, in words: "waits for `a`".
pub(crate) fn waits_for(report: &MeterReport, waiter: &Waiter) -> String {
    phrase(report, waiter, quoted)
}

fn phrase(report: &MeterReport, waiter: &Waiter, name: impl Fn(&Lock) -> String) -> String {
    let unknown = || "waits for something unknown".to_owned();
    match waiter.at {
        At::Lock { lock, .. } => report.locks.get(lock).map_or_else(unknown, |of| {
            let which = match of.locks {
                0 | 1 => String::new(),
                many => format!(", the one at {:#x} of {}", waiter.addr, count(many, "lock")),
            };
            format!("waits for {}{which}", name(of))
        }),
        At::Wait(index) => report.waits.get(index).map_or_else(unknown, |wait| {
            let what = match (wait.kind, wait.call) {
                (WaitKind::Condition, _) => "waits for a condition",
                (WaitKind::Semaphore, _) => "waits for a semaphore",
                (WaitKind::Barrier, _) => "waits at a barrier",
                (WaitKind::Join, _) => "waits for the end of a thread",
                (WaitKind::Once, _) => "waits for a routine that is run once",
                (WaitKind::Call, Some(call)) => &format!("is in `{call}`"),
                (WaitKind::Call, None) => "is in a call that may sleep",
                (WaitKind::Futex, _) => &wait.futex.as_ref().map_or_else(String::new, |futex| {
                    format!("waits at a futex, {}", used_as(futex.kind))
                }),
                (WaitKind::Other, _) => "waits",
            };
            let lock = wait.lock.and_then(|lock| report.locks.get(lock));
            let with = match (lock, wait.kind) {
                (Some(lock), WaitKind::Condition) => format!(" with {}", name(lock)),
                _ => String::new(),
            };
            let futex = wait.futex.as_ref();
            let at =
                futex.map_or_else(String::new, |futex| which(futex.name.as_deref(), waiter.addr));
            format!("{}{with}{at}", waits::named(what, wait))
        }),
        At::Unknown => unknown(),
    }
}

/// The lock's holder, where it took the lock, and whether that thread waits too.
fn held(page: &Page<'_>, waiter: &Waiter, holder: &Holder) -> String {
    let since = holder.begun_ns.map_or_else(String::new, |ns| format!(" since {}", time(ns)));
    let site = match (waiter.at, holder.site) {
        (At::Lock { lock, .. }, Some(site)) => page.report.site(lock, site),
        _ => None,
    };
    let place =
        site.map_or_else(String::new, |site| format!(", taken in {}", page.place(&site.stack)));
    let itself = holder.tid == waiter.tid;
    let waits =
        page.report.waiting.iter().any(|w| (w.process, w.tid) == (waiter.process, holder.tid));
    let state = match (itself, waits) {
        (true, _) => ", by itself",
        (false, true) => ", which waits too",
        (false, false) => "",
    };
    format!("held by thread {}{since}{state}{place}", holder.tid)
}
