//! Waits for the kernel's own locks, for people.

use super::{HEADINGS, TracedView, row};
use crate::lockmeter::text::format::percent;
use crate::prose::kernel_locks::{kind, kinds, name, stack};
use crate::prose::lost_waits;
use crate::prose::words::{count, duration, plain};
use lockwright_analysis::traced::KernelReport;
use lockwright_analysis::traced::kernel::{KernelLock, Owner, Waiter};

/// Sites and waiters shown of one lock where not all are.
const MOST: usize = 4;

/// Callers shown of one site.
const CALLERS: usize = 5;

/// Renders the report; ends with a newline.
pub fn render(report: &KernelReport, view: TracedView) -> String {
    let addresses: usize = report.locks.iter().map(|lock| lock.addresses.len()).sum();
    let mut out = format!(
        "lockwright meter: the kernel's own locks\n  {} elapsed, {}\n  {} for {} of {}, by {}; {} waited\n",
        duration(report.elapsed_ns as f64),
        count(report.cpus, "processor"),
        count(report.waits, "wait"),
        count(addresses as u64, "lock"),
        classes(report.locks.len()),
        count(report.waiters.len() as u64, "thread"),
        duration(report.waited_ns as f64),
    );
    out += "  only waits: the kernel shows no acquisition without a wait, and no hold\n";
    out += &lost_waits::section(&report.lost);
    if !report.has_symbols {
        out += "  no names: /proc/kallsyms shows no addresses (sysctl kernel.kptr_restrict=1, as root)\n";
    }
    out.push('\n');
    if report.locks.is_empty() {
        out += "no thread waited for a lock of the kernel\n";
        return out;
    }
    let (on, off) = if view.colour { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    out += &format!("{on}LOCKS by total wait{off}\n");
    out += &locks(report, view);
    out += &format!("\n{on}WAITERS by total wait{off}\n{HEADINGS}\n");
    let shown = view.shown(report.waiters.len());
    for waiter in &report.waiters[..shown] {
        out += &format!("{}  {}\n", row(&waiter.waits, report.waited_ns), who(waiter));
    }
    if shown < report.waiters.len() {
        out += &format!("  ... and {} more (--top 0)\n", report.waiters.len() - shown);
    }
    out
}

fn classes(n: usize) -> String {
    if n == 1 { "1 class".to_owned() } else { format!("{n} classes") }
}

/// The table of locks; ends with a newline.
pub fn locks(report: &KernelReport, view: TracedView) -> String {
    let mut out = format!("{HEADINGS}\n");
    let shown = view.shown(report.locks.len());
    for (at, lock) in report.locks[..shown].iter().enumerate() {
        lock_lines(at + 1, lock, report.waited_ns, view, &mut out);
    }
    if shown < report.locks.len() {
        out += &format!("  ... and {} more (--top 0)\n", report.locks.len() - shown);
    }
    out
}

/// `worker (thread 42 of process 41)`.
fn who(waiter: &Waiter) -> String {
    let name = plain(&waiter.name);
    match (waiter.tid, waiter.tid == waiter.pid) {
        (0, _) => format!("{name} (in an interrupt of the idle thread)"),
        (tid, true) => format!("{name} (process {tid})"),
        (tid, false) => format!("{name} (thread {tid} of process {})", waiter.pid),
    }
}

fn lock_lines(number: usize, lock: &KernelLock, all_ns: u64, view: TracedView, out: &mut String) {
    let where_ = match &lock.addresses[..] {
        [(address, _)] => format!("at {address:#x}"),
        all => format!("{} locks, most waits at {:#x}", all.len(), all[0].0),
    };
    *out += &format!("#{number} {} ({}), {where_}\n", name(lock), kinds(lock));
    *out += &format!("{}\n", row(&lock.waits, all_ns));
    let most = |of: usize| if view.top == 0 { of } else { of.min(MOST) };
    let shown = most(lock.sites.len());
    for site in &lock.sites[..shown] {
        let place = site.stack.first().map_or("a place that is not known", String::as_str);
        *out +=
            &format!("{}    {} ({})\n", row(&site.waits, all_ns), plain(place), kind(site.kind));
        let callers = &site.stack[site.stack.len().min(1)..site.stack.len().min(CALLERS + 1)];
        if !callers.is_empty() {
            *out += &format!("{:8}< {}\n", "", stack(callers));
        }
    }
    if shown < lock.sites.len() {
        *out += &format!("{:8}... and {} more\n", "", lock.sites.len() - shown);
    }
    let waiters: Vec<String> = lock.waiters.iter().take(MOST).map(who).collect();
    let more = match lock.waiters.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    *out += &format!("     by {}{more}\n", waiters.join(", "));
    if !lock.owners.is_empty() {
        let owners: Vec<String> =
            lock.owners.iter().take(MOST).map(|owner| owned(owner, lock.waits.total_ns)).collect();
        let more = match lock.owners.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        *out += &format!("     held by {}{more}\n", owners.join(", "));
    }
}

/// `worker (thread 42 of process 41), 60.0%`: the part of the time waited that began while it had the lock.
fn owned(owner: &Owner, all_ns: u64) -> String {
    let Owner { tid, pid, name, waits, is_reader } = owner;
    let waiter = Waiter { tid: *tid, pid: *pid, name: name.clone(), waits: *waits };
    let share = if all_ns == 0 { 0.0 } else { waits.total_ns as f64 / all_ns as f64 };
    let reader = if *is_reader { ", reading" } else { "" };
    // In another PID namespace than the initial one the thread has no number here.
    let who = if *tid == 0 { plain(name) } else { who(&waiter) };
    format!("{who}{reader}, {}%", percent(share))
}
