//! Signals that the wrong one of several kinds of waiters takes.
//!
//! Threads that wait for different things on one condition variable need a broadcast: a signal wakes
//! one of them, perhaps the wrong one. The run shows that a thread was woken, did nothing and waits
//! again, while another waits in another function. By itself that is no fault. If threads wait for
//! the same thing in two functions, one is woken for nothing whenever a third thread comes first.
//! So it is reported only if one of these functions also signals that condition variable. Then its
//! threads and the waiters are of different kinds, as those that wait for room in a queue and those
//! that wait for entries. What a thread waits for is not seen: `possible` at most.

use lockwright_ledger::rows::{Finding as Row, finding_kind};

use super::lost_wakeups::{function, signals, waits};
use crate::finding::misuse::LostWakeup;
use crate::finding::{Details, Finding, Grade, Kind, Name};
use crate::model::{LockRef, Model};
use crate::symbolize::wrapper::own_frames;
use crate::view::candidate::Candidate;
use crate::view::occurrence::Level;
use crate::view::process_view::ProcessView;

/// Frames of a signal's stack, wrappers not counted, that may be of a function that waits: it may
/// signal by a helper.
const SIGNALLERS: usize = 3;

/// The signals of one process that were taken so.
pub(crate) fn find(view: &ProcessView<'_, '_>) -> Vec<Candidate> {
    let model = view.model;
    let of_kind = |kind| {
        let rows = model.ledger.rows::<Row>().map(|(_, row)| row);
        rows.filter(move |row| row.kind == kind)
    };
    let taken = of_kind(finding_kind::TAKEN_SIGNAL);
    let told = taken.filter_map(|row| {
        let group = model.classes.group_of(row.class);
        let mut places = of_kind(finding_kind::SIGNAL_PLACE)
            .filter(|place| model.classes.group_of(place.class) == group);
        let signal = places.find(|place| is_by_waiter(model, place, &row))?;
        Some(candidate(view, &row, &signal))
    });
    told.collect()
}

/// The two wait in different functions, of which one signals.
fn is_by_waiter(model: &Model<'_>, signal: &Row, taken: &Row) -> bool {
    let functions = |stack: u32, most: usize| -> Vec<(String, String)> {
        let frames = model.symbols.stack(stack);
        own_frames(&frames).iter().take(most).filter_map(function).collect()
    };
    let waiters = [taken.stack, taken.other_stack].map(|stack| functions(stack, 1));
    let [[one], [other]] = &waiters.each_ref().map(Vec::as_slice) else { return false };
    one != other && functions(signal.stack, SIGNALLERS).iter().any(|by| by == one || by == other)
}

fn candidate(view: &ProcessView<'_, '_>, row: &Row, signal: &Row) -> Candidate {
    let model = view.model;
    let lock = LockRef { class: row.class, inst: row.inst, row: 0 };
    let involved = view.involved(Level::Instance, vec![lock]);
    let [taker, waiter] = [row.thread, row.other_thread].map(|thread| model.thread(thread));
    let steps = vec![
        waits(model, taker.clone(), row.stack),
        waits(model, waiter.clone(), row.other_stack),
        signals(view, &involved, signal),
    ];
    let finding = Finding {
        kind: Kind::LostWakeup,
        grade: Grade::Possible,
        details: Details::Misuse(
            LostWakeup::SignalTaken {
                condvar: model.variable_at(row.addr).map(Name::symbol),
                taker,
                waiter,
            }
            .into(),
        ),
        steps,
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: row.repeats,
        locks: involved.infos,
    };
    // Whichever of the two was woken.
    let mut places = [row.stack, row.other_stack].map(|stack| model.place(stack));
    places.sort();
    let key = format!("taken-signal\n{}\n{}", finding.locks[0].class.text, places.join("\n"));
    Candidate { finding, key, insts: Vec::new(), classes: Vec::new() }
}
