//! Waits for futexes, for people.

use super::{HEADINGS, TracedView, row};
use crate::attached::words::{kind_of, trimmed, waited_for};
use crate::prose::lost_waits;
use crate::prose::words::{count, duration, number, plain};
use crate::text::stack::Stacks;
use lockwright_analysis::attached::WaitKind;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::traced::FutexReport;
use lockwright_analysis::traced::futexes::{ATOMICS_WAIT, FutexLock, StillWaiting};

/// Sites and wakers shown of one lock where not all are.
const MOST: usize = 4;

/// Callers shown of one site.
const CALLERS: usize = 3;

/// Renders the report; ends with a newline.
pub fn render(report: &FutexReport, view: TracedView) -> String {
    let page = Page { report, view, stacks: Stacks::new() };
    let of_locks = sum(&report.locks);
    let of_others = sum(&report.others);
    let what = match &report.processes[..] {
        [(pid, command)] => format!("process {pid} ({})", plain(command)),
        all => count(all.len() as u64, "process").replace("processs", "processes"),
    };
    let mut out = format!(
        "lockwright meter: futexes of {what}\n  {} elapsed\n  {} for locks, {} waited; {} for what is no lock\n  {} woke {}\n",
        duration(report.elapsed_ns as f64),
        count(of_locks.0, "wait"),
        duration(of_locks.1 as f64),
        number(of_others.0),
        count(report.wakes.0, "call"),
        count(report.wakes.1, "thread"),
    );
    out += "  only waits: a futex shows no acquisition without a wait, and no hold\n";
    out += &lost_waits::section(&report.lost);
    out += &notes(report);
    out.push('\n');
    page.section("LOCKS", &report.locks, of_locks.1, &mut out);
    page.section(
        "WAITS for conditions, semaphores, parks and ends of threads",
        &report.others,
        of_others.1,
        &mut out,
    );
    page.waiting(&mut out);
    out
}

/// What the waits of a language's runtime do not show.
fn notes(report: &FutexReport) -> String {
    let waits_for = |kind| report.others.iter().any(|lock| lock.kind == kind);
    let mut out = String::new();
    if waits_for(WaitKind::Idle("Go")) {
        out += "  Go: a goroutine that waits for a mutex or a channel sleeps in no futex, so that such waits are not here;\n\
                \x20   `go tool pprof` reads Go's own mutex and block profiles\n";
    }
    if waits_for(WaitKind::Event(ATOMICS_WAIT)) {
        out += "  JavaScript: locks are made of Atomics.wait, which other waits are made of, too; the engine's functions do\n\
                \x20   not tell them apart\n";
    }
    out
}

struct Page<'r> {
    report: &'r FutexReport,
    view: TracedView,
    stacks: Stacks,
}

