//! Who ended the waits on a futex.

use super::format::time;
use super::page::Page;
use crate::prose::words::number;
use lockwright_analysis::lockmeter::model::Futex;

/// Places named of those that woke the waiters of one futex.
const MOST_WAKERS: usize = 3;

/// Who ended the waits.
pub fn write(page: &mut Page<'_>, futex: &Futex) {
    for waker in futex.wakers.iter().take(MOST_WAKERS) {
        let place = page.place(&waker.stack);
        let waits = number(waker.count);
        page.line(&format!("     {waits} woken by {place}, after {} in all", time(waker.ns)));
    }
    if futex.wakers.len() > MOST_WAKERS {
        page.line(&format!("     and by {} more places", futex.wakers.len() - MOST_WAKERS));
    }
}
