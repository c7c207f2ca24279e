//! One lock: which threads have it, which wait, where it is taken, and whose holds the waits were for.

use lockwright_report::live::{Lock, Moment, Place, Rates, Totals};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::page;
use super::threads::does;
use crate::board::Board;
use crate::cells::{bars, maybe_time, percent, short, time};
use crate::style::Palette;

/// Columns of the trend.
const TREND: usize = 60;

/// Threads named of those that wait.
const MOST_WAITERS: usize = 20;

/// Pairs shown of a waiter and a holder.
const MOST_PAIRS: usize = 12;

/// Draws the lock.
pub fn draw(frame: &mut Frame<'_>, board: &mut Board, id: &str, area: Rect) {
    let lines = match board.now().and_then(|moment| Some((moment, moment.lock(id)?))) {
        Some((moment, lock)) => {
            let trend = bars(board.trend(id), TREND);
            of_lock(board.palette, moment, lock, &trend)
        }
        None => vec![Line::from("this lock is not there any more (Esc: back)")],
    };
    page::lines(frame, board, lines, area);
}

fn of_lock(palette: Palette, moment: &Moment, lock: &Lock, trend: &str) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(vec![
        Span::styled(lock.name.clone(), palette.name()),
        Span::raw(format!(
            ", {}{}",
            lock.kind,
            if lock.locks > 1 {
                format!(", {} locks of one class", lock.locks)
            } else {
                String::new()
            }
        )),
    ])];
    lines.push(Line::from(format!(
        "in all             {}",
        in_all(&lock.totals, moment.is_measured)
    )));
    if let Some(rates) = lock.rates.filter(|_| moment.interval_ns > 0) {
        let interval = time(moment.interval_ns as f64);
        lines.push(Line::from(format!(
            "in the last {interval:<6} {}",
            lately(&rates, moment.is_measured)
        )));
    }
    if !trend.trim().is_empty() {
        lines.push(Line::from(vec![
            Span::raw("threads waiting    "),
            Span::styled(trend.trim_start().to_owned(), palette.hot()),
        ]));
    }
    let heading = |text: &str| Line::from(Span::styled(text.to_owned(), palette.heading()));
    lines.extend([Line::default(), heading("HELD NOW BY")]);
    let before = lines.len();
    for thread in moment.holders(&lock.id) {
        let mut held = thread.held.iter().filter(|held| held.lock == lock.id);
        let Some(held) = held.next() else { continue };
        lines.push(Line::from(format!(
            "  {} for {}{}; it {}",
            thread.title(),
            maybe_time(held.for_ns),
            at(&held.place),
            does(thread)
        )));
    }
    if lines.len() == before {
        lines.push(Line::from("  nobody"));
    }
    lines.extend([Line::default(), heading("WAITING NOW")]);
    let before = lines.len();
    for thread in moment.waiters(&lock.id).take(MOST_WAITERS) {
        let Some(wait) = &thread.wait else { continue };
        let style = if thread.is_deadlocked { palette.error() } else { palette.hot() };
        lines.push(Line::from(vec![
            Span::raw(format!("  {} for ", thread.title())),
            Span::styled(maybe_time(wait.for_ns), style),
            Span::raw(at(&wait.place)),
        ]));
    }
    let more = moment.waiters(&lock.id).count().saturating_sub(MOST_WAITERS);
    if more > 0 {
        lines.push(Line::from(format!("  and {more} more threads")));
    }
    if lines.len() == before {
        lines.push(Line::from("  nobody"));
    }
    if !lock.sites.is_empty() {
        lines.extend([Line::default(), heading("TAKEN IN")]);
    }
    for (letter, site) in letters().zip(&lock.sites) {
        let how = if site.how.is_empty() { String::new() } else { format!("{}: ", site.how) };
        lines.push(Line::from(vec![
            Span::styled(format!("  {letter} "), palette.heading()),
            Span::styled(format!("{how}{}", shown(&site.place)), palette.name()),
        ]));
        lines.push(Line::from(format!(
            "      in all      {}",
            in_all(&site.totals, moment.is_measured)
        )));
        if let Some(rates) = site.rates.filter(|_| moment.interval_ns > 0) {
            lines.push(Line::from(format!(
                "      lately      {}",
                lately(&rates, moment.is_measured)
            )));
        }
        if !site.place.source.is_empty() {
            lines.push(Line::from(format!("      > {}", site.place.source)));
        }
        for caller in &site.place.callers {
            lines.push(Line::from(Span::styled(format!("      {caller}"), palette.faint())));
        }
    }
    if !lock.blame.is_empty() {
        lines.extend([Line::default(), heading("WAITS WERE FOR HOLDS BY")]);
    }
    let letter = |site: usize| letters().nth(site).unwrap_or('?');
    let all: f64 = lock.blame.iter().map(|blame| blame.ns).sum();
    for blame in lock.blame.iter().take(MOST_PAIRS) {
        let holder = blame.holder.map_or_else(
            || "nobody that is known: the waiter was being woken, or had no processor".to_owned(),
            |site| {
                let place = lock.sites.get(site).map_or_else(String::new, |it| shown(&it.place));
                format!("{} {place}", letter(site))
            },
        );
        lines.push(Line::from(format!(
            "  waits at {}: {:>5}% {:>7} in {:>5} waits: {holder}",
            letter(blame.waiter),
            percent(if all > 0.0 { blame.ns / all } else { 0.0 }),
            time(blame.ns),
            short(blame.count as f64),
        )));
    }
    if !lock.wakers.is_empty() {
        lines.extend([Line::default(), heading("WAITS ENDED")]);
    }
    for site in lock.wakers.iter().take(MOST_PAIRS) {
        lines.push(Line::from(vec![
            Span::raw(format!("  {} in ", site.how)),
            Span::styled(shown(&site.place), palette.name()),
            Span::raw(format!(": {}", in_all(&site.totals, moment.is_measured))),
        ]));
        for caller in &site.place.callers {
            lines.push(Line::from(Span::styled(format!("      {caller}"), palette.faint())));
        }
    }
    for advice in moment.advice.iter().filter(|advice| advice.lock == lock.id) {
        lines.extend([Line::default(), heading("ADVICE")]);
        lines.push(Line::from(format!("  {} (confidence {})", advice.text, advice.confidence)));
    }
    lines
}

