//! Cycles of one strongly connected part, shortest first.

use std::collections::VecDeque;

use super::budget::Budget;
use super::graph::Part;

/// What a search reports its cycles to.
pub trait Visitor {
    /// A cycle, as its edges in order.
    fn cycle(&mut self, edges: &[usize]);
    /// Whether a cycle of so many edges through `lock` and what is `before` it, by way of `edges`,
    /// tells nothing new.
    fn explained(
        &self,
        lock: u32,
        before: impl Iterator<Item = u32>,
        edges: &[usize],
        length: u32,
    ) -> bool;
    /// Whether there is no point in further cycles.
    fn is_done(&self) -> bool;
}

/// Edges of a path of which each is compared with each, to see whether a longer cycle can be more
/// serious than a shorter one.
pub const MOST_COMPARED: u32 = 8;

/// Vertices not reached.
const FAR: u32 = u32::MAX;

/// A search in one part.
struct Search<'p, C> {
    part: &'p Part<C>,
    /// Edges backwards, as the part's forwards: source by target.
    first: Vec<u32>,
    from: Vec<u32>,
    /// Distance to the start, of vertices in `touched`.
    distance: Vec<u32>,
    touched: Vec<u32>,
    path: Vec<u32>,
    edges: Vec<usize>,
}

/// What searches took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Times that a cycle was looked for: by a search breadth first, or of two locks by a look.
    pub checks: u64,
    /// Most locks that a search had still to go on from.
    pub longest_queue: u64,
}

/// Limits of one part's search, and what it took.
pub struct Limits<'b> {
    /// Steps to learn which vertices lie on cycles of which length.
    pub survey: &'b mut Budget,
    /// Steps to walk the cycles.
    pub walk: &'b mut Budget,
    /// Is added to.
    pub work: &'b mut Work,
}

/// Visits every cycle of two locks, then the longer ones by length while the budget lasts. If
/// cycles through one start have more locks than `threads`, it visits only the shortest: no
/// deadlock has more locks than threads, so such cycles differ in nothing that matters.
///
/// Every cycle begins at its vertex of least number, so that each is met once.
pub fn shortest_first<C>(
    part: &Part<C>,
    threads: u32,
    limits: &mut Limits<'_>,
    visitor: &mut impl Visitor,
) {
    let (budget, work) = (&mut *limits.walk, &mut *limits.work);
    pairs(part, budget, work, visitor);
    if part.locks.len() < 3 {
        return;
    }
    let mut search = Search::new(part);
    let n = part.locks.len() as u32;
    let mut starts: Vec<(u32, u32)> = Vec::new();
    for start in 0..n {
        if limits.survey.is_spent_out() {
            break;
        }
        if let Some(length) = search.shortest_through(start, limits.survey, work) {
            starts.push((length.max(3), start));
        }
    }
    starts.sort_unstable();
    let most = starts.iter().map(|s| s.0).max().unwrap_or(0).max(threads.min(n));
    for length in 3..=most {
        for &(shortest, start) in &starts {
            if shortest > length {
                break;
            }
            if length > threads && length > shortest {
                continue;
            }
            if budget.is_spent_out() || visitor.is_done() {
                return;
            }
            search.visit(start, length, budget, work, visitor);
        }
    }
}

/// Cycles of two.
fn pairs<C>(part: &Part<C>, budget: &mut Budget, work: &mut Work, visitor: &mut impl Visitor) {
    for u in 0..part.locks.len() as u32 {
        for edge in part.edges(u) {
            let v = part.to[edge];
            if v <= u || part.locks[u as usize] == part.locks[v as usize] || !budget.take(1) {
                continue;
            }
            work.checks += 1;
            if let Some(back) = part.edge(v, u) {
                visitor.cycle(&[edge, back]);
            }
        }
    }
}

