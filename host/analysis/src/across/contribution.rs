//! Steps of a cycle, each as its own process tells it.

use super::processes::{Occurrence, Processes};
use crate::finding::order::several::Apart;
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy, cycle, several};
use crate::finding::{Details, Finding, Grade, Instances, Kind, LockInfo, Name, Origin, Step};
use crate::view::occurrence::{Acquisition, Level};
use crate::view::process_view::{InvolvedLocks, ProcessView};

/// A step as its own process tells it.
pub struct Contribution {
    /// The lock held, and the name of the one acquired.
    pub held: LockInfo,
    pub names: [Name; 2],
    pub step: Step,
    pub place: Option<String>,
    pub origin: Origin,
}

/// The steps of a cycle. Step `i` holds lock `i`.
pub fn told_all(all: &Processes<'_, '_>, level: Level, steps: &[Occurrence]) -> Vec<Contribution> {
    let mut told: Vec<Contribution> = steps.iter().map(|step| told(all, level, step)).collect();
    let n = told.len();
    for (i, told) in told.iter_mut().enumerate() {
        // Its own process knows of the two locks of this step only.
        told.step.lock = (i + 1) % n;
        for held in &mut told.step.held {
            held.lock = held.lock.filter(|&lock| lock == 0).map(|_| i);
        }
    }
    told
}

fn told(all: &Processes<'_, '_>, level: Level, occurrence: &Occurrence) -> Contribution {
    let model = &all.models[occurrence.ledger];
    let view = ProcessView { model, sources: all.sources, instances: Instances::Folded };
    let context = occurrence.context;
    let segment = model.trie.segments(context.acquired).first().copied().unwrap_or(0);
    let thread = model.order.thread(segment).unwrap_or(0);
    let refs = [context.held, context.acquired].map(|id| view.lock_of(id));
    let involved: InvolvedLocks = view.involved(level, refs.into());
    let step = view.step(&involved, &Acquisition { context, segment, thread }, 1);
    Contribution {
        held: involved.infos[0].clone(),
        names: [involved.names[0].clone(), involved.names[1].clone()],
        step,
        place: view.place(context.acquired),
        origin: all.origin(occurrence.ledger),
    }
}

/// The finding on a cycle of these steps.
pub fn finding(
    told: &[Contribution],
    grade: Grade,
    evidence: Vec<Evidence>,
    remedies: Vec<Remedy>,
) -> Finding {
    let fault = Fault::CycleAcross(apart(told));
    Finding {
        kind: Kind::CircularDependency,
        grade,
        details: Details::Order(OrderFault { fault, evidence, remedies }),
        locks: told.iter().map(|told| told.held.clone()).collect(),
        steps: told.iter().map(|told| told.step.clone()).collect(),
        pid: 0,
        process: None,
        origins: told.iter().map(|told| told.origin).collect(),
        confirmation: None,
        also: 0,
    }
}

/// What the steps were taken in, if not one.
fn apart(told: &[Contribution]) -> Apart {
    let several = told.iter().any(|other| other.origin.run != told[0].origin.run);
    if several { Apart::Runs } else { Apart::Processes }
}

/// What each process did.
pub fn taken(told: &[Contribution]) -> impl Iterator<Item = Evidence> {
    told.iter().enumerate().map(|(step, told)| {
        Evidence::Several(several::Evidence::TakenInProcess {
            step,
            acquired: told.names[1].clone(),
        })
    })
}

/// The runs, each with what the user called it, the first first.
pub fn runs(all: &Processes<'_, '_>, told: &[Contribution]) -> Vec<(usize, String)> {
    let mut runs: Vec<usize> = told.iter().map(|told| told.origin.run).collect();
    runs.sort_unstable();
    runs.dedup();
    runs.into_iter().map(|run| (run, all.runs[run - 1].name.clone())).collect()
}

/// Change the order of the last step.
pub fn take_before(told: &[Contribution]) -> Option<Remedy> {
    let last = told.last()?;
    let [second, first] = last.names.clone();
    Some(Remedy::Cycle(cycle::Remedy::TakeBefore { first, second, place: last.place.clone() }))
}
