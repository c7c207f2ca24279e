//! Who ended the waits on a condition or futex.

use super::format::time;
use super::page::Page;
use crate::prose::wakers::{calls, in_vain};
use crate::prose::words::number;
use lockwright_analysis::lockmeter::model::Wait;

/// Places named of those that woke the waiters of one futex or condition.
const MOST_WAKERS: usize = 3;

/// Who ended the waits.
pub fn write(page: &mut Page<'_>, wait: &Wait) {
    for waker in wait.wakers.iter().take(MOST_WAKERS) {
        let (place, waits) = (page.place(&waker.stack), number(waker.count));
        let (calls, in_vain) = (calls(waker), in_vain(waker));
        page.line(&format!(
            "     {waits} woken by {calls}{place}{in_vain}, after {} in all",
            time(waker.ns)
        ));
    }
    if wait.wakers.is_empty() && wait.in_vain > 0 {
        page.line(&format!(
            "     {} more sleeps: woken in vain, as another thread took it",
            number(wait.in_vain)
        ));
    }
    if wait.wakers.len() > MOST_WAKERS {
        page.line(&format!("     and by {} more places", wait.wakers.len() - MOST_WAKERS));
    }
}
