//! A cycle of locks that processes share, as a finding.

use super::contribution::{Contribution, finding, runs, take_before, taken, told_all};
use super::processes::{Occurrence, Processes};
use super::search::{Cycle, Doubt};
use crate::finding::order::{Evidence, several};
use crate::finding::{Grade, Instances, Name};
use crate::view::candidate::{Candidate, ring};
use crate::view::occurrence::Level;
use crate::view::process_view::ProcessView;

/// The finding.
pub fn candidate(all: &Processes<'_, '_>, cycle: &Cycle) -> Candidate {
    let mut told = told_all(all, Level::Instance, &cycle.acquisitions);
    give_one_name(&mut told);
    let mut evidence = vec![Evidence::Several(several::Evidence::SharedMemory)];
    evidence.extend(taken(&told));
    evidence.push(Evidence::Several(match cycle.doubt {
        Doubt::None => several::Evidence::AtOneTime,
        Doubt::Timeout(step) => several::Evidence::GivesUp { step },
        Doubt::Truncated(step) => several::Evidence::MoreHeld { step },
        Doubt::Gate(i, j) => several::Evidence::MayHaveGate([i, j]),
        Doubt::Apart(i, j) => several::Evidence::MayBeApart([i, j]),
    }));
    if !all.runs.is_empty() {
        evidence.push(Evidence::Several(several::Evidence::Runs(runs(all, &told))));
    }
    let signature = |acquisition: &Occurrence| {
        let model = &all.models[acquisition.ledger];
        let view = ProcessView { model, sources: all.sources, instances: Instances::Folded };
        view.signature(acquisition.context)
    };
    let signatures: Vec<String> = cycle.acquisitions.iter().map(signature).collect();
    let grade = if cycle.doubt == Doubt::None { Grade::Likely } else { Grade::Possible };
    let finding = finding(&told, grade, evidence, take_before(&told).into_iter().collect());
    let key = format!("shared\n{}", ring(&signatures).join("\n"));
    Candidate { finding, key, insts: Vec::new(), classes: Vec::new() }
}

/// Calls each lock in all steps as the process that holds it does. Names of several locks get the addresses there.
fn give_one_name(told: &mut [Contribution]) {
    let own: Vec<Name> = told.iter().map(|told| told.names[0].clone()).collect();
    let n = told.len();
    for (i, name) in own.iter().enumerate() {
        let mut name = name.clone();
        if own.iter().filter(|&other| *other == name).count() > 1
            && let Some(addr) = told[i].held.addr
        {
            name.text += &format!(" at {addr:#x}");
        }
        for held in told[i].step.held.iter_mut().filter(|held| held.lock == Some(i)) {
            held.name = name.clone();
        }
        told[i].held.name = name.clone();
        told[i].names[0] = name.clone();
        told[(i + n - 1) % n].names[1] = name;
    }
}
