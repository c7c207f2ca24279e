//! The report for people: what never ends first, then what each thread does.

use std::fmt::Write;

use super::words::{call, holder, object, thread, trimmed};
use super::{Attached, SharedWait, Sharer};
use crate::prose::words::{number, plain};
use crate::text::stack::Stacks;
use lockwright_analysis::attached::{Holder, State, Thread, Verdict, Wait, WaitKind};
use lockwright_analysis::finding::Frame;
use lockwright_analysis::signal;
use lockwright_console::error::Severity;

/// Callers shown of a thread that is in no verdict.
const CALLERS_OF_OTHERS: usize = 1;

/// Processes named that have the memory of a wait.
const MOST_SHARERS: usize = 8;

/// Threads that do the same at the same place are one line; so many of such lines are shown.
const MOST_LINES: usize = 40;

/// Renders the report; ends with a newline.
pub fn render(attached: &Attached, colour: bool) -> String {
    let view = View { attached, colour, stacks: Stacks::new() };
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "lockwright check: process {} ({}), looked at as it runs for {}ms\n",
        attached.pid,
        plain(&attached.exe),
        attached.watched_ms
    );
    for verdict in &attached.verdicts {
        view.verdict(verdict, &mut out);
        out.push('\n');
    }
    view.threads(&mut out);
    view.conclusion(&mut out);
    out
}

struct View<'r> {
    attached: &'r Attached,
    colour: bool,
    stacks: Stacks,
}

