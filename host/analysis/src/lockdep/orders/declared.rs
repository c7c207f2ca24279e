//! Lock orders that the program declares: every recorded order that contradicts one is a
//! `circular-dependency`, of which the declaration is the other half.

use std::collections::{HashMap, HashSet, VecDeque};

use lockwright_ledger::rows::Order;

use crate::finding::coverage::{Note, Search};
use crate::finding::order::{Evidence, Fault, OrderFault, Remedy, cycle, declared};
use crate::finding::{Details, Finding, Grade, Kind};
use crate::lockdep::search::budget::Budget;
use crate::model::Model;
use crate::view::candidate::Candidate;
use crate::view::occurrence::{Acquisition, Context, Level};
use crate::view::process_view::ProcessView;

/// Held locks that may be looked at.
const WALK: u64 = 200_000_000;

/// What the program declares: names of classes, numbered, and which come before which.
struct Declared {
    names: Vec<String>,
    /// By name: the names declared to come later, and where that is declared (a stack).
    later: Vec<Vec<(usize, u32)>>,
    /// By merged class: its name.
    of_group: HashMap<u32, usize>,
}

/// One declaration: the name before, the name after, the stack.
type Step = (usize, usize, u32);

impl Declared {
    fn new(model: &Model<'_>) -> Self {
        let mut this = Self { names: Vec::new(), later: Vec::new(), of_group: HashMap::new() };
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for (_, row) in model.ledger.rows::<Order>() {
            let [before, after] = [row.before, row.after].map(|text| {
                let name = model.ledger.text(text);
                *numbers.entry(name.clone()).or_insert_with(|| {
                    this.names.push(name);
                    this.later.push(Vec::new());
                    this.names.len() - 1
                })
            });
            this.later[before].push((after, row.stack));
        }
        if numbers.is_empty() {
            return this;
        }
        for (id, group) in model.classes.groups().filter(|(_, group)| group.is_symbol) {
            // A subclass is where its class is.
            let plain = group.name.rsplit_once('/').filter(|(_, n)| n.parse::<u16>().is_ok());
            let number = numbers.get(&group.name).or_else(|| numbers.get(plain?.0));
            this.of_group.extend(number.map(|&number| (id, number)));
        }
        this
    }

    /// The shortest way from `from` to `to`, over at least one declaration.
    fn way(&self, from: usize, to: usize) -> Option<Vec<Step>> {
        let mut came: HashMap<usize, Step> = HashMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for &(next, stack) in &self.later[at] {
                if came.contains_key(&next) {
                    continue;
                }
                came.insert(next, (at, next, stack));
                if next == to {
                    let mut way = vec![came[&to]];
                    while way[0].0 != from {
                        way.insert(0, came[&way[0].0]);
                    }
                    return Some(way);
                }
                queue.push_back(next);
            }
        }
        None
    }

    /// Names on a way that leads back to where it began.
    fn contradiction(&self) -> Option<Vec<Step>> {
        (0..self.names.len()).find_map(|name| self.way(name, name))
    }

    /// The declarations by which `before` comes before `after`, if they say nothing else, too.
    fn order(&self, before: usize, after: usize) -> Option<Vec<Step>> {
        let way = self.way(before, after)?;
        self.way(after, before).is_none().then_some(way)
    }
}

/// An order that was recorded: the held lock's name, the acquired one's.
type Pair = (usize, usize);

/// The recorded orders of one process that contradict declared ones. Cycles found already, which
/// are the same, are reported as violations of the declaration instead.
pub fn find(
    view: &ProcessView<'_, '_>,
    candidates: &mut [Candidate],
    notes: &mut Vec<Note>,
) -> Vec<Candidate> {
    let model = view.model;
    let declared = Declared::new(model);
    if declared.names.is_empty() {
        return Vec::new();
    }
    if let Some(way) = declared.contradiction() {
        let names = way.iter().map(|step| declared.names[step.0].clone());
        notes.push(Note::DeclarationsContradict(names.collect()));
    }
    let mut ways: HashMap<Pair, Option<Vec<Step>>> = HashMap::new();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut budget = Budget::new(WALK);
    let name_of = |class| declared.of_group.get(&model.classes.group_of(class)).copied();
    for (id, node) in model.trie.contexts() {
        let Some(acquired) = name_of(node.class) else { continue };
        if model.trie.signal(id).is_some() {
            continue;
        }
        for (at, held) in model.trie.held(id).take_while(|_| budget.take(1)) {
            let Some(name) = name_of(held.class).filter(|&name| name != acquired) else { continue };
            let way =
                ways.entry((name, acquired)).or_insert_with(|| declared.order(acquired, name));
            let Some(way) = way else { continue };
            if seen.insert((held.class, node.class, held.site, node.site)) {
                let context = Context { acquired: id, held: at };
                found.extend(candidate(view, &declared, context, way, candidates));
            }
        }
    }
    if budget.is_spent_out() {
        notes.push(Note::SearchCut(Search::DeclaredOrders));
    }
    found
}

fn candidate(
    view: &ProcessView<'_, '_>,
    declared: &Declared,
    context: Context,
    way: &[Step],
    candidates: &mut [Candidate],
) -> Option<Candidate> {
    let model = view.model;
    let evidence: Vec<Evidence> = way
        .iter()
        .map(|&(before, after, stack)| {
            Evidence::Declared(declared::Evidence::Declared {
                before: declared.names[before].clone(),
                after: declared.names[after].clone(),
                place: model.short_place(stack),
            })
        })
        .collect();
    let refs = vec![view.lock_of(context.held), view.lock_of(context.acquired)];
    let mut insts: Vec<u32> = refs.iter().map(|lock| lock.inst).collect();
    insts.sort_unstable();
    let is_same = |candidate: &&mut Candidate| {
        candidate.finding.kind == Kind::CircularDependency
            && candidate.finding.grade <= Grade::Likely
            && candidate.insts == insts
    };
    if let Some(cycle) = candidates.iter_mut().find(is_same) {
        if let Details::Order(what) = &mut cycle.finding.details
            && !what.evidence.contains(&evidence[0])
        {
            what.evidence.extend(evidence);
        }
        return None;
    }
    let segment = model.trie.segments(context.acquired).first().copied().unwrap_or(0);
    let acquisition =
        Acquisition { context, segment, thread: model.order.thread(segment).unwrap_or(0) };
    let classes = view.classes(&refs);
    let involved = view.involved(Level::Instance, refs);
    let [held, acquired] = [0, 1].map(|i: usize| involved.names[i].clone());
    let finding = Finding {
        kind: Kind::CircularDependency,
        grade: Grade::Likely,
        details: Details::Order(OrderFault {
            fault: Fault::Declared(declared::Fault::AgainstDeclaration),
            evidence,
            remedies: vec![
                Remedy::Cycle(cycle::Remedy::TakeBefore {
                    first: acquired,
                    second: held,
                    place: None,
                }),
                Remedy::Declared(declared::Remedy::CorrectDeclaration),
            ],
        }),
        steps: vec![view.step(&involved, &acquisition, 1)],
        locks: involved.infos,
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: 0,
    };
    let key = format!("declared\n{}", view.signature(context));
    Some(Candidate { finding, key, insts, classes })
}
