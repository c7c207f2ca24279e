//! Deadlocks that the engine saw as they happened: threads that wait in a cycle, and one that waits
//! for itself.

use std::collections::HashSet;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::object::object_type;
use lockwright_ledger::rows::{
    Finding as Row, Step as StepRow, Thread, finding_kind, lock_kind, mode, thread_state,
};

use super::signals;
use crate::finding::action::Action;
use crate::finding::lock_kind::Subject;
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy, again, deadlock, once};
use crate::finding::{Details, Finding, Grade, Kind, LockInfo, LockOrigin, Name, Step};
use crate::model::{LockRef, Model};
use crate::view::candidate::{Candidate, ring};
use crate::view::occurrence::Level;
use crate::view::process_view::ProcessView;

/// Threads of one cycle that are looked at; more mean a damaged ledger.
const MOST_STEPS: u32 = 65_536;

/// The findings of one process that were met online.
pub fn find(view: &ProcessView<'_, '_>) -> Vec<Candidate> {
    let mut cycles = HashSet::new();
    let mut candidates = Vec::new();
    for (_, row) in view.model.ledger.rows::<Row>() {
        if has_ended(view.model.ledger, &row) {
            continue;
        }
        match row.kind {
            finding_kind::DEADLOCK => {
                let steps = steps(view, &row);
                let waits: Vec<_> = steps.iter().map(|s| (s.thread, s.addr, s.inst)).collect();
                // A semaphore that proved to be no lock after all closes none.
                let was_lock = |step: &StepRow| !view.model.is_handed_over(step.inst);
                // Several threads may have seen the cycle close.
                if !steps.is_empty() && steps.iter().all(was_lock) && cycles.insert(ring(&waits)) {
                    candidates.push(deadlock(view, &row, &steps));
                }
            }
            finding_kind::SELF_DEADLOCK => candidates.push(self_deadlock(view, &row)),
            _ => {}
        }
    }
    candidates
}

/// One of the waits of a deadlock has ended: it was none, or somebody has resolved it.
fn has_ended(ledger: &Ledger, row: &Row) -> bool {
    if !matches!(row.kind, finding_kind::DEADLOCK | finding_kind::SELF_DEADLOCK) {
        return false;
    }
    let last = row.first_step.saturating_add(row.steps.min(MOST_STEPS));
    (row.first_step..last).filter_map(|id| ledger.get::<StepRow>(id)).any(|step| {
        ledger.get::<Thread>(step.thread).is_some_and(|thread| {
            thread.state != thread_state::LIVE || thread.wait_seq != step.wait_seq
        })
    })
}

/// Instances of locks that a thread waited for while it held them itself, and whose wait has ended:
/// taking such a lock again is no deadlock.
pub fn let_in_again(ledger: &Ledger) -> HashSet<u32> {
    let rows = ledger.rows::<Row>().map(|(_, row)| row);
    rows.filter(|row| row.kind == finding_kind::SELF_DEADLOCK && has_ended(ledger, row))
        .map(|row| row.inst)
        .collect()
}

/// The steps of a cycle from that of its oldest thread on: who closed it is chance.
fn steps(view: &ProcessView<'_, '_>, row: &Row) -> Vec<StepRow> {
    let last = row.first_step.saturating_add(row.steps.min(MOST_STEPS));
    let ids = row.first_step..last;
    let mut steps: Vec<_> = ids.map_while(|id| view.model.ledger.get::<StepRow>(id)).collect();
    let number = |&i: &usize| view.model.number(steps[i].thread);
    let oldest = (0..steps.len()).min_by_key(number).unwrap_or(0);
    steps.rotate_left(oldest);
    steps
}

fn lock_of(step: &StepRow) -> LockRef {
    LockRef { class: step.class, inst: step.inst, row: 0 }
}

fn is_join(step: &StepRow) -> bool {
    step.mode & u32::from(mode::JOIN) != 0
}

