//! What the program has printed.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::page;
use crate::board::Board;

/// Draws the last lines.
pub fn draw(frame: &mut Frame<'_>, board: &mut Board, area: Rect) {
    if board.output.is_empty() {
        let text = "nothing: only of a program that `lockwright top -- PROGRAM` started, and once it prints";
        frame.render_widget(text, area);
        return;
    }
    let lines = board.output.iter().map(|line| Line::from(line.clone())).collect();
    page::lines(frame, board, lines, area);
}