impl View<'_> {
    /// A thread of the process, or of another to which its waits lead.
    fn of(&self, tid: u32) -> Option<&Thread> {
        let elsewhere = self.attached.elsewhere.iter().map(|(_, thread)| thread);
        self.attached.threads.iter().chain(elsewhere).find(|thread| thread.tid == tid)
    }

    /// ` of process 41`, of a thread that is in another process.
    fn process_of(&self, tid: u32) -> String {
        let other = self.attached.elsewhere.iter().find(|(_, thread)| thread.tid == tid);
        other.map_or_else(String::new, |(pid, _)| format!(" of process {pid}"))
    }

    fn waiting(&self) -> impl Iterator<Item = (&Thread, &Wait)> {
        self.attached.threads.iter().filter_map(|thread| Some((thread, thread.wait()?)))
    }

    fn line(&self, severity: Severity, code: &str, message: &str) -> String {
        let line = severity.line(message, self.colour);
        // As findings have it: `error[kind]: message`.
        let word = if severity == Severity::Error { "error" } else { "warning" };
        line.replacen(word, &format!("{word}[{code}]"), 1)
    }

    fn verdict(&self, verdict: &Verdict, out: &mut String) {
        let severity = if verdict.is_certain() { Severity::Error } else { Severity::Warning };
        match verdict {
            Verdict::Cycle { tids, is_timed, behind } => {
                let message = match (tids.len(), is_timed) {
                    (1, false) => "a thread waits for a lock that it holds itself".into(),
                    (1, true) => {
                        "a thread waits, for a time, for a lock that it holds itself".into()
                    }
                    (n, false) => format!("{n} threads wait for each other"),
                    (n, true) => format!(
                        "{n} threads wait for each other, one of them for a time: it ends then"
                    ),
                };
                out.push_str(&self.line(severity, "deadlock", &message));
                for &tid in tids {
                    self.step(tid, out);
                }
                if !behind.is_empty() {
                    let tids: Vec<String> = behind.iter().map(u32::to_string).collect();
                    let (verb, tids) =
                        (if tids.len() == 1 { "waits" } else { "wait" }, tids.join(", "));
                    let _ = writeln!(out, "  behind them {verb}: {tids}");
                }
            }
            Verdict::LeftLocked { tid, owner } => {
                let message =
                    format!("thread {owner} ended with a lock held, for which thread {tid} waits");
                out.push_str(&self.line(severity, "exit-with-lock-held", &message));
                self.step(*tid, out);
            }
            Verdict::AllWait { handlers } => {
                let message = match handlers {
                    0 => "every thread of the process waits for another one",
                    _ => "every thread of the process waits for another one, or for a signal",
                };
                out.push_str(&self.line(severity, "deadlock", message));
                for thread in &self.attached.threads {
                    self.step(thread.tid, out);
                }
                let _ = writeln!(
                    out,
                    "  note: none of these waits has a timeout, or can be ended by another process,\n\
                     \u{20}       so none ends, whoever holds what"
                );
                if *handlers != 0 {
                    let names: Vec<String> = (1..=64)
                        .filter(|n| handlers & (1 << (n - 1)) != 0)
                        .map(signal::name)
                        .collect();
                    let _ = writeln!(
                        out,
                        "  note: unless it is by the handler of a signal: {}",
                        names.join(", ")
                    );
                }
            }
        }
    }

    /// The wait of a verdict's thread: for what, where, and its callers.
    fn step(&self, tid: u32, out: &mut String) {
        let Some(one) = self.of(tid) else { return };
        let Some(wait) = one.wait() else { return };
        let (stopped, of) =
            (if one.is_stopped() { ", stopped," } else { "" }, self.process_of(tid));
        let _ = writeln!(out, "  {}{of}{stopped} waits for {}", thread(one), with_holder(wait));
        self.places(&one.stack, usize::MAX, out);
    }

    fn places(&self, stack: &[Frame], most: usize, out: &mut String) {
        let stack = trimmed(stack);
        match self.stacks.own(stack) {
            Some(own) => {
                let _ = writeln!(out, "      in {own}");
                for caller in self.stacks.callers(stack).iter().take(most) {
                    let _ = writeln!(out, "         {caller}");
                }
            }
            None => {
                let _ = writeln!(out, "      in a place that is not known");
            }
        }
    }

    /// Every thread, those that do the same at the same place together.
    fn threads(&self, out: &mut String) {
        let mut groups: Vec<(String, String, Vec<&Thread>)> = Vec::new();
        for one in &self.attached.threads {
            let doing = doing(one);
            let mut places = String::new();
            if one.state != State::Runs {
                self.places(&one.stack, CALLERS_OF_OTHERS, &mut places);
            }
            match groups.iter_mut().find(|(a, b, _)| (a, b) == (&doing, &places)) {
                Some((.., threads)) => threads.push(one),
                None => groups.push((doing, places, vec![one])),
            }
        }
        let total = number(self.attached.threads.len() as u64);
        let plural = if self.attached.threads.len() == 1 { "" } else { "S" };
        let _ = writeln!(out, "{total} THREAD{plural}");
        for (doing, places, threads) in groups.iter().take(MOST_LINES) {
            let who = thread(threads[0]);
            let more = match threads.len() - 1 {
                0 => String::new(),
                1 => "; so does 1 more".to_owned(),
                n => format!("; so do {n} more"),
            };
            let _ = write!(out, "  {who} {doing}{more}\n{places}");
        }
        if groups.len() > MOST_LINES {
            let _ = writeln!(out, "  ... and others; --json FILE has all");
        }
        out.push('\n');
    }

    /// The certain conclusions, the doubtful ones, and the limits of this way of looking.
    fn conclusion(&self, out: &mut String) {
        let mut notes = Vec::new();
        if self.attached.verdicts.is_empty() {
            notes.push(self.no_verdict());
        }
        notes.extend(self.shared_notes());
        if self.attached.threads.iter().any(|thread| thread.stack.iter().any(is_of_jvm)) {
            notes.push(format!(
                "Java's monitors and locks are in its heap, and this does not read it: `jcmd {} Thread.print -l` \
                 tells who holds them",
                self.attached.pid
            ));
        }
        let is_go = |(_, wait): (&Thread, &Wait)| wait.kind == WaitKind::Idle("Go");
        if self.waiting().any(is_go) {
            notes.push(format!(
                "Go's goroutines wait in its heap, not in threads, and this does not read it: \
                 `kill -QUIT {}` ends the program and prints them",
                self.attached.pid
            ));
        }
        notes.push(
            "this shows this moment alone: where locks were taken, and orders that could \
             deadlock another time, are seen by `lockwright check -- PROGRAM`"
                .to_owned(),
        );
        for note in notes {
            let _ = writeln!(out, "note: {note}");
        }
    }

    /// What other processes have to do with the waits, a note for those who wait for the same.
    fn shared_notes(&self) -> Vec<String> {
        let mut all: Vec<(Vec<&Thread>, &SharedWait)> = Vec::new();
        for wait in &self.attached.shared {
            let Some(one) = self.of(wait.tid) else { continue };
            match all.iter_mut().find(|(_, other)| other.others == wait.others) {
                Some((threads, _)) => threads.push(one),
                None => all.push((vec![one], wait)),
            }
        }
        let notes = all.into_iter().filter_map(|(threads, wait)| {
            let what = threads[0].wait().map(object)?;
            let who = match &threads[..] {
                [one] => format!("{} waits", thread(one)),
                [first, others @ ..] => {
                    format!("{} and {} more wait", thread(first), others.len())
                }
                [] => return None,
            };
            let others: Vec<String> =
                wait.others.iter().take(MOST_SHARERS).map(sharer).collect();
            let more = match wait.others.len().saturating_sub(MOST_SHARERS) {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            let next = wait.others.iter().find(|it| it.waits).unwrap_or(&wait.others[0]);
            Some(format!(
                "{who} for {what} in memory shared with other processes, any of which may hold or post it: {}{more}; \
                 `lockwright check --pid {}` shows what that one does",
                others.join(", "),
                next.pid
            ))
        });
        notes.collect()
    }

    fn no_verdict(&self) -> String {
        let stopped: Vec<_> =
            self.attached.threads.iter().filter(|thread| thread.is_stopped()).collect();
        if let Some(first) = stopped.first() {
            let who = match stopped.len() {
                1 => format!("{} is", thread(first)),
                n => format!("{n} threads are"),
            };
            return format!(
                "undecided: {who} stopped by a signal or a debugger, and may go on, or wait, when that is over"
            );
        }
        let is_stuck = |one: &&Thread| matches!(one.state, State::Uninterruptible(_));
        let is_waited_for =
            |one: &&Thread| self.waiting().any(|(_, wait)| wait.holder == Holder::Thread(one.tid));
        let mut stuck = self.attached.threads.iter().filter(is_stuck);
        if let Some(stuck) = stuck.find(is_waited_for) {
            return format!(
                "undecided: {} has what others wait for, and sleeps in an uninterruptible call",
                thread(stuck)
            );
        }
        let in_doubt = self.waiting().find(|(one, wait)| {
            matches!(wait.holder, Holder::NotRecorded | Holder::Readers(_))
                || may_be_lock(one, wait)
        });
        let waits = self.waiting().filter(|(_, wait)| wait.holder != Holder::NoLock).count();
        match (waits, in_doubt) {
            _ if !self.attached.shared.is_empty() => {
                "undecided: none of its own threads wait for each other, but others may have what they wait for"
                    .to_owned()
            }
            (_, Some((first, wait))) if wait.holder == Holder::NoLock => format!(
                "undecided: {} waits for {}, of which locks are made as well, and who holds one is not known",
                thread(first),
                object(wait)
            ),
            (_, Some((first, _))) => format!(
                "undecided: {} waits for a lock that does not record its holder, and a thread that \
                 waits for no lock may have it",
                thread(first)
            ),
            (0, None) => {
                "no deadlock between threads: none waits for a lock or for the end of a thread".to_owned()
            }
            (_, None) => {
                "no deadlock between threads: each wait for a lock leads to a thread that waits for none".to_owned()
            }
        }
    }
}

