//! A cycle of several runs, as a finding.

use super::classes::Classes;
use super::judge::{Obstacle, Verdict};
use crate::across::contribution::{self, Contribution, runs, take_before, taken, told_all};
use crate::across::processes::Processes;
use crate::finding::order::{Evidence, Remedy, kept_apart, several};
use crate::finding::{Finding, Grade, Instances, Name};
use crate::view::occurrence::Level;
use crate::view::process_view::ProcessView;

/// The finding.
pub fn finding(all: &Processes<'_, '_>, classes: &Classes, verdict: &Verdict) -> Finding {
    let told = told_all(all, Level::Class, &verdict.acquisitions);
    let grade = match verdict.obstacle {
        // What was not looked at to the end is not excluded.
        _ if verdict.cut => Grade::Possible,
        Obstacle::None => Grade::Possible,
        Obstacle::Guard(..) => Grade::Guarded,
        Obstacle::New(_) => Grade::Ordered,
    };
    let evidence = evidence(all, classes, verdict, &told);
    contribution::finding(&told, grade, evidence, remedies(all, verdict, &told))
}

fn evidence(
    all: &Processes<'_, '_>,
    classes: &Classes,
    verdict: &Verdict,
    told: &[Contribution],
) -> Vec<Evidence> {
    let mut evidence = vec![Evidence::Several(several::Evidence::NoProcessAlone)];
    evidence.extend(taken(told));
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
    take_before(told).into_iter().chain([Remedy::KeepApart]).collect()
}