impl<'p, C> Search<'p, C> {
    fn new(part: &'p Part<C>) -> Self {
        let n = part.locks.len();
        let mut first = vec![0u32; n + 1];
        for &v in &part.to {
            first[v as usize + 1] += 1;
        }
        for i in 1..=n {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut from = vec![0; part.to.len()];
        for u in 0..n as u32 {
            for edge in part.edges(u) {
                let slot = &mut next[part.to[edge] as usize];
                from[*slot as usize] = u;
                *slot += 1;
            }
        }
        let distance = vec![FAR; n];
        Self { part, first, from, distance, touched: vec![], path: vec![], edges: vec![] }
    }

    /// Distances to `start` up to `limit`, by way of greater vertices.
    fn measure(&mut self, start: u32, limit: u32, budget: &mut Budget, work: &mut Work) {
        work.checks += 1;
        for v in self.touched.drain(..) {
            self.distance[v as usize] = FAR;
        }
        self.distance[start as usize] = 0;
        self.touched.push(start);
        let mut open = VecDeque::from([start]);
        while let Some(v) = open.pop_front() {
            work.longest_queue = work.longest_queue.max(open.len() as u64 + 1);
            let distance = self.distance[v as usize] + 1;
            let sources = self.first[v as usize] as usize..self.first[v as usize + 1] as usize;
            if distance > limit || !budget.take(sources.len() as u64 + 1) {
                break;
            }
            for &u in &self.from[sources] {
                if u > start && self.distance[u as usize] == FAR {
                    self.distance[u as usize] = distance;
                    self.touched.push(u);
                    open.push_back(u);
                }
            }
        }
    }

    /// Length of the shortest cycle that has `start` as its least vertex.
    fn shortest_through(
        &mut self,
        start: u32,
        budget: &mut Budget,
        work: &mut Work,
    ) -> Option<u32> {
        self.measure(start, FAR - 1, budget, work);
        let ends = self.part.edges(start).map(|edge| self.part.to[edge]);
        let least = ends.filter(|&v| v > start).map(|v| self.distance[v as usize]).min()?;
        (least != FAR).then(|| least + 1)
    }

    /// Visits the cycles of exactly `length` edges whose least vertex is `start`.
    fn visit(
        &mut self,
        start: u32,
        length: u32,
        budget: &mut Budget,
        work: &mut Work,
        visitor: &mut impl Visitor,
    ) {
        self.measure(start, length - 1, budget, work);
        self.path.push(start);
        // The edge to try next, for each vertex on the path.
        let mut next = vec![self.part.edges(start).start];
        while let Some(edge) = next.last_mut() {
            let at = self.path[self.path.len() - 1];
            let used = self.path.len() as u32;
            let stops = visitor.is_done() || !budget.take(1);
            if *edge == self.part.edges(at).end || stops {
                next.pop();
                self.path.pop();
                self.edges.pop();
                continue;
            }
            let this = *edge;
            *edge += 1;
            let to = self.part.to[this];
            if used == length {
                if to == start {
                    self.edges.push(this);
                    visitor.cycle(&self.edges);
                    self.edges.pop();
                }
                continue;
            }
            let distance = self.distance[to as usize];
            if to > start && distance != FAR && used + distance <= length {
                self.edges.push(this);
                if !budget.take(u64::from(used.min(MOST_COMPARED)))
                    || !self.fits(to, length, visitor)
                {
                    self.edges.pop();
                    continue;
                }
                self.path.push(to);
                next.push(self.part.edges(to).start);
            }
        }
        self.path.clear();
        self.edges.clear();
    }

    /// Whether `v`, where the last edge leads, may follow on the path: another lock, and no shorter
    /// cycle says it all.
    fn fits(&self, v: u32, length: u32, visitor: &impl Visitor) -> bool {
        let lock = self.part.locks[v as usize];
        let before = || self.path.iter().map(|&u| self.part.locks[u as usize]);
        before().all(|other| other != lock)
            && !visitor.explained(lock, before(), &self.edges, length)
    }
}
