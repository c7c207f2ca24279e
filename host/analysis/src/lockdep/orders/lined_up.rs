//! Cycles of lock classes that the run could have lined up: it took both orders, on different locks of one class, and nothing
//! says that the one lock is not taken in the other's order.
//!
//! Such a cycle deadlocks as one of locks does. What has to be shown is that the locks are alike and that others can reach
//! them. They are alike if their lives began at the same place, by the same calls. And a thread shares a lock that another
//! thread has made: somebody has handed it on. Against it speaks a run with so many of them, in each of the orders, that one
//! would have been met in both if that did not depend on which it is.

use std::collections::{BTreeSet, HashSet};

use lockwright_ledger::rows::{Class, Lock, class_origin, lock_kind};

use crate::lockdep::judge::{Judge, Obstacle, Shape, Verdict, shapes};
use crate::model::Model;
use crate::view::occurrence::{Acquisition, Context};

/// Ways to line a cycle up that are looked at.
const MOST_WAYS: usize = 64;

/// Locks that would have been met in both orders by chance, from which on it is no chance that none was.
const EXPECTED_MEETINGS: f64 = 2.0;

/// Bytes that two locks of one object are apart at most.
const WITHIN_OBJECT: u64 = 1 << 16;

/// Which lock of a context.
#[derive(Clone, Copy)]
enum Which {
    Held,
    Acquired,
}

impl Which {
    /// Its node.
    fn of(self, context: Context) -> u32 {
        match self {
            Self::Held => context.held,
            Self::Acquired => context.acquired,
        }
    }
}

/// The verdict on a cycle of two classes if the run could have lined it up. `steps` are the contexts of both steps: what one
/// holds is of the class that the other acquires.
pub(super) fn verdict(
    model: &Model<'_>,
    judge: &Judge<'_, '_>,
    steps: [&[Context]; 2],
) -> Option<Verdict> {
    let [first, second] = steps;
    let steps = [known(model, first)?, known(model, second)?];
    let ways = around_one(&steps).into_iter().chain(within_objects(model, &steps));
    ways.take(MOST_WAYS).find_map(|way| judged(model, judge, &way))
}

/// A step with its locks' rows.
#[derive(Clone, Copy)]
struct Step {
    context: Context,
    held: Lock,
    acquired: Lock,
}

impl Step {
    fn lock(&self, which: Which) -> &Lock {
        match which {
            Which::Held => &self.held,
            Which::Acquired => &self.acquired,
        }
    }
}

/// The contexts of a step. `None` if some are of locks that are not known by themselves, or are no locks of the program's.
fn known(model: &Model<'_>, contexts: &[Context]) -> Option<Vec<Step>> {
    let is_plain = |lock: &Lock| (lock_kind::MUTEX..=lock_kind::OWN).contains(&lock.kind);
    let lock = |id| model.lock(model.trie.node(id)?.inst).filter(is_plain);
    let step = |&context: &Context| {
        Some(Step { context, held: lock(context.held)?, acquired: lock(context.acquired)? })
    };
    contexts.iter().map(step).collect()
}

/// Those that `keep` is true of.
fn only(steps: &[Step], keep: impl Fn(&Step) -> bool) -> Vec<Step> {
    steps.iter().filter(|step| keep(step)).copied().collect()
}

/// What both have, ascending.
fn common<T: Ord + Copy>(ones: impl Iterator<Item = T>, others: impl Iterator<Item = T>) -> Vec<T> {
    let (ones, others): (BTreeSet<T>, BTreeSet<T>) = (ones.collect(), others.collect());
    ones.intersection(&others).copied().collect()
}

