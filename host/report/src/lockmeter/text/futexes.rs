//! Waits for locks that are made of futexes: contention of locks whose acquisitions are not seen.

use super::Page;
use super::format::time;
use super::waits::{TITLES, cells, row};
use crate::prose::futexes::head;
use crate::prose::words::number;
use lockwright_analysis::lockmeter::model::{Futex, Wait};

/// Places named of those that woke the waiters of one futex.
const MOST_WAKERS: usize = 3;

/// Writes the section, if there are any.
pub fn write(page: &mut Page<'_>) {
    let waits: Vec<&Wait> = page.report.waits.iter().filter(|wait| wait.is_for_lock()).collect();
    if waits.is_empty() {
        return;
    }
    page.section("FUTEX LOCKS", ", whose waits are seen, but not their acquisitions nor holds");
    page.line(&row(&TITLES.map(str::to_owned)));
    let shown = if page.view.top == 0 { waits.len() } else { page.view.top };
    for wait in waits.iter().take(shown) {
        let Some(futex) = &wait.futex else { continue };
        page.line(&format!("{}: {}", head(futex), page.place(&wait.stack)));
        page.line(&row(&cells(wait)));
        write_wakers(page, futex);
    }
    if waits.len() > shown {
        page.line(&format!("... and {} more: --top 0 shows all", waits.len() - shown));
    }
}

/// Who ended the waits.
pub fn write_wakers(page: &mut Page<'_>, futex: &Futex) {
    for waker in futex.wakers.iter().take(MOST_WAKERS) {
        let place = page.place(&waker.stack);
        let waits = number(waker.count);
        page.line(&format!("     {waits} woken by {place}, after {} in all", time(waker.ns)));
    }
    if futex.wakers.len() > MOST_WAKERS {
        page.line(&format!("     and by {} more places", futex.wakers.len() - MOST_WAKERS));
    }
}
