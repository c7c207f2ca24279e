//! `recursive-locking`: a lock taken while it, or another of its class, is held.
//!
//! Nesting within a class is no fault by itself: it is judged by what discipline the pairs of
//! instances follow. Ascending (or descending) address is one; so is parent before child, as in a
//! tree or list, where whatever hangs together hangs off one root. Enough pairs without any cycle
//! must have some order, too, even if we do not know which. Only pairs that follow none of these
//! are reported, with one pair of each direction.

use std::collections::{BTreeMap, HashMap, HashSet};

use lockwright_ledger::rows::{Class, Node, class_origin, excludes, lock_kind, mode};

use super::behind_writer::behind_writer;
use super::{annotated, circular, deadlocks};
use crate::finding::coverage::{Note, Search};
use crate::finding::order::again::Again;
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy, again, nesting};
use crate::finding::{Details, Finding, Grade, Kind};
use crate::lockdep::judge::{Judge, Obstacle, shapes};
use crate::lockdep::search::budget::Budget;
use crate::model::{LockRef, Model, is_read};
use crate::view::candidate::Candidate;
use crate::view::occurrence::{Acquisition, Context, Level};
use crate::view::process_view::ProcessView;

/// Held locks that may be looked at.
const WALK: u64 = 200_000_000;
/// Contexts kept for one direction of one class.
const MOST_CONTEXTS: usize = 4096;
/// Ways of taking one lock again that are listed.
const MOST_AGAIN: usize = 10_000;

/// Independent cycles of pairs that would not all happen to be free of a cycle: three pairs in a
/// triangle, each either way, are in 3 of 4 cases; so ten triangles are in 1 of 18.
const ORDERED_BY_SOMETHING: usize = 10;
/// Pairs that would not all happen to hang off one root: n random ones do in n + 1 of 2^n cases.
const ROOTED_BY_CHANCE: usize = 8;

/// Nestings of one class.
#[derive(Default)]
struct Nest {
    /// Distinct pairs of instances, the outer first, by whether addresses ascend.
    pairs: [HashSet<(u32, u32)>; 2],
    /// Where they were taken, likewise.
    contexts: [Vec<Context>; 2],
}

/// What was found of nestings.
pub struct Nestings {
    /// The findings.
    pub candidates: Vec<Candidate>,
    /// Sets of classes that one place of the program nests either way. The findings about cycles
    /// among these alone are in `candidates`.
    pub judged: Vec<Vec<u32>>,
}

/// Those of one process. `cycles` are its cycles: a class that has one needs no second word.
pub fn find(view: &ProcessView<'_, '_>, cycles: &[Candidate], notes: &mut Vec<Note>) -> Nestings {
    let model = view.model;
    let alike = Alike::new(model);
    let mut budget = Budget::new(WALK);
    let mut nests: BTreeMap<u32, Nest> = BTreeMap::new();
    let mut again: Vec<Context> = Vec::new();
    for (id, node) in model.trie.contexts().filter(|(_, node)| node.inst != 0) {
        let group = alike.of(model.classes.group_of(node.class));
        let mut outer = None;
        for (held, by) in model.trie.held(id) {
            if !budget.take(1) {
                break;
            }
            if by.inst == node.inst {
                if again.len() < MOST_AGAIN {
                    again.push(Context { acquired: id, held });
                }
                outer = None;
                break;
            }
            let same = by.inst != 0
                && alike.of(model.classes.group_of(by.class)) == group
                && group != 0
                && !model.classes.is_mixed(node.class);
            // Readers among readers do not wait.
            let waits = excludes(node.mode, by.mode) || !model.reads_freely(node.class, node.mode);
            if same && waits && outer.is_none() && !annotated::may_nest(model, held, node) {
                outer = Some((held, *by));
            }
        }
        let Some((held, by)) = outer else { continue };
        let addresses = (model.address(by.lock, by.inst), model.address(node.lock, node.inst));
        let (Some(from), Some(to)) = addresses else { continue };
        let nest = nests.entry(group).or_default();
        let ascends = usize::from(from < to);
        nest.pairs[ascends].insert((by.inst, node.inst));
        if nest.contexts[ascends].len() < MOST_CONTEXTS {
            nest.contexts[ascends].push(Context { acquired: id, held });
        }
    }
    if budget.is_spent_out() {
        notes.push(Note::SearchCut(Search::Nesting));
    }
    let judge = Judge::new(model);
    let mut candidates = recursions(view, &judge, &again);
    let mut judged = Vec::new();
    for (group, nest) in nests {
        let classes = alike.classes(group);
        let is_among = |class: &u32| classes.contains(class);
        let in_a_cycle = cycles.iter().any(|candidate| {
            !candidate.classes.is_empty() && candidate.classes.iter().all(is_among)
        });
        if in_a_cycle {
            continue;
        }
        if !nest.is_disciplined(model.classes.plain(group).is_static) {
            candidates.extend(undisciplined(view, &judge, classes.clone(), &nest));
        }
        if classes.len() > 1 {
            judged.push(classes);
        }
    }
    Nestings { candidates, judged }
}

