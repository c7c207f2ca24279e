//! Waits for locks that are made of futexes: contention of locks whose acquisitions are not seen.

use super::page::Page;
use super::waits::{TITLES, cells, row};
use super::wakers;
use crate::prose::futexes::head;
use lockwright_analysis::lockmeter::model::Wait;

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
        wakers::write(page, wait);
    }
    if waits.len() > shown {
        page.line(&format!("... and {} more: --top 0 shows all", waits.len() - shown));
    }
}
