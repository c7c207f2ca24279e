//! The finders of one process's findings, in the order of their precedence.
//!
//! The same thing is reported once: what is seen of instances goes before what is seen of classes,
//! and what happened before what might. So a finder may give way to those before it in the list.

use std::collections::HashSet;

use crate::debugobjects;
use crate::finding::action::Action;
use crate::finding::coverage::Note;
use crate::finding::{Finding, Grade, Kind, Step, ThreadInfo};
use crate::lockdep::misuse::{self, atomic_sleep, callbacks};
use crate::lockdep::orders::{barriers, circular, deadlocks, declared, nesting, signals};
use crate::lockdep::waits::{lost_wakeups, taken_signals};
use crate::progress::Progress;
use crate::view::candidate::Candidate;
use crate::view::occurrence::Level;
use crate::view::process_view::ProcessView;

/// A source of findings.
struct Finder {
    find: fn(&mut Search<'_, '_, '_>) -> Vec<Candidate>,
    gives_way: GivesWay,
}

/// What a finder does not repeat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GivesWay {
    /// It gives way to none: no other finds the same.
    Never,
    /// A deadlock of the same locks that did happen.
    ToDeadlocks,
    /// A finding about instances that says as much, and what the nesting of locks has judged.
    ToInstances,
}

/// All finders, those that go before others first.
const FINDERS: &[Finder] = &[
    // What happened.
    Finder { find: happened, gives_way: GivesWay::Never },
    // What is seen of instances.
    Finder { find: |search| cycles(search, Level::Instance), gives_way: GivesWay::ToDeadlocks },
    Finder {
        find: |search| signals::find(search.view, search.notes),
        gives_way: GivesWay::ToDeadlocks,
    },
    Finder { find: nested, gives_way: GivesWay::ToDeadlocks },
    // What is seen of classes.
    Finder { find: |search| cycles(search, Level::Class), gives_way: GivesWay::ToInstances },
    // After all cycles: it adds to their evidence the declared orders that they break.
    Finder {
        find: |search| declared::find(search.view, &mut search.found, search.notes),
        gives_way: GivesWay::Never,
    },
    // Faults that are in no cycle.
    Finder { find: |search| misuse::find(search.view), gives_way: GivesWay::Never },
    Finder { find: |search| callbacks::find(search.view), gives_way: GivesWay::Never },
    Finder { find: |search| lost_wakeups::find(search.view), gives_way: GivesWay::Never },
    Finder { find: |search| taken_signals::find(search.view), gives_way: GivesWay::Never },
    Finder {
        find: |search| barriers::find(search.view, search.notes),
        gives_way: GivesWay::ToDeadlocks,
    },
    Finder { find: |search| atomic_sleep::find(search.view), gives_way: GivesWay::Never },
    Finder { find: |search| debugobjects::find(search.view), gives_way: GivesWay::Never },
];

/// Deadlocks that threads were in.
fn happened(search: &mut Search<'_, '_, '_>) -> Vec<Candidate> {
    let found = deadlocks::find(search.view);
    let met = |candidate: &Candidate| (candidate.finding.kind, candidate.insts.clone());
    search.deadlocks = found.iter().map(met).collect();
    found
}

/// Cycles of locks, or of their classes.
fn cycles(search: &mut Search<'_, '_, '_>, level: Level) -> Vec<Candidate> {
    circular::find(search.view, level, search.progress, search.notes)
}

/// Locks of one class that are nested. What has been found so far is about orders of instances.
fn nested(search: &mut Search<'_, '_, '_>) -> Vec<Candidate> {
    let nested = nesting::find(search.view, &search.found, search.notes);
    search.of_instances = search.found.len();
    search.judged = nested.judged;
    nested.candidates
}

/// The findings of one process, and notes on searches that were cut short.
pub fn find_all(
    view: &ProcessView<'_, '_>,
    progress: &dyn Progress,
    notes: &mut Vec<Note>,
) -> Vec<Candidate> {
    let mut search = Search {
        view,
        progress,
        notes,
        found: Vec::new(),
        deadlocks: HashSet::new(),
        of_instances: 0,
        judged: Vec::new(),
    };
    for finder in FINDERS {
        let mut found = (finder.find)(&mut search);
        found.retain(|candidate| !search.repeats(finder.gives_way, candidate));
        search.found.extend(found);
    }
    leave_to_leaks(&mut search.found);
    leave_to_deadlocks(&mut search.found);
    search.found
}