/// Classes that are one to the program. A lock that nobody initialises has its class from where it
/// was first taken: of locks that one function takes in pairs, those that came first in their first
/// pair have another than those that came second. Where one place nests two such classes either
/// way, which of the two a lock is in says nothing.
#[derive(Default)]
struct Alike {
    /// By class that is like another: the least of those that it is like.
    least: BTreeMap<u32, u32>,
}

impl Alike {
    fn new(model: &Model<'_>) -> Self {
        let by_chance = |node: &Node| {
            let row = model.ledger.get::<Class>(node.class);
            node.inst != 0 && row.is_some_and(|row| row.origin == class_origin::FIRST_ACQUIRE)
        };
        let mut places: HashMap<(u64, u64), HashSet<(u32, u32)>> = HashMap::new();
        for (id, node) in model.trie.contexts().filter(|(_, node)| by_chance(node)) {
            let Some((_, by)) = model.trie.held(id).next().filter(|(_, by)| by_chance(by)) else {
                continue;
            };
            let group = |node: &Node| model.classes.group_of(node.class);
            let pair = (group(by), group(node));
            if pair.0 != pair.1 {
                places.entry((by.site, node.site)).or_default().insert(pair);
            }
        }
        let mut alike = Self::default();
        for pairs in places.values() {
            for &(a, b) in pairs.iter().filter(|&&(a, b)| a < b && pairs.contains(&(b, a))) {
                let (a, b) = (alike.of(a), alike.of(b));
                let (least, other) = (a.min(b), a.max(b));
                for of in alike.least.values_mut().filter(|of| **of == other) {
                    *of = least;
                }
                alike.least.extend([(least, least), (other, least)]);
            }
        }
        alike
    }

    /// What stands for a class and those that it is like.
    fn of(&self, class: u32) -> u32 {
        self.least.get(&class).copied().unwrap_or(class)
    }

    /// The classes that `least` stands for, sorted.
    fn classes(&self, least: u32) -> Vec<u32> {
        let mut classes: Vec<u32> =
            self.least.iter().filter(|&(_, &of)| of == least).map(|(&class, _)| class).collect();
        if classes.is_empty() {
            classes.push(least);
        }
        classes
    }
}

impl Nest {
    /// Some two locks were nested one way and the other.
    fn has_both_ways(&self) -> bool {
        let [descending, ascending] = &self.pairs;
        descending.iter().any(|&(outer, inner)| ascending.contains(&(inner, outer)))
    }

    fn is_disciplined(&self, is_static: bool) -> bool {
        let [descending, ascending] = &self.pairs;
        if descending.is_empty() || ascending.is_empty() {
            return true;
        }
        let pairs: Vec<(u32, u32)> = descending.iter().chain(ascending).copied().collect();
        // Variables do not become each other's parents as heap objects do, so few pairs of them
        // that look like it do not suffice. A pair that hangs together with no other has one root
        // whatever it is.
        let least = if is_static { ROOTED_BY_CHANCE } else { 1 };
        let reversed: Vec<(u32, u32)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        Shape::of(&pairs).is_rooted(least)
            || Shape::of(&reversed).is_rooted(least)
            || Shape::of(&pairs).rings() >= ORDERED_BY_SOMETHING
    }
}

/// How pairs hang together.
struct Shape {
    pairs: usize,
    locks: usize,
    /// By connected component: its pairs, and its locks that are never taken within another.
    components: Vec<(usize, usize)>,
}

impl Shape {
    fn of(pairs: &[(u32, u32)]) -> Self {
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        for lock in pairs.iter().flat_map(|&(a, b)| [a, b]) {
            let next = numbers.len();
            numbers.entry(lock).or_insert(next);
        }
        let mut above: Vec<usize> = (0..numbers.len()).collect();
        let mut is_inner = vec![false; numbers.len()];
        for (outer, inner) in pairs {
            let (outer, inner) = (numbers[outer], numbers[inner]);
            is_inner[inner] = true;
            let (a, b) = (top(&mut above, outer), top(&mut above, inner));
            above[a] = b;
        }
        let mut components: HashMap<usize, (usize, usize)> = HashMap::new();
        for (outer, _) in pairs {
            components.entry(top(&mut above, numbers[outer])).or_default().0 += 1;
        }
        for (lock, &is_inner) in is_inner.iter().enumerate() {
            let component = components.entry(top(&mut above, lock)).or_default();
            component.1 += usize::from(!is_inner);
        }
        let components = components.into_values().collect();
        Self { pairs: pairs.len(), locks: numbers.len(), components }
    }

