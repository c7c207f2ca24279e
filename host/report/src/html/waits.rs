//! Threads that were still waiting when a process was killed, or its ledger read.

use maud::{Markup, html};

use super::section::{Section, left_out};
use super::words::name_of;
use super::{Context, limits, stack};
use crate::prose::action::phrase;
use crate::prose::words::{duration, plain};
use crate::prose::{doing, futexes};
use lockwright_analysis::finding::{Report, Waiting};

/// `None` if nobody waited.
pub fn section(context: &Context<'_>, report: &Report) -> Option<Section> {
    if report.waiting.is_empty() {
        return None;
    }
    let (list, left) = limits::WAITS.fill(&report.waiting, |waiting| one(context, report, waiting));
    let body = html! { ul.waits { (list) } (left_out(left, "thread", "--json")) };
    Some(Section::new("waiting", "Still waiting", body).counting(report.waiting.len()))
}

fn one(context: &Context<'_>, report: &Report, waiting: &Waiting) -> Markup {
    html! {
        li.item {
            b { (plain(&waiting.thread.to_string())) }
            @if report.processes.len() > 1 { " of process " (waiting.pid) }
            " " (phrase(waiting.action)) " "
            @if let Some(futex) = &waiting.futex { (plain(&futexes::waited_for(futex))) }
            @if let Some(thread) = &waiting.joined { (plain(&thread.to_string())) }
            @else if let Some(lock) = &waiting.lock { (name_of(&lock.name.text, lock.name.is_symbol)) }
            @if waiting.timed { ", with a timeout" }
            ", in " (stack::place(context, &waiting.stack))
            @for holder in &waiting.holders {
                p { "held by " (plain(&holder.thread.to_string()))
                    @if holder.thread == waiting.thread { " itself" } @else if holder.waits { ", which waits too" }
                    ", taken in " (stack::place(context, &holder.stack))
                    @if holder.has_returned { ", which has returned" }
                    @if let Some(busy) = &holder.busy {
                        "; it runs: " (duration(busy.cpu_ns as f64)) " of CPU time in the last " (duration(busy.of_ns as f64))
                        @if !busy.loops_in.is_empty() { "; it loops in " (stack::place(context, &busy.loops_in)) }
                    }
                    @if let Some(blocked) = &holder.blocked { "; " (doing::blocked(blocked)) }
                }
            }
            @if let Some(futex) = &waiting.futex {
                @if let Some(thread) = &futex.names { p { "its word has the id of " (plain(&thread.to_string())) } }
                @match &futex.woken {
                    Some(woken) => p { "a waiter there was last woken by " (plain(&woken.by.to_string()))
                        " at " (duration(woken.at_ns as f64)) ", in " (stack::place(context, &woken.stack)) },
                    None => p { "nobody has been seen to wake a waiter there" },
                }
            }
            details { summary { "stack" } (stack::list(context, &waiting.stack)) }
        }
    }
}