/// Takes out locks that may have been leaked, where their thread has come to a deadlock with others: so it never came to unlock
/// them.
fn leave_to_deadlocks(found: &mut Vec<Candidate>) {
    let is_cycle = |finding: &&Finding| {
        finding.grade == Grade::Deadlocked && finding.kind == Kind::CircularDependency
    };
    let cycles = found.iter().map(|candidate| &candidate.finding).filter(is_cycle);
    let stuck: Vec<ThreadInfo> =
        cycles.flat_map(|finding| finding.steps.iter().map(|step| step.thread.clone())).collect();
    found.retain(|Candidate { finding, .. }| {
        let is_stuck = finding.steps.first().is_some_and(|step| stuck.contains(&step.thread));
        finding.kind != Kind::LeakedLock || finding.grade == Grade::Likely || !is_stuck
    });
}

/// Takes out joins with a lock held that was never to be held there: the same thread has leaked it, which is the fault.
fn leave_to_leaks(found: &mut Vec<Candidate>) {
    let leaked = |candidate: &Candidate| {
        let Finding { kind, grade, locks, steps, .. } = &candidate.finding;
        let (addr, thread) = (locks.first()?.addr?, steps.first()?.thread.clone());
        (*kind == Kind::LeakedLock).then_some((*grade, addr, thread))
    };
    let leaks: Vec<_> = found.iter().filter_map(leaked).collect();
    found.retain(|candidate| {
        let Finding { kind, grade, locks, steps, .. } = &candidate.finding;
        let joins = |thread: &ThreadInfo| {
            let is_join = |step: &Step| matches!(step.action, Action::WaitsForEnd { .. });
            steps.iter().any(|step| is_join(step) && step.thread == *thread)
        };
        *kind != Kind::JoinWithLockHeld
            || !leaks.iter().any(|(of_leak, addr, thread)| {
                of_leak <= grade && locks.iter().any(|it| it.addr == Some(*addr)) && joins(thread)
            })
    });
}

/// A kind of finding, and the instances that it is about.
type Met = (Kind, Vec<u32>);

/// A search under way.
struct Search<'s, 'm, 'a> {
    view: &'s ProcessView<'m, 'a>,
    progress: &'s dyn Progress,
    notes: &'s mut Vec<Note>,
    /// By the finders so far.
    found: Vec<Candidate>,
    /// Deadlocks that happened.
    deadlocks: HashSet<Met>,
    /// How many of `found` are about orders of instances.
    of_instances: usize,
    /// Sets of classes whose nesting is judged.
    judged: Vec<Vec<u32>>,
}

impl Search<'_, '_, '_> {
    /// Whether a finder that `gives_way` leaves this candidate to those before it.
    fn repeats(&self, gives_way: GivesWay, candidate: &Candidate) -> bool {
        match gives_way {
            GivesWay::Never => false,
            GivesWay::ToDeadlocks => self.has_happened(candidate),
            GivesWay::ToInstances => self.is_explained(candidate) || self.is_judged(candidate),
        }
    }

    fn has_happened(&self, candidate: &Candidate) -> bool {
        let met = |kind| self.deadlocks.contains(&(kind, candidate.insts.clone()));
        // A handler that takes its thread's lock again is reported as InconsistentState only.
        let again = candidate.finding.kind == Kind::RecursiveLocking;
        met(candidate.finding.kind) || again && met(Kind::InconsistentState)
    }

    fn is_explained(&self, Candidate { finding, classes, .. }: &Candidate) -> bool {
        let of_instances = &self.found[..self.of_instances];
        of_instances.iter().any(|by| by.explains(finding.kind, classes, finding.grade))
    }

    fn is_judged(&self, candidate: &Candidate) -> bool {
        self.judged.iter().any(|set| candidate.classes.iter().all(|class| set.contains(class)))
    }
}
