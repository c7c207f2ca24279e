//! Findings as they come, advice, and what is missing.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{List, ListState};

use super::page;
use crate::board::{Board, Found};

/// Draws the list.
pub fn draw(frame: &mut Frame<'_>, board: &Board, area: Rect) {
    let found = board.found();
    if found.is_empty() {
        let text = match board.now() {
            Some(moment) if !moment.is_checked => {
                "orders of locks are not checked: `lockwright top -- PROGRAM` and `lockwright run` check them"
            }
            _ => "nothing found yet",
        };
        frame.render_widget(text, area);
        return;
    }
    let palette = board.palette;
    let lines: Vec<Line<'_>> = found
        .iter()
        .map(|line| match line {
            Found::Finding(_, finding) => {
                let style = if finding.is_error { palette.error() } else { palette.warning() };
                let word = if finding.is_error { "error" } else { "warning" };
                Line::from(vec![
                    Span::styled(format!("{word}[{}]", finding.kind), style),
                    Span::raw(format!(" {}: {}", finding.grade, finding.title)),
                ])
            }
            Found::Advice(advice, lock) => Line::from(vec![
                Span::styled("advice", palette.hot()),
                Span::raw(format!(
                    " {}: {} (confidence {})",
                    lock.map_or("a lock", |lock| lock.name.as_str()),
                    advice.text,
                    advice.confidence
                )),
            ]),
            Found::Note(note) => Line::from(Span::styled(format!("note: {note}"), palette.faint())),
        })
        .collect();
    let mut state = ListState::default().with_selected(Some(board.selected()));
    let list = List::new(lines).highlight_style(palette.selected());
    frame.render_stateful_widget(list, area, &mut state);
}

/// Draws the finding at a place, as reports show it.
pub fn draw_one(frame: &mut Frame<'_>, board: &mut Board, at: usize, area: Rect) {
    let finding = board.now().and_then(|moment| moment.findings.get(at));
    let lines: Vec<Line<'_>> = match finding {
        Some(finding) => finding.text.iter().map(|line| Line::from(line.clone())).collect(),
        None => vec![Line::from("this finding is not there any more (Esc: back)")],
    };
    page::lines(frame, board, lines, area);
}
