//! Threads that were still waiting when a process was killed, or its ledger read.

use super::stack::Stacks;
use crate::prose::action::{act, phrase};
use crate::prose::words::{count, duration, plain, quote};
use crate::prose::{doing, futexes};
use lockwright_analysis::finding::doing::Busy;
use lockwright_analysis::finding::futex::{FutexUse, FutexWait};
use lockwright_analysis::finding::{Report, ThreadInfo, Waiting, WaitsFor};

/// Waits told; there may be a thread for each connection.
const MOST: usize = 20;

/// Callers shown of each.
const MOST_CALLERS: usize = 4;

/// The advice for a thread that runs and holds others up.
const SPINS: &str = "      if it waits in a loop, for a lock made of atomics, that lock is not seen: \
    annotate it with lockwright.h (docs/annotations.md, \"Locks of your own\"); --hang-after 10 shows the loop\n";

/// The same where the loop is known.
const LOOPS: &str = "      if that waits for a lock made of atomics, the lock is not seen: \
    annotate it with lockwright.h (docs/annotations.md, \"Locks of your own\")\n";

/// The section, a line for each wait and one for each holder; empty if nobody waits.
pub fn lines(report: &Report, stacks: &Stacks) -> String {
    let waits = report.waiting.iter().filter(|waiting| !waiting.is_told);
    let text = each(waits, report.processes.len() > 1, stacks);
    if text.is_empty() { text } else { format!("still waiting:\n{text}\n") }
}

/// The lines about waits, of several processes perhaps.
pub fn each<'w>(
    waits: impl Iterator<Item = &'w Waiting>,
    several: bool,
    stacks: &Stacks,
) -> String {
    let mut groups: Vec<(&Waiting, u64)> = Vec::new();
    for waiting in waits {
        match groups.iter_mut().find(|(first, _)| is_alike(first, waiting)) {
            Some((_, more)) => *more += 1,
            None => groups.push((waiting, 0)),
        }
    }
    let mut text = String::new();
    for (waiting, more) in groups.iter().take(MOST) {
        text += &format!("  {}\n", line(several, stacks, waiting));
        // The function that waits may be one that everything waits in.
        for caller in stacks.callers(&waiting.stack).iter().take(MOST_CALLERS) {
            text += &format!("    {caller}\n");
        }
        for holder in &waiting.holders {
            text += &format!("    held by {}", plain(&holder.thread.to_string()));
            text += match (holder.thread == waiting.thread, holder.waits) {
                (true, _) => " itself",
                (false, true) => ", which waits too",
                (false, false) => "",
            };
            let place = stacks.own(&holder.stack);
            text += &place.map_or_else(String::new, |place| format!(", taken in {place}"));
            if holder.has_returned {
                text += ", which has returned";
            }
            text.push('\n');
            if let Some(Busy { cpu_ns, of_ns, loops_in }) = &holder.busy {
                text += &format!(
                    "      it runs: {} of CPU time in the last {}, and no lock taken or released\n",
                    duration(*cpu_ns as f64),
                    duration(*of_ns as f64),
                );
                match stacks.own(loops_in) {
                    Some(place) => text += &format!("      it loops in {place}\n{LOOPS}"),
                    None => text += SPINS,
                }
            }
            if let Some(blocked) = &holder.blocked {
                text += &format!("      {}\n", doing::blocked(blocked));
            }
        }
        if waiting.kind == WaitsFor::Lock && waiting.holders.is_empty() {
            text += "    held by no live thread that is known\n";
        }
        if let Some(futex) = &waiting.futex {
            text += &futex_lines(stacks, futex);
        }
        for by in &waiting.signallers {
            let place = stacks.own(&by.stack);
            text += &format!(
                "    {}, which has signalled it, waits for {}, {}{}\n",
                plain(&by.thread.to_string()),
                plain(&quote(&by.lock)),
                kept(&by.between),
                place.map_or_else(String::new, |place| format!(", in {place}")),
            );
        }
        if waiting.signallers.first().is_some_and(|by| by.are_all) {
            text += "    no other live thread was seen to signal it: it may never end\n";
        }
        if *more > 0 {
            text += &format!("    and so {} more\n", do_threads(*more));
        }
    }
    let rest: u64 = groups.iter().skip(MOST).map(|(_, more)| 1 + more).sum();
    if rest > 0 {
        text += &format!("  and {} more\n", count(rest, "thread"));
    }
    text
}

