//! Waits at futexes with a lock kept, as for a future or a latch: a thread that has to end the wait may need that lock first.
//!
//! A row says that there was such a wait; what it was for, the names of functions say. Futexes of locks are not looked at here:
//! which thread has such a lock is not known. Nor are those of which too little is known.

use lockwright_ledger::rows::{Finding as Row, finding_kind, mode};

use crate::finding::futex::FutexKind;
use crate::symbolize::futexes;
use crate::view::process_view::ProcessView;

/// A wait, and the threads that may end it.
#[derive(Clone, Copy)]
pub struct FutexWait {
    /// The row, in the form of a wait for a semaphore.
    pub row: Row,
    pub kind: FutexKind,
    /// All that ends the wait comes to the futex.
    pub all_seen: bool,
}

/// Objects that have one purpose: each of their users either waits for an event or brings it about.
const OF_EVENTS: &[&str] = &[FUTURE, "std::latch"];
const FUTURE: &str = "std::future";

/// Objects of which more than is recorded may let a waiter go on.
const OF_MANY_USES: &[&str] = &[
    "std::barrier",
    "std::counting_semaphore",
    "std::atomic::wait",
    "std::sync::Condvar",
    "QSemaphore",
];

/// The wait of row `id`, if what it is for is known.
pub fn of(view: &ProcessView<'_, '_>, id: u32, row: &Row) -> Option<FutexWait> {
    if row.kind != finding_kind::FUTEX_HELD {
        return None;
    }
    let kind = futexes::kind_of(row.detail as u32, &view.model.stack(row.stack));
    let is_of = |table: &[&str]| kind.of.is_some_and(|of| table.contains(&of));
    let all_seen = is_of(OF_EVENTS);
    if !all_seen && (!is_of(OF_MANY_USES) || is_like_lock(view, id, row)) {
        return None;
    }
    // Each time that a thread sets a future it runs a routine once.
    let is_set_once = if kind.of == Some(FUTURE) { mode::ONCE } else { 0 };
    let mode = mode::FUTEX_WAIT | is_set_once;
    let row = Row { mode, class: 0, inst: 0, detail: row.addr, ..*row };
    Some(FutexWait { row, kind, all_seen })
}

/// Whether a thread both waits and wakes others there, as at a semaphore or an atomic variable that serves as a lock: what a
/// thread did before it took that says nothing.
fn is_like_lock(view: &ProcessView<'_, '_>, id: u32, row: &Row) -> bool {
    let there = || {
        let rows = view.model.ledger.rows::<Row>();
        rows.filter(move |&(at, ref it)| it.addr == row.addr && at >= id)
    };
    let waits = |thread: u32| {
        there().any(|(_, it)| (it.kind, it.thread) == (finding_kind::FUTEX_HELD, thread))
    };
    there().any(|(_, it)| it.kind == finding_kind::SIGNALLED && waits(it.thread))
}
