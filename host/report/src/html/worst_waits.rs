//! The longest waits for locks: who waited, where, who held the lock, and when in the run that was.

use maud::{Markup, html};

use super::section::{Column, Section, left_out, number_cell, table, times};
use super::words::name_of;
use super::{Context, limits, stack, wait_lanes};
use crate::lockmeter::text::format::time;
use crate::lockmeter::timeline::words::{Words, who};
use lockwright_analysis::lockmeter::model::{At, MeterReport};
use lockwright_analysis::lockmeter::timeline::{Slice, Thread, Timeline};

const COLUMNS: &[Column] = &[
    Column::text("lock"),
    Column::text("waited"),
    Column::text("held at first by"),
    Column::text("let go last by"),
    Column::number("wait", "how long"),
    Column::number("began", "since the start of the run"),
    Column::text("in the run"),
];

/// `None` without a timeline, or if nobody waited.
pub fn section(context: &Context<'_>, report: &MeterReport) -> Option<Section> {
    let timeline = report.timeline.as_ref().filter(|timeline| !timeline.worst.is_empty())?;
    let worst = timeline.worst.iter().filter_map(|&place| timeline.at(place));
    let (rows, left) = limits::WORST_WAITS
        .fill(worst, |(thread, slice)| row(context, report, timeline, thread, slice));
    let body = html! {
        @if let Some(lanes) = wait_lanes::show(report, timeline) { (lanes) }
        (table("The longest waits for locks", COLUMNS, &rows))
        (left_out(left, "wait", "--json"))
        p.quiet { "The file of " code { "--timeline" } " has all waits and holds in time." }
    };
    Some(Section::new("worst-waits", "Worst waits", body).counting(timeline.worst.len()))
}

fn row(
    context: &Context<'_>,
    report: &MeterReport,
    timeline: &Timeline,
    thread: &Thread,
    slice: &Slice,
) -> Markup {
    let words = Words(report);
    let name = |tid: u32| {
        let mut known = timeline.threads.iter();
        let found = known.find(|it| (it.process, it.tid) == (thread.process, tid));
        found.map_or_else(|| format!("thread {tid}"), who)
    };
    let class = match slice.at {
        At::Lock { lock, .. } => report.locks.get(lock),
        _ => None,
    };
    let ended = slice.ended_by.and_then(|by| timeline.threads.get(by.thread));
    html! { tr.item {
        th scope="row" { @if let Some(lock) = class { (name_of(&lock.name, lock.is_symbol)) } }
        td.place { (who(thread)) ", " (stack::place(context, words.stack(slice.at))) }
        td.place { @if let Some(holder) = slice.holder {
            (name(holder.tid))
            @if !words.stack(holder.at).is_empty() { ", " (stack::place(context, words.stack(holder.at))) }
        } }
        td {
            @if let Some(by) = ended { (who(by)) }
            @else if slice.is_unfinished { b { "not over" } }
            @else if slice.gave_up { "gave up" }
        }
        (times(Some(slice.ns() as f64)))
        (number_cell(&time(slice.begin_ns as f64), slice.begin_ns as f64))
        td { (bar(slice, report.elapsed_ns)) }
    } }
}

/// The wait in the time of the run.
fn bar(slice: &Slice, elapsed_ns: u64) -> Markup {
    let percent = |ns: u64| (ns as f64 * 100.0 / elapsed_ns.max(1) as f64).min(100.0);
    let begin = percent(slice.begin_ns).min(99.0);
    let width = percent(slice.ns()).max(1.0).min(100.0 - begin);
    let said = format!("from {} on, for {}", time(slice.begin_ns as f64), time(slice.ns() as f64));
    html! {
        svg.range.up role="img" aria-label=(said) {
            title { (said) }
            line.zero x1="0" x2="100%" y1="50%" y2="50%" {}
            rect.dot x=(format!("{begin:.2}%")) width=(format!("{width:.2}%")) y="25%" height="50%" {}
        }
    }
}
