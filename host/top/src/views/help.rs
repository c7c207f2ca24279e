//! The keys.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{locks, page};
use crate::board::Board;

/// What keys do, as htop and top have them where those have such.
const KEYS: &[(&str, &str)] = &[
    (
        "q, F10, Ctrl-C",
        "leave; a program that `top` started is ended, one that it looks at goes on",
    ),
    (
        "1 to 5, Tab",
        "locks, threads, the graph of waits, findings and advice, the program's output",
    ),
    ("Up, Down, j, k", "the line before, the next; also PageUp, PageDown, Home, End"),
    (
        "Enter, Right",
        "open: of a lock its holders, waiters, call sites and stacks; of a thread its lock",
    ),
    ("Esc, Left", "back; in a list, no filter"),
    ("<, >, F6", "sort by another column"),
    ("I", "turn the order round"),
    ("a", "figures of all time, or of the last interval"),
    ("/, \\, F3, F4", "filter: locks and threads that have a word in their name, place or wait"),
    ("Z, Space", "pause: the program goes on, the screen stands still"),
    ("+, -", "look less often, more often"),
    ("Ctrl-L", "draw the screen again"),
    ("?, h, F1", "this page"),
];

/// What the columns mean.
const COLUMNS: &[(&str, &str)] = &[
    ("acq/s", "acquisitions a second"),
    ("cont%", "acquisitions that had to wait"),
    (
        "held%",
        "part of the time that it was held; more than 100 where several locks of a class are",
    ),
    ("waiting", "threads that waited for it, on average over the interval"),
    ("now", "threads that wait for it at this moment"),
    ("TREND", "waiting, at the last moments"),
];

/// Draws the page.
pub fn draw(frame: &mut Frame<'_>, board: &mut Board, area: Rect) {
    let palette = board.palette;
    let heading = |text: &str| Line::from(Span::styled(text.to_owned(), palette.heading()));
    let entry = |(left, right): &(&str, &str)| {
        Line::from(vec![
            Span::styled(format!("  {left:<16}"), palette.name()),
            Span::raw((*right).to_owned()),
        ])
    };
    let mut lines = vec![heading("KEYS")];
    lines.extend(KEYS.iter().map(entry));
    lines.extend([Line::default(), heading("COLUMNS")]);
    lines.extend(COLUMNS.iter().map(entry));
    lines.push(Line::default());
    lines.push(Line::from(format!("Locks are sorted by {}.", locks::orders())));
    page::lines(frame, board, lines, area);
}
