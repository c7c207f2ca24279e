//! Waits at futexes with locks held: for a future, a latch, a semaphore of C++20. A thread that needs such a lock before it
//! sets the future, or counts the latch down, never does. Where a thread that woke the waiter has taken such a lock before, that is
//! a finding ([`misuse`]). Which others may do so is not known: so the rest is no finding, but a note on where to look.

use lockwright_ledger::rows::{Finding as Row, finding_kind};

use crate::finding::coverage::{FutexHeld, Note};
use crate::finding::futex::FutexUse;
use crate::lockdep::misuse;
use crate::model::{place_of, short_place};
use crate::symbolize::futexes;
use crate::view::process_view::{ProcessView, reference};

/// The note on a process, if it had such waits. Those for locks of others are none: which locks these are, and that their
/// order is not seen, the notes on hidden locks say.
pub fn note(view: &ProcessView<'_, '_>) -> Option<Note> {
    let rows = view.model.ledger.rows::<Row>();
    let mut waits: Vec<FutexHeld> = Vec::new();
    let told = misuse::waits_at_futexes(view);
    let is_meant =
        |(id, row): &(u32, Row)| row.kind == finding_kind::FUTEX_HELD && !told.contains(id);
    for (_, row) in rows.filter(is_meant) {
        let stack = view.model.stack(row.stack);
        let kind = futexes::kind_of(row.detail as u32, &stack);
        if kind.used_as == FutexUse::Lock {
            continue;
        }
        let folded = futexes::folded(&stack);
        let place = place_of(&folded).map_or_else(|| "unknown".to_owned(), short_place);
        if waits.iter().any(|known| (known.kind, &known.place) == (kind, &place)) {
            continue;
        }
        let held = view.path(row.node).map(|(_, node)| node);
        let held = held.filter(|node| !view.model.classes.is_thread_end(node.class));
        let mut locks: Vec<_> = held.map(|node| view.model.name(reference(&node))).collect();
        locks.reverse();
        waits.push(FutexHeld { kind, place, locks });
    }
    waits.sort_by(|a, b| (&a.place, a.kind).cmp(&(&b.place, b.kind)));
    (!waits.is_empty()).then_some(Note::WaitedWithLocks(waits))
}
