//! The kernel's locks of a moment, a line each: what `top` is for processes.

use super::{HEADINGS, TracedView, row};
use crate::prose::kernel_locks::{kinds, name, stack};
use crate::prose::words::{count, duration, plain};
use lockwright_analysis::traced::KernelReport;

/// Functions shown of one lock.
const FUNCTIONS: usize = 2;

/// Programs shown of one lock.
const PROGRAMS: usize = 3;

/// Renders what was waited for in the last interval; ends with a newline.
pub fn render(report: &KernelReport, view: TracedView) -> String {
    let (on, off) = if view.colour { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let mut out = format!(
        "{on}the kernel's own locks{off} in the last {}: {}, {} waited, {}\n{HEADINGS}\n",
        duration(report.elapsed_ns as f64),
        count(report.waits, "wait"),
        duration(report.waited_ns as f64),
        count(report.cpus, "processor"),
    );
    let shown = view.shown(report.locks.len());
    for lock in &report.locks[..shown] {
        let site = lock.sites.first().map_or(&[][..], |site| &site.stack[..]);
        let place = match stack(&site[..site.len().min(FUNCTIONS)]) {
            place if place.is_empty() => String::new(),
            place => format!(": {place}"),
        };
        out += &format!(
            "{}  {} ({}){place}; by {}\n",
            row(&lock.waits, report.waited_ns),
            name(lock),
            kinds(lock),
            programs(lock.waiters.iter().map(|waiter| waiter.name.as_str())),
        );
    }
    if shown < report.locks.len() {
        out += &format!("  ... and {} more (--top 0)\n", report.locks.len() - shown);
    }
    out
}

/// The first names, each once.
fn programs<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for name in names.map(plain) {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    let more = seen.len().saturating_sub(PROGRAMS);
    seen.truncate(PROGRAMS);
    let shown = seen.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
