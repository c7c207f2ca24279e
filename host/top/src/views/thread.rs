//! One thread: what it holds, what it waits for, and which threads wait for it.

use lockwright_report::live::{Moment, Thread};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::page;
use super::threads::does;
use crate::board::Board;
use crate::cells::{maybe_time, short, time};
use crate::style::Palette;

/// Draws the thread of this process and kernel id.
pub fn draw(frame: &mut Frame<'_>, board: &mut Board, (pid, tid): (u32, u32), area: Rect) {
    let found = board.now().and_then(|moment| {
        let is_it = |it: &&Thread| (it.pid, it.tid) == (pid, tid);
        Some((moment, moment.threads.iter().find(is_it)?))
    });
    let lines = match found {
        Some((moment, thread)) => of_thread(board.palette, moment, thread),
        None => vec![Line::from("this thread has ended (Esc: back)")],
    };
    page::lines(frame, board, lines, area);
}

fn of_thread(palette: Palette, moment: &Moment, thread: &Thread) -> Vec<Line<'static>> {
    let heading = |text: &str| Line::from(Span::styled(text.to_owned(), palette.heading()));
    let style = if thread.is_deadlocked { palette.error() } else { palette.name() };
    let mut lines = vec![Line::from(vec![
        Span::styled(thread.title(), style),
        Span::raw(format!(" of process {} {}", thread.pid, does(thread))),
    ])];
    if moment.is_measured {
        let rate =
            thread.acquisition_rate.map_or_else(String::new, |it| format!(", {}/s", short(it)));
        lines.push(Line::from(format!(
            "{} acquisitions{rate}; waited {} for locks in all",
            short(thread.acquisitions as f64),
            time(thread.wait_ns)
        )));
    }
    if let Some(wait) = &thread.wait {
        lines.extend([Line::default(), heading("WAITS")]);
        let timed = if wait.is_timed { ", with a time limit" } else { "" };
        lines.push(Line::from(format!("  for {}{timed}: {}", maybe_time(wait.for_ns), wait.what)));
        if !wait.place.text.is_empty() {
            lines.push(Line::from(Span::styled(
                format!("  in {}", wait.place.text),
                palette.name(),
            )));
        }
        if !wait.place.source.is_empty() {
            lines.push(Line::from(format!("      > {}", wait.place.source)));
        }
        for caller in &wait.place.callers {
            lines.push(Line::from(Span::styled(format!("      {caller}"), palette.faint())));
        }
        for &holder in &wait.holders {
            let holder = moment.thread(holder).map_or_else(
                || format!("thread {holder}, of which nothing is known"),
                |holder| format!("{}, which {}", holder.title(), does(holder)),
            );
            lines.push(Line::from(format!("  held by {holder}")));
        }
    }
    lines.extend([Line::default(), heading("HOLDS")]);
    if thread.held.is_empty() {
        lines.push(Line::from("  nothing that is known"));
    }
    for held in &thread.held {
        let since = held.for_ns.map_or_else(String::new, |ns| format!(" for {}", time(ns)));
        lines.push(Line::from(vec![
            Span::raw("  "),
            Span::styled(held.name.clone(), palette.name()),
            Span::raw(since),
        ]));
        if !held.place.text.is_empty() {
            lines.push(Line::from(format!("      taken in {}", held.place.text)));
        }
        if !held.place.source.is_empty() {
            lines.push(Line::from(format!("      > {}", held.place.source)));
        }
        for caller in &held.place.callers {
            lines.push(Line::from(Span::styled(format!("      {caller}"), palette.faint())));
        }
    }
    let waits_for_it =
        |it: &&Thread| it.wait.as_ref().is_some_and(|wait| wait.holders.contains(&thread.tid));
    let behind: Vec<&Thread> = moment.threads.iter().filter(waits_for_it).collect();
    if !behind.is_empty() {
        lines.extend([Line::default(), heading("WAIT FOR IT")]);
    }
    for other in behind {
        let ns = other.wait.as_ref().and_then(|wait| wait.for_ns);
        lines.push(Line::from(format!("  {} for {}", other.title(), maybe_time(ns))));
    }
    lines
}
