//! How serious a cycle can be at most, by what its edges have in common and without a look at their
//! combinations.
//!
//! Combinations multiply with the length of a cycle: 45 locks that one thread takes pairwise have
//! 28,380 cycles of three, each with thousands. Here each edge is summed up once, and two edges are
//! compared once: two threads that are ordered, or a lock that is held on both edges, stand between
//! any cycle with these two edges and a deadlock. What is the least obstacle of a part is the least
//! of the whole, so a search need not go on where a shorter cycle is known that is as serious as a
//! longer one can become.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::{Obstacle, Rank, Shape};
use crate::model::{Model, is_read};

/// Pairs of segments compared for one pair of edges.
const MOST_PAIRS: usize = 4096;

/// All occurrences of an edge.
struct Summary {
    /// Number of the set of segments that they are in; `None` if not all are known.
    segments: Option<u32>,
    /// Locks that are held exclusively in each, ascending.
    gates: Vec<u32>,
}

/// A set of segments.
struct Segments {
    all: Rc<[u32]>,
    /// The thread of them all, if it is one.
    thread: Option<u32>,
}

/// The least obstacles of cycles in one part.
pub struct Floors<'m, 'a> {
    model: &'m Model<'a>,
    edges: RefCell<HashMap<usize, Rc<Summary>>>,
    numbers: RefCell<HashMap<Rc<[u32]>, u32>>,
    segments: RefCell<Vec<Segments>>,
    /// By two sets of segments.
    meetings: RefCell<HashMap<(u32, u32), Rank>>,
    /// By two edges.
    pairs: RefCell<HashMap<(usize, usize), Rank>>,
}

impl<'m, 'a> Floors<'m, 'a> {
    /// Nothing is summed up yet.
    pub fn new(model: &'m Model<'a>) -> Self {
        Self {
            model,
            edges: RefCell::default(),
            numbers: RefCell::default(),
            segments: RefCell::default(),
            meetings: RefCell::default(),
            pairs: RefCell::default(),
        }
    }

    /// What stands at least between a cycle that has these edges, perhaps with others, and a
    /// deadlock.
    pub fn of(&self, edges: &[usize], shapes: impl Fn(usize) -> Rc<[Shape]>) -> Rank {
        let mut most = Obstacle::None.rank();
        for (i, &a) in edges.iter().enumerate() {
            for &b in &edges[i + 1..] {
                let key = (a.min(b), a.max(b));
                let known = self.pairs.borrow().get(&key).copied();
                let rank = known.unwrap_or_else(|| {
                    let rank = self.pair(&self.sum_up(a, &shapes), &self.sum_up(b, &shapes));
                    self.pairs.borrow_mut().insert(key, rank);
                    rank
                });
                most = most.max(rank);
            }
        }
        most
    }

    fn sum_up(&self, edge: usize, shapes: &impl Fn(usize) -> Rc<[Shape]>) -> Rc<Summary> {
        let known = self.edges.borrow().get(&edge).map(Rc::clone);
        known.unwrap_or_else(|| {
            let shapes = shapes(edge);
            let gates = self.gates(&shapes);
            let summary = Rc::new(Summary { segments: self.number(&shapes), gates });
            self.edges.borrow_mut().insert(edge, Rc::clone(&summary));
            summary
        })
    }

    /// Locks that are held exclusively in every shape.
    fn gates(&self, shapes: &[Shape]) -> Vec<u32> {
        let mut common: Option<Vec<u32>> = None;
        for shape in shapes {
            let held = self.model.trie.held(shape.acquirers()[0].context.acquired);
            let mut gates: Vec<u32> = held
                .map(|(_, node)| node)
                .filter(|node| node.inst != 0 && !is_read(node.mode))
                .filter(|node| self.model.classes.excludes(node.class))
                .map(|node| node.inst)
                .collect();
            gates.sort_unstable();
            if let Some(common) = &common {
                gates.retain(|lock| common.binary_search(lock).is_ok());
            }
            if gates.is_empty() {
                return gates;
            }
            common = Some(gates);
        }
        common.unwrap_or_default()
    }

    fn number(&self, shapes: &[Shape]) -> Option<u32> {
        if shapes.iter().any(Shape::is_open) {
            return None;
        }
        let acquirers = shapes.iter().flat_map(Shape::acquirers);
        let mut all: Vec<(u32, u32)> =
            acquirers.map(|taker| (taker.segment, taker.thread)).collect();
        all.sort_unstable();
        all.dedup();
        let &(_, first) = all.first()?;
        let thread = all.iter().all(|&(_, thread)| thread == first).then_some(first);
        let all: Rc<[u32]> = all.into_iter().map(|(segment, _)| segment).collect();
        let known = self.numbers.borrow().get(&all).copied();
        Some(known.unwrap_or_else(|| {
            let mut segments = self.segments.borrow_mut();
            let number = segments.len() as u32;
            segments.push(Segments { all: Rc::clone(&all), thread });
            self.numbers.borrow_mut().insert(all, number);
            number
        }))
    }

    fn pair(&self, a: &Summary, b: &Summary) -> Rank {
        let is_guarded = a.gates.iter().any(|lock| b.gates.binary_search(lock).is_ok());
        let guard = if is_guarded { Obstacle::Guard(0, 0, 0) } else { Obstacle::None }.rank();
        let Some((a, b)) = a.segments.zip(b.segments) else { return guard };
        let key = (a.min(b), a.max(b));
        let known = self.meetings.borrow().get(&key).copied();
        let meeting = known.unwrap_or_else(|| {
            let rank = self.meeting(a, b);
            self.meetings.borrow_mut().insert(key, rank);
            rank
        });
        guard.max(meeting)
    }

    /// What keeps threads from being in two sets of segments at once.
    fn meeting(&self, a: u32, b: u32) -> Rank {
        let segments = self.segments.borrow();
        let (a, b) = (&segments[a as usize], &segments[b as usize]);
        let order = &self.model.order;
        if a.thread.is_some() && a.thread == b.thread {
            return Obstacle::SameThread(0, 0).rank();
        }
        let can_meet = a.all.len() * b.all.len() > MOST_PAIRS
            || a.all.iter().any(|&a| b.all.iter().any(|&b| order.concurrent(a, b)));
        match can_meet {
            true => Obstacle::None.rank(),
            // Of two that are ordered it may be said that a hold keeps them apart.
            false if order.has_holds() => Obstacle::Guard(0, 0, 0).rank(),
            false => Obstacle::Order(0, 0).rank(),
        }
    }
}
