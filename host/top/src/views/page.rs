//! Lines that are scrolled, and lists in which one line is selected.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};

use crate::board::Board;

/// Draws lines from the one that is scrolled to.
pub fn lines(frame: &mut Frame<'_>, board: &mut Board, lines: Vec<Line<'_>>, area: Rect) {
    let page = Paragraph::new(lines).wrap(Wrap { trim: false });
    let last = page.line_count(area.width).saturating_sub(usize::from(area.height));
    board.scroll = board.scroll.min(last);
    board.page = usize::from(area.height).max(1);
    let scroll = u16::try_from(board.scroll).unwrap_or(u16::MAX);
    frame.render_widget(page.scroll((scroll, 0)), area);
}

/// The heading of a column of words, and its width.
pub fn words(heading: &str, width: Constraint) -> (String, Constraint) {
    (heading.to_owned(), width)
}

/// The heading of a column of figures, which stand at its right edge, and its width.
pub fn figure(heading: &str, width: u16) -> (String, Constraint) {
    (format!("{heading:>0$}", usize::from(width)), Constraint::Length(width))
}

/// A cell of a figure.
pub fn right(text: String) -> Cell<'static> {
    Cell::from(Line::from(text).right_aligned())
}

/// Draws a table with headings, of which line `selected` is marked.
pub fn table(
    frame: &mut Frame<'_>,
    board: &Board,
    (headings, widths): (Vec<String>, Vec<Constraint>),
    rows: Vec<Row<'_>>,
    area: Rect,
) {
    let palette = board.palette;
    let mut state = TableState::default().with_selected(Some(board.selected()));
    let table = Table::new(rows, widths)
        .header(Row::new(headings).style(palette.heading()))
        .row_highlight_style(palette.selected())
        .column_spacing(1);
    frame.render_stateful_widget(table, area, &mut state);
}
