//! Threads, a line each: what each holds, and what it waits for.

use lockwright_report::live::Thread;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::Span;
use ratatui::widgets::{Cell, Row};

use super::page::{self, figure, right, words};
use crate::board::Board;
use crate::cells::{NONE, maybe_time, short};

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, board: &Board, area: Rect) {
    let is_measured = board.now().is_some_and(|moment| moment.is_measured);
    let rows: Vec<Row<'_>> =
        board.threads().into_iter().map(|thread| row(board, thread, is_measured)).collect();
    if rows.is_empty() {
        frame.render_widget("no thread has used a lock yet", area);
        return;
    }
    let mut columns =
        vec![words("TID", Constraint::Length(8)), words("NAME", Constraint::Length(16))];
    if is_measured {
        columns.push(figure("acq/s", 6));
    }
    columns.extend([
        words("HOLDS", Constraint::Fill(2)),
        figure("for", 6),
        words("DOES", Constraint::Fill(3)),
        words("WHERE", Constraint::Fill(3)),
    ]);
    page::table(frame, board, columns.into_iter().unzip(), rows, area);
}

fn row<'b>(board: &Board, thread: &'b Thread, is_measured: bool) -> Row<'b> {
    let palette = board.palette;
    let mut cells = vec![Cell::from(thread.tid.to_string()), Cell::from(thread.name.as_str())];
    if is_measured {
        cells.push(right(thread.acquisition_rate.map_or_else(|| NONE.to_owned(), short)));
    }
    let held: Vec<&str> = thread.held.iter().map(|held| held.name.as_str()).collect();
    let wait = thread.wait.as_ref();
    cells.extend([
        Cell::from(held.join(", ")),
        right(maybe_time(wait.and_then(|wait| wait.for_ns))),
    ]);
    let style = match (thread.is_deadlocked, wait) {
        (true, _) => palette.error(),
        (false, Some(wait)) if wait.is_for_thread => palette.hot(),
        _ => palette.faint(),
    };
    cells.push(Cell::from(Span::styled(does(thread), style)));
    cells.push(Cell::from(wait.map_or("", |wait| wait.place.text.as_str())));
    Row::new(cells)
}

/// What a thread does, in words.
pub fn does(thread: &Thread) -> String {
    let dead = if thread.is_deadlocked { "DEADLOCKED, " } else { "" };
    match &thread.wait {
        Some(wait) => {
            let holders: Vec<String> = wait.holders.iter().take(3).map(u32::to_string).collect();
            let of = if holders.is_empty() { "" } else { " of " };
            format!("{dead}{}{of}{}", wait.what, holders.join(", "))
        }
        None if thread.state.is_empty() => "runs or sleeps".to_owned(),
        None => thread.state.clone(),
    }
}
