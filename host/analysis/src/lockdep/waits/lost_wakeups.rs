//! Signals that a waiter may miss: what it waits for was changed without its mutex.
//!
//! A waiter looks at its predicate with the mutex held, and then waits, which gives the mutex up. A
//! thread that changes what the predicate looks at without ever taking that mutex may do so, and
//! signal, between the two; the signal finds nobody, and the waiter sleeps on. To signal after the
//! unlock is sound, and usual. So of each signal by a thread that did not hold the mutex the
//! question is whether the function that signals had taken it: itself, or what it calls, or one of
//! its callers. That is seen by the functions in the stacks of all acquisitions of the run. (A function
//! that signals as the last thing it does may jump there, and is on no stack then; but what it took
//! before was taken in the very call to which the signal returns. If that was recorded of another
//! call, the code of the calling function names the one that is not on the stack.)
//!
//! Nothing is said where that cannot be known (no symbols). If all waits on the condition variable have
//! a time limit, a lost signal costs time only: that is `untidy`. A function that changes
//! nothing before it signals is not told from one that does: so it is `possible` at most.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use lockwright_glibc::library::is_c_library;
use lockwright_ledger::rows::{Finding as Row, Node, finding_kind, mode};

use crate::finding::action::Action;
use crate::finding::misuse::LostWakeup;
use crate::finding::{Details, Finding, Frame, Grade, Kind, Name, Step, ThreadInfo};
use crate::model::{LockRef, Model};
use crate::symbolize::wrapper::own_frames;
use crate::view::candidate::Candidate;
use crate::view::occurrence::Level;
use crate::view::process_view::{InvolvedLocks, ProcessView};

/// Callers of the function that signals which may have taken the mutex.
const CALLERS: usize = 4;

/// The signals of one process that a waiter may miss.
pub(crate) fn find(view: &ProcessView<'_, '_>) -> Vec<Candidate> {
    let model = view.model;
    let rows: Vec<Row> = model
        .ledger
        .rows::<Row>()
        .map(|(_, row)| row)
        .filter(|row| row.kind == finding_kind::BARE_SIGNAL)
        .collect();
    let mut sections: HashMap<u32, Sections> = HashMap::new();
    let mut is_bare = |row: &Row| {
        let group = model.classes.group_of(row.class);
        let sections = sections.entry(group).or_insert_with(|| Sections::of(model, group));
        let jumped = || model.symbols.called_by_first(row.stack);
        !sections.has_any_of(own_frames(&model.symbols.stack(row.stack)))
            && !jumped().is_some_and(|by| sections.has_one_of(&by))
    };
    rows.into_iter().filter(|row| is_bare(row)).map(|row| candidate(view, &row)).collect()
}

/// Where a mutex is taken.
struct Sections {
    /// Stacks of its acquisitions, without wrappers.
    taken: Vec<Rc<[Frame]>>,
    /// Functions that wait with it: what they take it for may be that alone.
    waiters: BTreeSet<(String, String)>,
}

impl Sections {
    fn of(model: &Model<'_>, group: u32) -> Self {
        let is_it = |node: &Node| model.classes.group_of(node.class) == group;
        let (mut taken, mut waits) = (BTreeSet::new(), BTreeSet::new());
        for id in 1..model.trie.len() {
            let Some(node) = model.trie.node(id) else { continue };
            if node.class != 0 && is_it(node) && node.mode & mode::COND_REACQUIRE == 0 {
                taken.insert(node.stack);
            }
            if node.mode & mode::COND_WAIT != 0 && model.trie.held(id).any(|(_, by)| is_it(by)) {
                waits.insert(node.stack);
            }
        }
        let own = |stack: &u32| Rc::from(own_frames(&model.symbols.stack(*stack)));
        let waiter = |stack: &u32| function(own_frames(&model.symbols.stack(*stack)).first()?);
        Self {
            taken: taken.iter().map(own).collect(),
            waiters: waits.iter().filter_map(waiter).collect(),
        }
    }