fn is_barrier(step: &StepRow) -> bool {
    step.mode & u32::from(mode::BARRIER) != 0
}

/// The barrier at an address.
pub(crate) fn barrier(model: &Model<'_>, addr: u64) -> (Name, LockInfo) {
    let name = match model.variable_at(addr) {
        Some(symbol) => Name::symbol(symbol),
        None => Name::description(format!("barrier at {addr:#x}")),
    };
    let info = LockInfo {
        name: name.clone(),
        class: name.clone(),
        class_by_place: None,
        kind: Subject::Object(object_type::BARRIER),
        addr: Some(addr),
        created: Vec::new(),
        origin: LockOrigin::Unknown,
    };
    (name, info)
}

fn deadlock(view: &ProcessView<'_, '_>, row: &Row, steps: &[StepRow]) -> Candidate {
    let model = view.model;
    let n = steps.len();
    let refs: Vec<LockRef> = steps.iter().map(lock_of).collect();
    let is_lock = |step: &&StepRow| !is_join(step) && !is_barrier(step);
    let locks: Vec<LockRef> = steps.iter().filter(is_lock).map(lock_of).collect();
    let ends = steps.iter().filter(|step| is_join(step)).filter_map(|step| {
        let class = model.trie.end_class(step.addr as u32)?;
        Some(LockRef { class, ..LockRef::default() })
    });
    let classes = view.classes(&locks.iter().copied().chain(ends).collect::<Vec<_>>());
    let mut insts: Vec<u32> = locks.iter().map(|lock| lock.inst).collect();
    insts.sort_unstable();
    let mut involved = view.involved(Level::Instance, refs);
    for (i, step) in steps.iter().enumerate().filter(|(_, step)| is_join(step)) {
        let name = format!("end of {}", model.thread(step.addr as u32));
        let name = Name::description(name);
        involved.names[i] = name.clone();
        involved.infos[i] = LockInfo {
            class: name.clone(),
            class_by_place: None,
            name,
            kind: Subject::Thread,
            addr: None,
            created: Vec::new(),
            origin: LockOrigin::Static,
        };
    }
    for (i, step) in steps.iter().enumerate().filter(|(_, step)| is_barrier(step)) {
        (involved.names[i], involved.infos[i]) = barrier(model, step.addr);
    }
    let evidence = (0..n)
        .map(|step| match is_join(&steps[step]) {
            true => Evidence::Deadlock(deadlock::Evidence::WaitsForEnd { step }),
            false if is_barrier(&steps[step]) => {
                Evidence::Deadlock(deadlock::Evidence::WaitsAtBarrier { step })
            }
            // A writer in the queue keeps a reader waiting without holding the lock itself.
            false if steps[(step + 1) % n].wanted == 0 => {
                Evidence::Deadlock(deadlock::Evidence::WaitsBehindWriter { step })
            }
            false => Evidence::Deadlock(deadlock::Evidence::WaitsForHolder { step }),
        })
        .collect();
    let reported: Vec<Step> = steps
        .iter()
        .enumerate()
        .map(|(i, step)| Step {
            thread: model.thread(step.thread),
            lock: i,
            action: match is_join(step) {
                true => Action::WaitsForEnd { timed: false },
                false => Action::waits(step.mode as u16),
            },
            held: view.held(&involved, step.held),
            stack: model.stack(step.stack),
        })
        .collect();
    let signatures: Vec<String> = steps
        .iter()
        .enumerate()
        .map(|(i, step)| {
            let before = &steps[(i + n - 1) % n];
            let held = model.trie.node(step.wanted).map_or(0, |node| node.stack);
            let name = |step: &StepRow| {
                let group = model.classes.group_of(step.class);
                match () {
                    () if is_join(step) => "join",
                    () if is_barrier(step) => "barrier",
                    () => &model.classes.group(group).name,
                }
            };
            format!(
                "{}\t{}\t{}\t{}",
                name(before),
                model.place(held),
                name(step),
                model.place(step.stack)
            )
        })
        .collect();
    let finding = Finding {
        kind: match n {
            2 if steps.iter().any(is_join) && !steps.iter().any(is_barrier) => {
                Kind::JoinWithLockHeld
            }
            _ => Kind::CircularDependency,
        },
        grade: Grade::Deadlocked,
        details: Details::Order(OrderFault {
            fault: Fault::Deadlock,
            evidence,
            remedies: vec![match steps.iter().position(is_barrier) {
                Some(barrier) if n == 2 && !steps.iter().all(is_barrier) => {
                    Remedy::MeetWithoutLock { barrier, step: 1 - barrier }
                }
                _ => of_routines(view.model, steps).unwrap_or(Remedy::OneOrder),
            }],
        }),
        steps: reported,
        locks: involved.infos,
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: row.repeats,
    };
    let key = format!("circular\n{}", ring(&signatures).join("\n"));
    Candidate { finding, key, insts, classes }
}

