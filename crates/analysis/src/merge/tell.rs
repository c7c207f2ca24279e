//! Puts a cycle of several runs in words.

use super::classes::Classes;
use super::judge::{Obstacle, Verdict};
use super::{Occurrence, Processes};
use crate::finding::Instances;
use crate::finding::Name;
use crate::finding::{Details, Finding, Grade, Kind, LockInfo, Origin, Step, Told};
use crate::lockdep::graph::Level;
use crate::lockdep::judge::Acquisition;
use crate::lockdep::process_view::{InvolvedLocks, ProcessView};
use crate::lockdep::words;

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
    let names: Vec<Name> = told.iter().map(|told| told.names[0].clone()).collect();
    let quoted = words::locks(&names);
    let how = if n == 2 { "in both orders" } else { "in a cycle" };
    Finding {
        kind: Kind::CircularDependency,
        grade: match verdict.obstacle {
            // What was not looked at to the end is not excluded.
            _ if verdict.cut => Grade::Possible,
            Obstacle::None => Grade::Possible,
            Obstacle::Guard(..) => Grade::Guarded,
            Obstacle::New(_) => Grade::Ordered,
        },
        details: Details::Told(Told {
            title: format!("{quoted} are taken {how}, in different {}", different(&told)),
            evidence: evidence(all, classes, verdict, &told),
            help: help(&told, verdict.obstacle),
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
fn different(told: &[Contribution]) -> &'static str {
    let several = told.iter().any(|other| other.origin.run != told[0].origin.run);
    if several { "runs" } else { "processes" }
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
) -> Vec<String> {
    let mut says = vec![format!("no process alone took {} orders", words::all(told.len()))];
    says.extend(told.iter().map(|told| {
        let [held, acquired] = &told.names;
        let thread = words::thread(&told.step.thread);
        format!("{}: {thread} took {}, then {}", told.origin, held.quoted(), acquired.quoted())
    }));
    match verdict.obstacle {
        Obstacle::None if are_single(all, classes, verdict) => says.push(
            "each of these is one variable: a process that did all of this, in several threads at once, would deadlock"
                .into(),
        ),
        Obstacle::None => says.push(
            "locks and threads of different processes cannot be compared: judged by lock class"
                .into(),
        ),
        Obstacle::Guard(i, j, node) => {
            let model = &all.models[verdict.acquisitions[i].ledger];
            let view = ProcessView { model, sources: all.sources, instances: Instances::Folded };
            let gate = model.name(view.lock_of(node)).quoted();
            let (a, b) = (told[i].origin, told[j].origin);
            says.push(format!("{a} and {b} both hold {gate}, of which each process has but one"));
        }
        Obstacle::New(i) => {
            let held = told[i].names[0].quoted();
            says.push(format!("{held} was new in {}: nobody else could know it", told[i].origin));
        }
    }
    says.push(named(all, told));
    if verdict.cut {
        says.push("too many combinations of places to look at all of them".into());
    }
    let by_name = verdict.acquisitions.iter().any(|acquisition| {
        let model = &all.models[acquisition.ledger];
        let class = model.trie.node(acquisition.context.held);
        let class = class.and_then(|node| classes.lock(acquisition.ledger, model, node));
        class.is_some_and(|class| classes.is_by_name(class))
    });
    if by_name {
        says.push("the runs are of different builds: variables are matched by their names".into());
    }
    says
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

/// "run 1 is runs/a, run 2 is runs/b": as the user named them, the first first.
fn named(all: &Processes<'_, '_>, told: &[Contribution]) -> String {
    let mut runs: Vec<usize> = told.iter().map(|told| told.origin.run).collect();
    runs.sort_unstable();
    runs.dedup();
    let names = runs.iter().map(|&run| format!("run {run} is {}", all.runs[run - 1].name));
    names.collect::<Vec<_>>().join(", ")
}

fn help(told: &[Contribution], obstacle: Obstacle) -> Vec<String> {
    match obstacle {
        Obstacle::None => {}
        Obstacle::Guard(..) => {
            return vec!["harmless while every path holds the common lock".into()];
        }
        Obstacle::New(_) => {
            return vec![
                "harmless while nobody else learns of the lock before it is released".into(),
            ];
        }
    }
    let Some(last) = told.last() else { return Vec::new() };
    let [held, acquired] = last.names.each_ref().map(Name::quoted);
    let at = last.place.as_ref().map(|place| format!("at {place}, ")).unwrap_or_default();
    vec![
        format!("{at}take {acquired} before {held}, or release {held} first"),
        "or make sure that no process ever does all of this".into(),
    ]
}
