//! All locks that a program's threads waited for, in one table, and then the kernel's one by one.

use super::{HEADINGS, TracedView, kernel, row};
use crate::attached::words::trimmed;
use crate::prose::words::duration;
use crate::prose::{kernel_locks, lost_waits, waited};
use crate::text::stack::{Stacks, shorten};
use lockwright_analysis::traced::{EveryWait, KernelReport, Waited};

/// Callers within the kernel that are shown of one lock.
const CALLERS: usize = 2;

/// Renders the table and the kernel's locks, after a report on what was measured in the program;
/// ends with a newline.
pub fn render(waits: &[EveryWait<'_>], kernel: &KernelReport, view: TracedView) -> String {
    let (on, off) = if view.colour { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let mut out =
        format!("\n{on}EVERY WAIT FOR A LOCK{off} by total wait, the program's and the kernel's\n");
    if waits.is_empty() {
        return out + "  none\n";
    }
    out += &format!("{HEADINGS}\n");
    let all_ns = waits.iter().map(|wait| wait.waits.total_ns).sum();
    let stacks = Stacks::new();
    let shown = view.shown(waits.len());
    for wait in &waits[..shown] {
        out += &format!("{}  {}\n", row(&wait.waits, all_ns), line(wait, &stacks));
    }
    if shown < waits.len() {
        out += &format!("  ... and {} more (--top 0)\n", waits.len() - shown);
    }
    if kernel.locks.is_empty() {
        return out + "  the program's threads waited for no lock of the kernel\n";
    }
    out += "  a wait for one of the kernel's may lie within one for a lock of the program's\n";
    out += &format!(
        "\n{on}KERNEL LOCKS{off}, by the kernel's events of contention: {} of {} measured\n",
        duration(kernel.waited_ns as f64),
        duration(kernel.elapsed_ns as f64)
    );
    out += &lost_waits::section(&kernel.lost);
    out + &kernel::locks(kernel, view)
}

/// A lock with its first place.
fn line(wait: &EveryWait<'_>, stacks: &Stacks) -> String {
    let what = shorten(&waited::what(&wait.lock));
    let place = match wait.lock {
        Waited::Lock(lock) => lock.sites.first().and_then(|site| stacks.own(&site.stack)),
        Waited::Futex(wait) => stacks.own(&wait.stack),
        Waited::Inner(lock) => lock.sites.first().and_then(|(stack, _)| stacks.own(trimmed(stack))),
        Waited::Kernel(lock) => lock.sites.first().map(|site| {
            let all = &site.stack[..site.stack.len().min(CALLERS + 1)];
            kernel_locks::stack(all)
        }),
    };
    match place.filter(|place| !place.is_empty()) {
        Some(place) => format!("{what}: {place}"),
        None => what,
    }
}