impl Page<'_> {
    fn section(&self, title: &str, locks: &[FutexLock], all_ns: u64, out: &mut String) {
        let (on, off) = if self.view.colour { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        *out += &format!("{on}{title} by total wait{off}\n");
        if locks.is_empty() {
            *out += "  none\n\n";
            return;
        }
        *out += &format!("{HEADINGS}\n");
        // At some words nobody waited in the end, as they had changed.
        let locks: Vec<&FutexLock> = locks.iter().filter(|lock| lock.waits.count > 0).collect();
        let shown = self.view.shown(locks.len());
        for (at, lock) in locks[..shown].iter().enumerate() {
            self.lock(at + 1, lock, all_ns, out);
        }
        if shown < locks.len() {
            *out += &format!("  ... and {} more (--top 0)\n", locks.len() - shown);
        }
        out.push('\n');
    }

    fn lock(&self, number: usize, lock: &FutexLock, all_ns: u64, out: &mut String) {
        let mut notes = Vec::new();
        if self.report.processes.len() > 1 {
            let command = self.report.processes.iter().find(|(pid, _)| *pid == lock.pid);
            let command = command.map_or_else(String::new, |(_, command)| plain(command));
            notes.push(format!("process {} ({command})", lock.pid));
        }
        if lock.timed_out > 0 {
            notes.push(format!("{} timed out", crate::prose::words::number(lock.timed_out)));
        }
        if lock.before > 0 {
            let before = crate::prose::words::number(lock.before);
            notes.push(format!("{before} began before measuring did, counted from then"));
        }
        if lock.ended > 0 {
            let whose = if lock.ended == 1 { "its thread" } else { "their threads" };
            notes.push(format!("{} ended with {whose}", count(lock.ended, "wait")));
        }
        if lock.refused > 0 {
            let refused = count(lock.refused, "call");
            notes.push(format!("{refused} more did not wait, as the word had changed"));
        }
        let notes = match notes.is_empty() {
            true => String::new(),
            false => format!("; {}", notes.join("; ")),
        };
        *out += &format!("#{number} {}{notes}\n", what(lock));
        *out += &format!("{}\n", row(&lock.waits, all_ns));
        let most = |of: usize| if self.view.top == 0 { of } else { of.min(MOST) };
        let shown = most(lock.sites.len());
        for (stack, waits) in &lock.sites[..shown] {
            *out += &format!("{}    {}\n", row(waits, all_ns), self.place(stack));
            self.callers(stack, out);
        }
        if shown < lock.sites.len() {
            *out += &format!("{:8}... and {} more\n", "", lock.sites.len() - shown);
        }
        let shown = most(lock.wakers.len());
        for (stack, waits) in &lock.wakers[..shown] {
            let how = if lock.is_woken_by_owner { "held by" } else { "woken by" };
            *out += &format!("{}    {how} {}\n", row(waits, all_ns), self.place(stack));
            self.callers(stack, out);
        }
    }

    fn callers(&self, stack: &[Frame], out: &mut String) {
        for caller in self.stacks.callers(program(stack)).iter().take(CALLERS) {
            *out += &format!("{:12}{caller}\n", "");
        }
    }

    fn place(&self, stack: &[Frame]) -> String {
        let own = self.stacks.own(program(stack));
        own.unwrap_or_else(|| "a place that is not known".to_owned())
    }

    fn waiting(&self, out: &mut String) {
        let waits: &[StillWaiting] = &self.report.waiting;
        if waits.is_empty() {
            return;
        }
        let (on, off) = if self.view.colour { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        *out += &format!("{on}STILL WAITING{off}\n");
        let shown = self.view.shown(waits.len());
        for wait in &waits[..shown] {
            *out += &format!(
                "  thread {} of process {} since {}{}: {}, in {}\n",
                wait.tid,
                wait.pid,
                duration(wait.for_ns as f64),
                if wait.is_older { " or longer" } else { "" },
                waited_for(
                    wait.kind,
                    wait.name.as_ref().map(|name| plain(&name.text)),
                    wait.address
                ),
                self.place(&wait.stack)
            );
        }
        if shown < waits.len() {
            *out += &format!("  ... and {} more (--top 0)\n", waits.len() - shown);
        }
    }
}

/// The stack from the program's first function on, without those of Go's runtime if there is another, and
/// never with those that only make the call.
fn program(stack: &[Frame]) -> &[Frame] {
    /// How the names of Go's functions begin that make it.
    const CALLS: &[&str] = &["runtime.futex", "runtime.note"];
    let stack = trimmed(stack);
    let first = |begins: &[&str]| {
        let is_of = |name: &str| begins.iter().any(|begin| name.starts_with(begin));
        stack.iter().position(|frame| !frame.function.as_deref().is_some_and(is_of))
    };
    &stack[first(&["runtime."]).or_else(|| first(CALLS)).unwrap_or(0)..]
}

fn sum(locks: &[FutexLock]) -> (u64, u64) {
    locks.iter().fold((0, 0), |sum, lock| (sum.0 + lock.waits.count, sum.1 + lock.waits.total_ns))
}

fn what(lock: &FutexLock) -> String {
    if lock.is_by_function {
        let kind = kind_of(lock.kind).unwrap_or_default();
        return format!("one {kind} or several: each of its waiters has a word of its own");
    }
    let name = lock.name.as_ref().map(|name| plain(&name.text));
    let address = lock.addresses.first().copied().unwrap_or(0);
    waited_for(lock.kind, name, address)
}