    /// Every component has one root, and one of more than `least` pairs shows that it is no chance.
    fn is_rooted(&self, least: usize) -> bool {
        self.components.iter().all(|&(_, roots)| roots == 1)
            && self.components.iter().any(|&(pairs, _)| pairs > least)
    }

    /// Independent rings of pairs, whatever their direction.
    fn rings(&self) -> usize {
        (self.pairs + self.components.len()).saturating_sub(self.locks)
    }
}

/// Representative of a component, with the way to it halved.
fn top(above: &mut [usize], mut at: usize) -> usize {
    while above[at] != at {
        above[at] = above[above[at]];
        at = above[at];
    }
    at
}

fn undisciplined(
    view: &ProcessView<'_, '_>,
    judge: &Judge<'_, '_>,
    classes: Vec<u32>,
    nest: &Nest,
) -> Option<Candidate> {
    let model = view.model;
    let [down, up] = &nest.contexts;
    let (down, up) = (shapes(model, down), shapes(model, up));
    let verdict = judge.judge(&[&up, &down], Obstacle::None.rank())?;
    let grade = circular::grade(Level::Class, &verdict, false);
    let mut refs: Vec<LockRef> = Vec::new();
    let mut acquired = Vec::new();
    for acquisition in &verdict.acquisitions {
        for id in [acquisition.context.held, acquisition.context.acquired] {
            let lock = view.lock_of(id);
            if !refs.iter().any(|other| other.inst == lock.inst) {
                refs.push(lock);
            }
        }
        let last = view.lock_of(acquisition.context.acquired);
        acquired.push(refs.iter().position(|lock| lock.inst == last.inst).unwrap_or_default());
    }
    let mut named: Vec<u32> = Vec::new();
    let mut nested = Vec::new();
    for lock in &refs {
        let group = model.classes.group_of(lock.class);
        if !named.contains(&group) {
            named.push(group);
            nested.push(model.name(LockRef { inst: 0, ..*lock }));
        }
    }
    let involved = view.involved(Level::Instance, refs);
    let [descending, ascending] = &nest.pairs;
    let mut evidence = vec![Evidence::Nesting(nesting::Evidence::Pairs {
        ascending: ascending.len(),
        descending: descending.len(),
    })];
    evidence.push(match nest.has_both_ways() {
        false => Evidence::Nesting(nesting::Evidence::NoPairBothWays),
        // Else there is a cycle of locks, which says all there is.
        true => Evidence::Nesting(nesting::Evidence::PairsBothWaysRead),
    });
    // The pairs are different locks, so of the usual evidence only what separates the paths tells.
    if grade > Grade::Possible {
        evidence.extend(circular::evidence(view, Level::Instance, &verdict, false));
    }
    let mut signatures: Vec<String> = verdict
        .acquisitions
        .iter()
        .map(|acquisition| view.signature(acquisition.context))
        .collect();
    signatures.sort_unstable();
    let finding = Finding {
        kind: Kind::RecursiveLocking,
        grade,
        details: Details::Order(OrderFault {
            fault: Fault::NoFixedOrder { classes: nested },
            evidence,
            remedies: vec![Remedy::FixedOrder],
        }),
        steps: verdict
            .acquisitions
            .iter()
            .zip(acquired)
            .map(|(acquisition, lock)| view.step(&involved, acquisition, lock))
            .collect(),
        locks: involved.infos,
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: 0,
    };
    let key = format!("nesting\n{}", signatures.join("\n"));
    Some(Candidate { finding, key, insts: Vec::new(), classes })
}

/// Locks taken again by their holder.
fn recursions(
    view: &ProcessView<'_, '_>,
    judge: &Judge<'_, '_>,
    again: &[Context],
) -> Vec<Candidate> {
    let let_in = deadlocks::let_in_again(view.model.ledger);
    // Another process can unlock a lock in shared memory. If that came too late, the thread's wait for itself is recorded.
    let is_shared = |inst| view.model.lock(inst).is_some_and(|lock| lock.shared != 0);
    let is_let_in = |context: &&Context| {
        let node = view.model.trie.node(context.acquired);
        node.is_some_and(|node| let_in.contains(&node.inst) || is_shared(node.inst))
    };
    let stuck = again.iter().filter(|context| !is_let_in(context));
    stuck.filter_map(|&context| recursion(view, judge, context)).collect()
}