/// The thread that keeps a lock which a signaller waits for, by way of the threads between.
fn kept(between: &[ThreadInfo]) -> String {
    let Some((first, others)) = between.split_first() else {
        return "which this one keeps".into();
    };
    let mut text = format!("held by {}, which waits for ", plain(&first.to_string()));
    for other in others {
        text += &format!("{}, which waits for ", plain(&other.to_string()));
    }
    text + "this one"
}

fn do_threads(n: u64) -> String {
    if n == 1 { "does 1 thread".into() } else { format!("do {}", count(n, "thread")) }
}

/// Whether two wait at one place for one thing.
fn is_alike(a: &Waiting, b: &Waiting) -> bool {
    let futex = |w: &Waiting| w.futex.as_ref().map(|f| (f.addr, f.woken.clone(), f.names.clone()));
    (a.process, a.kind, a.action, &a.lock, &a.joined, &a.holders, &a.signallers, &a.stack)
        == (b.process, b.kind, b.action, &b.lock, &b.joined, &b.holders, &b.signallers, &b.stack)
        && futex(a) == futex(b)
}

/// The known threads at a futex. The holder of a lock made of a futex is known only if the futex
/// word names it.
fn futex_lines(stacks: &Stacks, futex: &FutexWait) -> String {
    let mut text = String::new();
    match &futex.names {
        Some(thread) => {
            text += &format!("    its word has the id of {}\n", plain(&thread.to_string()));
        }
        None if futex.kind.used_as == FutexUse::Lock => {
            text += "    who holds it is not known: its acquisitions are not seen\n";
        }
        None => {}
    }
    match &futex.woken {
        Some(woken) => {
            let place = stacks.own(&woken.stack);
            text += &format!(
                "    a waiter there was last woken by {} at {}{}\n",
                plain(&woken.by.to_string()),
                duration(woken.at_ns as f64),
                place.map_or_else(String::new, |place| format!(", in {place}")),
            );
        }
        None => text += "    nobody has been seen to wake a waiter there\n",
    }
    text
}

fn line(several: bool, stacks: &Stacks, waiting: &Waiting) -> String {
    let mut text = waiting.thread.to_string();
    if several {
        text += &format!(" of process {}", waiting.pid);
    }
    let what = match (&waiting.joined, &waiting.lock) {
        _ if waiting.futex.is_some() => {
            waiting.futex.as_ref().map_or_else(String::new, futexes::waited_for)
        }
        (Some(thread), _) => thread.to_string(),
        (None, Some(lock)) => quote(&lock.name),
        (None, None) if waiting.kind == WaitsFor::Thread => "a thread".into(),
        (None, None) => "something unknown".into(),
    };
    text.push(' ');
    text += &match waiting.kind {
        WaitsFor::Lock | WaitsFor::Semaphore => act(waiting.action, &what),
        WaitsFor::Condition | WaitsFor::Thread | WaitsFor::Futex => {
            format!("{} {what}", phrase(waiting.action))
        }
    };
    if waiting.timed {
        text += ", with a timeout";
    }
    if let Some(futex) = &waiting.futex {
        text += &format!(", begun {} after the process", duration(futex.begun_ns as f64));
    }
    let place = stacks.own(&waiting.stack).map(|place| format!(", in {place}"));
    plain(&text) + &place.unwrap_or_default()
}
