//! The whole screen: head, view, and the line of keys.

use lockwright_report::live::Moment;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use crate::board::{Board, Detail, View};
use crate::cells::{count, short, time};
use crate::views;

/// Draws the board.
pub fn draw(frame: &mut Frame<'_>, board: &mut Board) {
    let rows = [Constraint::Length(3), Constraint::Min(1), Constraint::Length(1)];
    let [head, body, foot] = Layout::vertical(rows).areas(frame.area());
    // A list has a line of headings.
    board.page = usize::from(body.height).saturating_sub(1).max(1);
    draw_head(frame, board, head);
    draw_body(frame, board, body);
    draw_foot(frame, board, foot);
}

fn draw_head(frame: &mut Frame<'_>, board: &Board, area: Rect) {
    let palette = board.palette;
    let mut first = vec![
        Span::styled("lockwright top", palette.heading()),
        Span::raw(format!(": {}", board.title)),
    ];
    if board.is_paused {
        first.push(Span::styled("  PAUSED", palette.hot()));
    }
    let lines = vec![Line::from(first), summary(board), tabs(board)];
    frame.render_widget(ratatui::widgets::Paragraph::new(lines), area);
}

/// What is going on, in one line: the worst first.
fn summary(board: &Board) -> Line<'static> {
    let palette = board.palette;
    let Some(moment) = board.now() else { return Line::from("nothing recorded yet") };
    let mut spans = Vec::new();
    let dead = moment.threads.iter().filter(|thread| thread.is_deadlocked).count();
    if dead > 0 {
        spans.push(Span::styled(format!("DEADLOCK: {dead} threads"), palette.error()));
        spans.push(Span::raw("  "));
    }
    let errors = moment.findings.iter().filter(|finding| finding.is_error).count();
    if moment.is_checked || errors > 0 {
        let style = if errors > 0 { palette.error() } else { palette.faint() };
        let others = moment.findings.len() - errors;
        let text = match (errors, others) {
            (0, 0) => "no findings".to_owned(),
            (errors, 0) => format!("findings {errors}"),
            (errors, others) => format!("findings {errors} + {others} less serious"),
        };
        spans.push(Span::styled(text, style));
        spans.push(Span::raw("  "));
    }
    spans.push(Span::raw(figures(board, moment)));
    Line::from(spans)
}

fn figures(board: &Board, moment: &Moment) -> String {
    let is_waiting = |thread: &&lockwright_report::live::Thread| {
        thread.wait.as_ref().is_some_and(|wait| wait.is_for_thread)
    };
    let (threads, waiting) =
        (moment.threads.len(), moment.threads.iter().filter(is_waiting).count());
    let locks: u64 = moment.processes.iter().map(|process| process.locks).sum();
    let mut text = format!(
        "threads {} ({} wait)  locks {}",
        count(threads),
        count(waiting),
        count(locks as usize)
    );
    let rates = moment.locks.iter().filter_map(|lock| lock.rates);
    if board.shows_rates() {
        let acquisitions: f64 = rates.clone().map(|rates| rates.acquisitions).sum();
        let waits: f64 = rates.map(|rates| rates.waiting).sum();
        if moment.is_measured {
            text += &format!("  acquired {}/s", short(acquisitions));
        }
        text += &format!("  waiting on average {}", short(waits));
    }
    if let Some(up) = moment.processes.iter().map(|process| process.elapsed_ns).max() {
        text += &format!("  up {}", time(up as f64));
    }
    if !moment.runs() {
        text += "  (ended)";
    }
    text
}

fn tabs(board: &Board) -> Line<'static> {
    let palette = board.palette;
    let mut spans = Vec::new();
    for (number, view) in (1..).zip(View::ALL) {
        let style = if view == board.view { palette.selected() } else { palette.faint() };
        spans.push(Span::styled(format!(" {number} {} ", view.name()), style));
        spans.push(Span::raw(" "));
    }
    if !board.filter.is_empty() {
        spans.push(Span::styled(format!(" filter: {}", board.filter), palette.hot()));
    }
    Line::from(spans)
}

fn draw_body(frame: &mut Frame<'_>, board: &mut Board, area: Rect) {
    match board.details.last().cloned() {
        Some(Detail::Help) => views::help::draw(frame, board, area),
        Some(Detail::Lock(id)) => views::lock::draw(frame, board, &id, area),
        Some(Detail::Thread(pid, tid)) => views::thread::draw(frame, board, (pid, tid), area),
        Some(Detail::Finding(at)) => views::findings::draw_one(frame, board, at, area),
        None => match board.view {
            View::Locks => views::locks::draw(frame, board, area),
            View::Threads => views::threads::draw(frame, board, area),
            View::Waits => views::waits::draw(frame, board, area),
            View::Findings => views::findings::draw(frame, board, area),
            View::Output => views::output::draw(frame, board, area),
        },
    }
}

fn draw_foot(frame: &mut Frame<'_>, board: &Board, area: Rect) {
    let line = match (&board.typed, board.message.as_str()) {
        (Some(typed), _) => Line::from(format!("filter: {typed}_  (Enter: keep, Esc: give up)")),
        (None, "") => Line::styled(keys(board), board.palette.faint()),
        (None, message) => Line::from(message.to_owned()),
    };
    frame.render_widget(line, area);
}

/// The keys that matter here.
fn keys(board: &Board) -> String {
    let what = match (board.details.last(), board.view) {
        (Some(Detail::Thread(..)), _) => "Esc back  Enter its lock",
        (Some(_), _) => "Esc back",
        (None, View::Locks) => "Enter open  < > sort  I turn  a all time  / filter",
        (None, View::Threads) => "Enter open  < > sort  I turn  / filter",
        (None, View::Findings) => "Enter open  / filter",
        (None, View::Waits) => "Enter open",
        (None, View::Output) => "",
    };
    format!(
        "? help  q quit  Tab view  {what}  Z pause  + - every {}",
        time(board.interval.as_nanos() as f64)
    )
}