/// The names of sites: as many as are kept of a lock.
fn letters() -> impl Iterator<Item = char> {
    ('A'..='Z').chain('a'..='z')
}

fn shown(place: &Place) -> String {
    match place.text.as_str() {
        "" => "an unknown place".to_owned(),
        text => text.to_owned(),
    }
}

fn at(place: &Place) -> String {
    match place.text.as_str() {
        "" => String::new(),
        text => format!(", in {text}"),
    }
}

fn in_all(totals: &Totals, is_measured: bool) -> String {
    let waited = format!("waited {}", time(totals.wait_ns));
    let longest = totals.longest_wait_ns;
    let longest =
        if longest > 0.0 { format!(" (longest {})", time(longest)) } else { String::new() };
    if !is_measured {
        let waits = match totals.contended {
            0 => String::new(),
            waits => format!(" in {} waits", short(waits as f64)),
        };
        return format!("{waited}{waits}{longest}");
    }
    let held = if totals.hold_ns > 0.0 {
        format!(", held {}", time(totals.hold_ns))
    } else {
        String::new()
    };
    format!(
        "acquired {}, contended {}, {waited}{longest}{held}",
        short(totals.acquisitions as f64),
        short(totals.contended as f64),
    )
}

fn lately(rates: &Rates, is_measured: bool) -> String {
    let waiting = format!("{} threads waiting on average", short(rates.waiting));
    if !is_measured {
        return waiting;
    }
    format!(
        "acquired {}/s, contended {}/s, {waiting}, held {}% of the time",
        short(rates.acquisitions),
        short(rates.contended),
        percent(rates.held),
    )
}