/// A way to line the steps up: contexts of both, and which locks of each are others than those of the other step.
struct Way {
    steps: [Vec<Step>; 2],
    differ: [&'static [Which]; 2],
}

/// Both steps take the same lock of one class, and different locks of the other.
fn around_one([first, second]: &[Vec<Step>; 2]) -> Vec<Way> {
    let mut ways = Vec::new();
    for (own, other, differ) in [
        (Which::Held, Which::Acquired, [&[Which::Acquired][..], &[Which::Held][..]]),
        (Which::Acquired, Which::Held, [&[Which::Held][..], &[Which::Acquired][..]]),
    ] {
        let ours = first.iter().map(|step| step.lock(own).inst);
        for inst in common(ours, second.iter().map(|step| step.lock(other).inst)) {
            let first = only(first, |step| step.lock(own).inst == inst);
            let second = only(second, |step| step.lock(other).inst == inst);
            ways.push(Way { steps: [first, second], differ });
        }
    }
    ways
}

/// Each step takes two locks of one object, in the opposite order.
fn within_objects(model: &Model<'_>, steps: &[Vec<Step>; 2]) -> Vec<Way> {
    let is_one = |step: &Step| are_made_together(model, &step.held, &step.acquired);
    if !steps.iter().flatten().all(is_one) {
        return Vec::new();
    }
    let [first, second] = steps;
    let apart = |from: &Lock, to: &Lock| to.addr.wrapping_sub(from.addr).cast_signed();
    let down = |step: &Step| apart(&step.held, &step.acquired);
    let up = |step: &Step| apart(&step.acquired, &step.held);
    let both = &[Which::Held, Which::Acquired][..];
    let way = |by| Way {
        steps: [only(first, |step| down(step) == by), only(second, |step| up(step) == by)],
        differ: [both, both],
    };
    let within = |by: &i64| by.unsigned_abs() < WITHIN_OBJECT;
    common(first.iter().map(down), second.iter().map(up))
        .into_iter()
        .filter(within)
        .map(way)
        .collect()
}

/// Whether the lives of two locks began in one call of a function, or in one block of memory.
fn are_made_together(model: &Model<'_>, one: &Lock, other: &Lock) -> bool {
    let row = |lock: &Lock| model.ledger.get::<Class>(lock.class);
    let Some((one, other)) = row(one).zip(row(other)) else { return false };
    if one.origin != other.origin {
        return false;
    }
    match one.origin {
        class_origin::ALLOCATION => one.stack == other.stack,
        class_origin::INIT => {
            let frames = |class: &Class| model.ledger.stack(class.stack).map(|stack| stack.0);
            let Some((one, other)) = frames(&one).zip(frames(&other)) else { return false };
            let differing = one.iter().zip(&other).filter(|(one, other)| one != other).count();
            one.len() == other.len() && differing == 1
        }
        _ => false,
    }
}

fn judged(model: &Model<'_>, judge: &Judge<'_, '_>, way: &Way) -> Option<Verdict> {
    let [first, second] = &way.steps;
    for (&one, &other) in way.differ[0].iter().zip(way.differ[1].iter().rev()) {
        if are_tied(model, (first, one), (second, other)) {
            return None;
        }
    }
    // Locks that are alike, of which no step's thread has made its own.
    let is_alike = |(step, which): (&Step, Which), others: &[Step], other: Which| {
        others.iter().any(|it| it.lock(other).class == step.lock(which).class)
    };
    let shared = |i: usize| -> Vec<Shape> {
        let (steps, others) = (&way.steps[i], &way.steps[1 - i]);
        let alike = steps.iter().filter(|step| {
            let mut pairs = way.differ[i].iter().zip(way.differ[1 - i].iter().rev());
            pairs.all(|(&one, &other)| is_alike((step, one), others, other))
        });
        let contexts: Vec<Context> = alike.map(|step| step.context).collect();
        let is_shared = |acquisition: &Acquisition| {
            let maker = |which: &Which| {
                let node = model.trie.node(which.of(acquisition.context))?;
                Some(model.lock(node.inst)?.maker)
            };
            way.differ[i].iter().all(|which| {
                maker(which).is_some_and(|maker| maker != 0 && maker != acquisition.thread)
            })
        };
        shapes(model, &contexts).iter().filter_map(|shape| shape.only(is_shared)).collect()
    };
    let (first, second) = (shared(0), shared(1));
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let verdict = judge.judge(&[&first, &second], Obstacle::None.rank())?;
    let is_free = verdict.obstacle == Obstacle::None && !verdict.cut;
    (is_free && !hold_alike(model, &verdict.acquisitions)).then_some(verdict)
}

/// Whether so many locks were met in each of the steps that some would have been met in both, were they alike.
fn are_tied(model: &Model<'_>, one: (&[Step], Which), other: (&[Step], Which)) -> bool {
    let locks = |(steps, which): (&[Step], Which)| -> HashSet<u32> {
        steps.iter().map(|step| step.lock(which).inst).collect()
    };
    let (ones, others) = (locks(one), locks(other));
    if ones.intersection(&others).next().is_some() {
        // Then the cycle of these locks has told all.
        return true;
    }
    let class = one.0.first().map_or(0, |step| step.lock(one.1).class);
    let all = model.classes.plain(model.classes.group_of(class)).locks as f64;
    let (ones, others) = (ones.len() as f64, others.len() as f64);
    ones * others / all.max(ones + others) >= EXPECTED_MEETINGS
}

/// Whether two steps hold locks of one class apart from those of the cycle: these may belong to the locks that differ, and
/// would be one if those were.
fn hold_alike(model: &Model<'_>, acquisitions: &[Acquisition]) -> bool {
    let group = |id| model.trie.node(id).map_or(0, |node| model.classes.group_of(node.class));
    let cycle: Vec<u32> = acquisitions.iter().map(|it| group(it.context.held)).collect();
    let held = |acquisition: &Acquisition| -> HashSet<u32> {
        model
            .trie
            .held(acquisition.context.acquired)
            .filter(|(_, node)| model.classes.excludes(node.class))
            .map(|(_, node)| model.classes.group_of(node.class))
            .filter(|group| !cycle.contains(group))
            .collect()
    };
    let mut sets = acquisitions.iter().map(held);
    let Some(first) = sets.next() else { return false };
    sets.any(|set| !set.is_disjoint(&first))
}
