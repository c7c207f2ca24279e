//! Locks, a line each: in the last interval, or in all.

use lockwright_report::live::Lock;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::Span;
use ratatui::widgets::{Cell, Row};

use super::page::{self, figure, right, words};
use crate::board::{Board, LockOrder};
use crate::cells::{NONE, bars, count, maybe_time, percent, short, time};

/// Columns of the trend.
const TREND: usize = 16;

/// Threads that wait for a lock on average, from which on that is much.
const HOT: f64 = 0.5;

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, board: &Board, area: Rect) {
    let rows: Vec<Row<'_>> = board.locks().into_iter().map(|lock| row(board, lock)).collect();
    if rows.is_empty() {
        frame.render_widget(empty(board), area);
        return;
    }
    page::table(frame, board, columns(board), rows, area);
}

fn empty(board: &Board) -> &'static str {
    match board.now() {
        None => "waiting for the program's first lock",
        Some(_) if !board.filter.is_empty() || board.typed.is_some() => {
            "no lock has this in its name or places (Esc: all locks)"
        }
        Some(moment) if !moment.is_measured && moment.is_checked => {
            "locks are not measured: the program runs under `lockwright check`. `lockwright run` measures them, too"
        }
        Some(_) => "no lock yet",
    }
}

fn columns(board: &Board) -> (Vec<String>, Vec<Constraint>) {
    let is_measured = board.now().is_some_and(|moment| moment.is_measured);
    let counts_waits = board.now().is_some_and(|moment| moment.counts_waits);
    let rates = board.shows_rates();
    let mut columns =
        vec![words("LOCK", Constraint::Min(16)), words("KIND", Constraint::Length(9))];
    if is_measured {
        let (acquired, held) = if rates { ("acq/s", "held%") } else { ("acquired", "held") };
        columns.extend([figure(acquired, 8), figure("cont%", 5), figure(held, 6)]);
    } else if counts_waits {
        columns.push(figure(if rates { "waits/s" } else { "waits" }, 8));
    }
    columns.extend([
        figure(if rates { "waiting" } else { "waited" }, 7),
        figure("now", 4),
        words("HOLDER", Constraint::Length(16)),
    ]);
    if rates {
        columns.push(figure("TREND", TREND as u16));
    } else if is_measured {
        columns.push(figure("longest", 7));
    }
    columns.into_iter().unzip()
}

fn row<'b>(board: &'b Board, lock: &'b Lock) -> Row<'b> {
    let palette = board.palette;
    let rates = lock.rates.filter(|_| board.shows_rates());
    let is_measured = board.now().is_some_and(|moment| moment.is_measured);
    let mut cells =
        vec![Cell::from(Span::styled(title(lock), palette.name())), Cell::from(lock.kind.as_str())];
    let (acquired, contended) = match rates {
        Some(rates) => (rates.acquisitions, rates.contended),
        None => (lock.totals.acquisitions as f64, lock.totals.contended as f64),
    };
    if is_measured {
        let part = if acquired > 0.0 { percent(contended / acquired) } else { NONE.to_owned() };
        let held = match rates {
            _ if lock.totals.hold_ns == 0.0 => NONE.to_owned(),
            Some(rates) => percent(rates.held),
            None => time(lock.totals.hold_ns),
        };
        cells.extend([short(acquired), part, held].map(right));
    }
    if board.now().is_some_and(|moment| moment.counts_waits) && !is_measured {
        cells.push(right(short(contended)));
    }
    let (waiting, is_hot) = match rates {
        Some(rates) => (short(rates.waiting), rates.waiting >= HOT),
        None => (time(lock.totals.wait_ns), false),
    };
    let style = if is_hot { palette.hot() } else { ratatui::style::Style::new() };
    cells.push(right(waiting).style(style));
    let (waiters, holder) = match board.now() {
        Some(moment) => {
            let holder = moment.holders(&lock.id).next();
            let name = holder.map_or_else(String::new, |it| match it.name.as_str() {
                "" => it.tid.to_string(),
                name => format!("{} {name}", it.tid),
            });
            (moment.waiters(&lock.id).count(), name)
        }
        None => (0, String::new()),
    };
    cells.extend([right(count(waiters)), Cell::from(holder)]);
    if rates.is_some() {
        cells.push(Cell::from(bars(board.trend(&lock.id), TREND)));
    } else if is_measured {
        let longest = lock.totals.longest_wait_ns;
        cells.push(right(maybe_time((longest > 0.0).then_some(longest))));
    }
    Row::new(cells)
}

fn title(lock: &Lock) -> String {
    match lock.locks {
        0 | 1 => lock.name.clone(),
        many => format!("{} ({} locks)", lock.name, count(many as usize)),
    }
}

/// The heading of the column that locks are sorted by is said when it changes; this is for the help.
pub fn orders() -> String {
    LockOrder::ALL.map(LockOrder::name).join(", ")
}