/// A wait for nobody in particular may be for a lock: those of Python are semaphores, and those of `java.util.concurrent` park
/// their threads. Semaphores of Java's virtual machine itself are for work.
fn may_be_lock(thread: &Thread, wait: &Wait) -> bool {
    match wait.kind {
        WaitKind::Event("an unpark (Java)") => true,
        WaitKind::Event("a semaphore") => {
            !wait.futex.is_timed && !thread.stack.iter().any(is_of_jvm)
        }
        _ => false,
    }
}

/// The frame is of Java's virtual machine.
fn is_of_jvm(frame: &Frame) -> bool {
    frame.module.as_deref().is_some_and(|module| module.ends_with("/libjvm.so"))
}

/// What never ends, or may not, with the threads in it: each with whether that is certain, and line by line.
pub(crate) fn verdicts(attached: &Attached) -> Vec<(bool, Vec<String>)> {
    let view = View { attached, colour: false, stacks: Stacks::new() };
    let of = |verdict: &Verdict| {
        let mut text = String::new();
        view.verdict(verdict, &mut text);
        (verdict.is_certain(), text.lines().map(str::to_owned).collect())
    };
    attached.verdicts.iter().map(of).collect()
}

/// What a thread does, to follow its name.
pub(crate) fn doing(one: &Thread) -> String {
    match &one.state {
        State::Runs => "runs, or did a moment ago".to_owned(),
        State::Stopped(None) => "is stopped by a signal or a debugger".to_owned(),
        State::Stopped(Some(wait)) => {
            format!("is stopped by a signal or a debugger, and waits for {}", with_holder(wait))
        }
        State::Uninterruptible(number) => {
            format!("sleeps in {}, uninterruptible", call(*number))
        }
        State::Waits(wait) => {
            let timed = if wait.futex.is_timed { ", for a time" } else { "" };
            format!("waits for {}{timed}", with_holder(wait))
        }
        State::SleepsForATime(number) => format!("sleeps in {}, for a time", call(*number)),
        State::Sleeps(number) => format!("sleeps in {}", call(*number)),
    }
}

fn with_holder(wait: &Wait) -> String {
    match holder(wait) {
        holder if holder.is_empty() => object(wait),
        holder => format!("{}, {holder}", object(wait)),
    }
}

/// `process 41 (server) that waits in shared memory itself`.
fn sharer(other: &Sharer) -> String {
    let itself = if other.waits { " that waits in shared memory itself" } else { "" };
    format!("process {} ({}){itself}", other.pid, plain(&other.name))
}