/// Why a second acquisition does not end in a certain deadlock, or does.
fn outcome(
    model: &Model<'_>,
    judge: &Judge<'_, '_>,
    context: Context,
    acquisition: &Acquisition,
) -> Option<(Grade, Again)> {
    let node = model.trie.node(context.acquired)?;
    let held = model.trie.node(context.held)?;
    let kind = model.classes.kind(node.class);
    let (held_shared, meets) = (is_read(held.mode), excludes(node.mode, held.mode));
    if kind == lock_kind::RECURSIVE || (!meets && model.reads_freely(node.class, node.mode)) {
        return None;
    }
    Some(match kind {
        _ if node.mode & mode::TIMED != 0 => (Grade::Possible, Again::Timeout),
        lock_kind::ERRORCHECK => (Grade::Possible, Again::ErrorCheck),
        lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER if !held_shared => {
            (Grade::Possible, Again::HeldForWriting)
        }
        _ if !meets => behind_writer(model, judge, node, acquisition),
        _ => (Grade::Likely, Again::Blocks),
    })
}

/// Who took a context.
fn acquirers(model: &Model<'_>, context: Context) -> Vec<Acquisition> {
    let segments = model.trie.segments(context.acquired);
    let segments = if segments.is_empty() { &[0] } else { segments };
    let acquisition = |&segment: &u32| Acquisition {
        context,
        segment,
        thread: model.order.thread(segment).unwrap_or(0),
    };
    segments.iter().map(acquisition).collect()
}

fn recursion(
    view: &ProcessView<'_, '_>,
    judge: &Judge<'_, '_>,
    context: Context,
) -> Option<Candidate> {
    let model = view.model;
    let acquisitions = acquirers(model, context);
    let outcomes = acquisitions.into_iter().filter_map(|acquisition| {
        let (grade, again) = outcome(model, judge, context, &acquisition)?;
        Some((grade, again, acquisition))
    });
    let (grade, again, acquisition) = outcomes.min_by_key(|outcome| outcome.0)?;
    let lock = view.lock_of(context.acquired);
    let involved = view.involved(Level::Instance, vec![lock]);
    let finding = Finding {
        kind: Kind::RecursiveLocking,
        grade,
        details: Details::Order(OrderFault {
            fault: Fault::Again(again::Fault::TakenAgain),
            evidence: vec![Evidence::Again(again)],
            remedies: vec![Remedy::SplitFunction],
        }),
        steps: vec![view.step(&involved, &acquisition, 0)],
        locks: involved.infos,
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: 0,
    };
    let key = format!("recursive\n{}", again_signature(view, context));
    Some(Candidate { finding, key, insts: vec![lock.inst], classes: view.classes(&[lock]) })
}

/// As that of an online finding of the same.
fn again_signature(view: &ProcessView<'_, '_>, context: Context) -> String {
    let stack = |id| view.model.trie.node(id).map_or(0, |node| node.stack);
    let class = view.model.classes.group_of(view.lock_of(context.held).class);
    format!(
        "{}\t{}\t{}",
        view.model.classes.group(class).name,
        view.model.place(stack(context.held)),
        view.model.place(stack(context.acquired))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nest(pairs: &[(u32, u32)]) -> Nest {
        let mut nest = Nest::default();
        for &(a, b) in pairs {
            nest.pairs[usize::from(a < b)].insert((a, b));
        }
        nest
    }

    #[test]
    fn address_order_is_a_discipline() {
        assert!(nest(&[(1, 2), (3, 4), (1, 4), (2, 4)]).is_disciplined(true));
        assert!(nest(&[(4, 3), (3, 1)]).is_disciplined(true));
        assert!(!nest(&[(1, 2), (4, 2), (5, 2), (5, 6)]).is_disciplined(true));
    }

    #[test]
    fn one_root_is_a_discipline_of_heap_objects() {
        let tree = [(5, 2), (5, 9), (2, 1), (2, 3), (9, 7)];
        assert!(nest(&tree).is_disciplined(false));
        assert!(!nest(&tree).is_disciplined(true), "few pairs of variables prove nothing");
        assert!(!nest(&[(5, 2), (7, 9)]).is_disciplined(false), "each is a root by itself");
        let list_with_insertion = [(5, 2), (2, 9), (2, 4), (4, 9), (9, 7)];
        assert!(nest(&list_with_insertion).is_disciplined(false));
        assert!(!nest(&[(1, 2), (3, 2), (4, 1), (4, 5)]).is_disciplined(false));
    }

    #[test]
    fn much_nesting_without_a_circle_is_a_discipline() {
        // Ordered by the remainder mod 7, which has nothing to do with the address.
        let key = |x: u32| (x % 7, x);
        let pairs: Vec<(u32, u32)> = (1..9u32)
            .flat_map(|a| (1..9).map(move |b| (a, b)))
            .filter(|&(a, b)| key(a) < key(b))
            .collect();
        assert!(nest(&pairs).is_disciplined(true));
    }
}