/// What helps where a thread waits for a routine of `pthread_once` that waits itself.
fn of_routines(model: &Model<'_>, steps: &[StepRow]) -> Option<Remedy> {
    let n = steps.len();
    let is_lock = |i: usize| !is_join(&steps[i % n]) && !is_barrier(&steps[i % n]);
    let is_control =
        |i: usize| is_lock(i) && model.classes.kind(steps[i % n].class) == lock_kind::ONCE;
    if (0..n).all(is_control) {
        return Some(Remedy::Once(once::Remedy::KeepRoutinesApart));
    }
    // The lock of a step is held by the next: the one before is held at the call, and the one
    // behind is what the routine waits for.
    let is_between = |&i: &usize| {
        is_control(i)
            && [i + n - 1, i + 1].into_iter().all(|beside| is_lock(beside) && !is_control(beside))
    };
    (0..n).find(is_between).map(|once| Remedy::Once(once::Remedy::InitialiseWithoutLock { once }))
}

fn self_deadlock(view: &ProcessView<'_, '_>, row: &Row) -> Candidate {
    let model = view.model;
    let lock = LockRef { class: row.class, inst: row.inst, row: 0 };
    let involved = view.involved(Level::Instance, vec![lock]);
    let thread = model.thread(row.thread);
    let first = view.path(row.node).find(|(_, node)| node.inst == row.inst);
    let first = first.map_or(0, |(_, node)| node.stack);
    let key = format!(
        "recursive\n{}\t{}\t{}",
        involved.infos[0].class.text,
        model.place(first),
        model.place(row.stack)
    );
    let mut evidence = vec![Evidence::Deadlock(deadlock::Evidence::WaitsForItself)];
    let (kind, fault, remedies) = match signals::handler_of(view.model, row) {
        Some(signal) => {
            evidence.push(Evidence::Deadlock(deadlock::Evidence::HolderInterrupted { signal }));
            let fault = Fault::Again(again::Fault::TakenAgainInHandler { signal });
            (Kind::InconsistentState, fault, signals::remedies(signal, 0))
        }
        None => {
            let remedy = match model.classes.kind(row.class) {
                lock_kind::ONCE => Remedy::Once(once::Remedy::KeepOutOfRoutine),
                _ => Remedy::SplitFunction,
            };
            (Kind::RecursiveLocking, Fault::Again(again::Fault::TakenAgain), vec![remedy])
        }
    };
    let finding = Finding {
        kind,
        grade: Grade::Deadlocked,
        details: Details::Order(OrderFault { fault, evidence, remedies }),
        steps: vec![Step {
            thread,
            lock: 0,
            action: Action::waits(row.mode),
            held: view.held(&involved, row.node),
            stack: model.stack(row.stack),
        }],
        locks: involved.infos,
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: row.repeats,
    };
    Candidate { finding, key, insts: vec![row.inst], classes: view.classes(&[lock]) }
}