    /// Whether the mutex was taken by the function that signals, or on its behalf. So it is, for
    /// all that is known, where the function has no name.
    fn has_any_of(&self, signal: &[Frame]) -> bool {
        let is_returned_to = |taken: &Rc<[Frame]>| {
            let place = |frame: &Frame| (frame.module.clone(), frame.offset);
            signal
                .first()
                .is_some_and(|first| taken.iter().skip(1).any(|frame| place(frame) == place(first)))
        };
        if self.taken.iter().any(is_returned_to) {
            return true;
        }
        let Some(signaller) = signal.first().and_then(function) else { return true };
        let callers: Vec<_> = signal[1..].iter().take(CALLERS).map(function).collect();
        let is_root = is_root(signal, 0);
        self.taken.iter().any(|taken| {
            let Some(taker) = taken.first().and_then(function) else { return true };
            let calls = |by: &(String, String), depth: usize| {
                taken.iter().take(depth).any(|frame| function(frame).as_ref() == Some(by))
            };
            // Nearly all that a thread does is called by its first function.
            calls(&signaller, if is_root { 1 } else { usize::MAX })
                || callers.iter().flatten().any(|caller| *caller == taker)
                || self.is_beside(signal, &taker, taken)
        })
    }

    /// Whether the mutex was taken in a call of the function.
    fn has_one_of(&self, by: &Frame) -> bool {
        let by = function(by);
        let is_it = |frame: &Frame| by.is_some() && function(frame) == by;
        self.taken.iter().any(|taken| taken.iter().any(is_it))
    }

    /// One function takes the mutex, and then another signals, both called by a third.
    fn is_beside(&self, signal: &[Frame], taker: &(String, String), taken: &[Frame]) -> bool {
        let Some(caller) = signal.get(1).and_then(function) else { return false };
        !is_root(signal, 1)
            && !self.waiters.contains(taker)
            && taken[1..].iter().any(|frame| function(frame).as_ref() == Some(&caller))
    }
}

/// Module and function of a frame.
pub(crate) fn function(frame: &Frame) -> Option<(String, String)> {
    Some((frame.module.clone().unwrap_or_default(), frame.function.clone()?))
}

/// Whether a frame is of the first function of its thread that is the program's, as the C library
/// called it; or of a function of the C library's that did so. Before glibc 2.34 one such function
/// is called by the program's `_start`, since then by another of the C library's.
fn is_root(stack: &[Frame], at: usize) -> bool {
    let is_of_c_library = |frame: &Frame| {
        let module = frame.module.as_deref().unwrap_or_default();
        module.rsplit('/').next().is_some_and(is_c_library)
    };
    stack.get(at).is_some_and(is_of_c_library) || stack.get(at + 1).is_none_or(is_of_c_library)
}

fn candidate(view: &ProcessView<'_, '_>, row: &Row) -> Candidate {
    let model = view.model;
    let lock = LockRef { class: row.class, inst: row.inst, row: 0 };
    let involved = view.involved(Level::Instance, vec![lock]);
    let waiter = (row.other_thread != 0).then(|| model.thread(row.other_thread));
    let is_timed = row.mode & mode::TIMED != 0;
    let signals = signals(view, &involved, row);
    let waits = waiter.clone().map(|thread| waits(model, thread, row.other_stack));
    let finding = Finding {
        kind: Kind::LostWakeup,
        grade: if is_timed { Grade::Untidy } else { Grade::Possible },
        details: Details::Misuse(
            LostWakeup::SignalledBare {
                is_timed,
                condvar: model.variable_at(row.addr).map(Name::symbol),
                waiter,
            }
            .into(),
        ),
        steps: std::iter::once(signals).chain(waits).collect(),
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: row.repeats,
        locks: involved.infos,
    };
    let key = format!("lost-wakeup\n{}\n{}", finding.locks[0].class.text, model.place(row.stack),);
    Candidate { finding, key, insts: Vec::new(), classes: Vec::new() }
}

/// The step of a thread that signals, as `row` has it.
pub(crate) fn signals(view: &ProcessView<'_, '_>, involved: &InvolvedLocks, row: &Row) -> Step {
    Step {
        thread: view.model.thread(row.thread),
        lock: 0,
        action: Action::Signals,
        held: view.held(involved, row.node),
        stack: view.model.stack(row.stack),
    }
}

/// The step of a thread that waits for a signal.
pub(crate) fn waits(model: &Model<'_>, thread: ThreadInfo, stack: u32) -> Step {
    let action = Action::WaitsOnCondition;
    Step { thread, lock: 0, action, held: Vec::new(), stack: model.stack(stack) }
}
