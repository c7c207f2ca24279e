//! A cycle of several runs, as a finding.

use super::classes::Classes;
use super::judge::{Obstacle, Verdict};
use super::processes::{Occurrence, Processes};
use crate::finding::order::several::Apart;
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy, cycle, kept_apart, several};
use crate::finding::{Details, Finding, Grade, Instances, Kind, LockInfo, Name, Origin, Step};
use crate::view::occurrence::{Acquisition, Level};
use crate::view::process_view::{InvolvedLocks, ProcessView};

/// A step as its own process tells it.
struct Contribution {
    /// The lock held, and the name of the one acquired.
    held: LockInfo,
    names: [Name; 2],
    step: Step,
    place: Option<String>,
    origin: Origin,
}

/// The finding.
pub fn finding(all: &Processes<'_, '_>, classes: &Classes, verdict: &Verdict) -> Finding {
    let n = verdict.acquisitions.len();
    let mut told: Vec<Contribution> =
        verdict.acquisitions.iter().map(|acquisition| told(all, acquisition)).collect();
    for (i, told) in told.iter_mut().enumerate() {
        // Its own process knows of the two locks of this step only.
        told.step.lock = (i + 1) % n;
        for held in &mut told.step.held {
            held.lock = held.lock.filter(|&lock| lock == 0).map(|_| i);
        }
    }
    Finding {
        kind: Kind::CircularDependency,
        grade: match verdict.obstacle {
            // What was not looked at to the end is not excluded.
            _ if verdict.cut => Grade::Possible,
            Obstacle::None => Grade::Possible,
            Obstacle::Guard(..) => Grade::Guarded,
            Obstacle::New(_) => Grade::Ordered,
        },
        details: Details::Order(OrderFault {
            fault: Fault::CycleAcross(apart(&told)),
            evidence: evidence(all, classes, verdict, &told),
            remedies: remedies(all, verdict, &told),
        }),
        locks: told.iter().map(|told| told.held.clone()).collect(),
        steps: told.iter().map(|told| told.step.clone()).collect(),
        pid: 0,
        process: None,
        origins: told.iter().map(|told| told.origin).collect(),
        also: 0,
    }
}

/// What the steps were taken in, if not one.
fn apart(told: &[Contribution]) -> Apart {
    let several = told.iter().any(|other| other.origin.run != told[0].origin.run);
    if several { Apart::Runs } else { Apart::Processes }
}

fn told(all: &Processes<'_, '_>, occurrence: &Occurrence) -> Contribution {
    let model = &all.models[occurrence.ledger];
    let view = ProcessView { model, sources: all.sources, instances: Instances::Folded };
    let context = occurrence.context;
    let segment = model.trie.segments(context.acquired).first().copied().unwrap_or(0);
    let thread = model.order.thread(segment).unwrap_or(0);
    let refs = [context.held, context.acquired].map(|id| view.lock_of(id));
    let involved: InvolvedLocks = view.involved(Level::Class, refs.into());
    let step = view.step(&involved, &Acquisition { context, segment, thread }, 1);
    Contribution {
        held: involved.infos[0].clone(),
        names: [involved.names[0].clone(), involved.names[1].clone()],
        step,
        place: view.place(context.acquired),
        origin: all.origin(occurrence.ledger),
    }
}

fn evidence(
    all: &Processes<'_, '_>,
    classes: &Classes,
    verdict: &Verdict,
    told: &[Contribution],
) -> Vec<Evidence> {
    let mut evidence = vec![Evidence::Several(several::Evidence::NoProcessAlone)];
    evidence.extend(told.iter().enumerate().map(|(step, told)| {
        Evidence::Several(several::Evidence::TakenInProcess {
            step,
            acquired: told.names[1].clone(),
        })
    }));
    evidence.push(match verdict.obstacle {
        Obstacle::None if are_single(all, classes, verdict) => {
            Evidence::Several(several::Evidence::Variables)
        }
        Obstacle::None => Evidence::Several(several::Evidence::NotComparable),
        Obstacle::Guard(i, j, node) => Evidence::Several(several::Evidence::GateOfAProcess {
            steps: [i, j],
            gate: gate(all, verdict, i, node),
        }),
        Obstacle::New(step) => Evidence::Several(several::Evidence::NewInProcess { step }),
    });
    evidence.push(Evidence::Several(several::Evidence::Runs(runs(all, told))));
    evidence.extend(verdict.cut.then_some(Evidence::Several(several::Evidence::PlacesCut)));
    let by_name = verdict.acquisitions.iter().any(|acquisition| {
        let model = &all.models[acquisition.ledger];
        let class = model.trie.node(acquisition.context.held);
        let class = class.and_then(|node| classes.lock(acquisition.ledger, model, node));
        class.is_some_and(|class| classes.is_by_name(class))
    });
    evidence.extend(by_name.then_some(Evidence::Several(several::Evidence::DifferentBuilds)));
    evidence
}

/// The name of the lock of `node` in the process of a step.
fn gate(all: &Processes<'_, '_>, verdict: &Verdict, step: usize, node: u32) -> Name {
    let model = &all.models[verdict.acquisitions[step].ledger];
    let view = ProcessView { model, sources: all.sources, instances: Instances::Folded };
    model.name(view.lock_of(node))
}

/// Whether all locks of a cycle are variables: then they are the same ones in a process that takes
/// several of the steps.
fn are_single(all: &Processes<'_, '_>, classes: &Classes, verdict: &Verdict) -> bool {
    verdict.acquisitions.iter().all(|acquisition| {
        let model = &all.models[acquisition.ledger];
        let held = model.trie.node(acquisition.context.held);
        let class = held.and_then(|node| classes.lock(acquisition.ledger, model, node));
        class.is_some_and(|class| classes.is_single(class))
    })
}

/// The runs, each with what the user called it, the first first.
fn runs(all: &Processes<'_, '_>, told: &[Contribution]) -> Vec<(usize, String)> {
    let mut runs: Vec<usize> = told.iter().map(|told| told.origin.run).collect();
    runs.sort_unstable();
    runs.dedup();
    runs.into_iter().map(|run| (run, all.runs[run - 1].name.clone())).collect()
}

fn remedies(all: &Processes<'_, '_>, verdict: &Verdict, told: &[Contribution]) -> Vec<Remedy> {
    match verdict.obstacle {
        Obstacle::Guard(i, _, node) => {
            return vec![Remedy::KeptApart(kept_apart::Remedy::KeepGate(gate(
                all, verdict, i, node,
            )))];
        }
        Obstacle::New(i) => {
            return vec![Remedy::KeptApart(kept_apart::Remedy::KeepNew(told[i].names[0].clone()))];
        }
        Obstacle::None => {}
    }
    let Some(last) = told.last() else { return Vec::new() };
    let [second, first] = last.names.clone();
    vec![
        Remedy::Cycle(cycle::Remedy::TakeBefore { first, second, place: last.place.clone() }),
        Remedy::KeepApart,
    ]
}
