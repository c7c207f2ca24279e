//! The graph of waits as a tree, deadlocks first.

use lockwright_report::live::{Branch, Thread};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{List, ListState};

use crate::board::Board;
use crate::cells::time;

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, board: &Board, area: Rect) {
    let branches = board.waits();
    if branches.is_empty() {
        frame.render_widget("no thread waits for another one at this moment", area);
        return;
    }
    let lines: Vec<Line<'_>> = branches.iter().map(|branch| line(board, branch)).collect();
    let mut state = ListState::default().with_selected(Some(board.selected()));
    let list = List::new(lines).highlight_style(board.palette.selected());
    frame.render_stateful_widget(list, area, &mut state);
}

fn line<'b>(board: &Board, branch: &Branch<'b>) -> Line<'b> {
    let palette = board.palette;
    let Branch { thread, depth, closes, is_last } = *branch;
    let mut spans = vec![Span::styled(indent(depth, is_last), palette.faint())];
    if closes.is_some() {
        let text = format!("{} again: they wait for each other", thread.title());
        spans.push(Span::styled(text, palette.error()));
        return Line::from(spans);
    }
    let style = if thread.is_deadlocked { palette.error() } else { palette.name() };
    spans.push(Span::styled(thread.title(), style));
    spans.push(Span::raw(format!(" {}", does(thread, depth))));
    if let Some(wait) = thread.wait.as_ref().filter(|wait| !wait.place.text.is_empty()) {
        spans.push(Span::styled(format!(", in {}", wait.place.text), palette.faint()));
    }
    spans.push(Span::raw(holds(thread)));
    Line::from(spans)
}

fn indent(depth: usize, is_last: bool) -> String {
    match depth {
        0 => String::new(),
        depth => format!("{}{}", "   ".repeat(depth - 1), if is_last { " └─ " } else { " ├─ " }),
    }
}

/// What it does, and for how long: below the thread that it waits for, the holder is known.
pub fn does(thread: &Thread, depth: usize) -> String {
    let Some(wait) = &thread.wait else {
        return match thread.state.as_str() {
            "" => "waits for none".to_owned(),
            state => state.to_owned(),
        };
    };
    let since = wait.for_ns.map_or_else(String::new, |ns| format!(" for {}", time(ns)));
    let others: Vec<String> = wait.holders.iter().map(u32::to_string).collect();
    let what = &wait.what;
    match (depth, others.is_empty()) {
        (0, false) => format!("{what} of {}{since}", others.join(", ")),
        (0, true) if wait.is_for_thread => format!("{what}{since}, whose holder is not known"),
        _ => format!("{what}{since}"),
    }
}

/// What it holds, and for how long; to stand last.
pub fn holds(thread: &Thread) -> String {
    let held = thread.held.iter().map(|held| match held.for_ns {
        Some(ns) => format!("{} (for {})", held.name, time(ns)),
        None => held.name.clone(),
    });
    let held: Vec<String> = held.collect();
    if held.is_empty() { String::new() } else { format!("; holds {}", held.join(", ")) }
}
