//! The graph of dependencies, held -> acquired, between lock instances or between lock classes.
//!
//! A vertex is a lock together with the way it is held, shared or not; an edge leads to every
//! vertex that the acquirer would wait for. So readers that do not block each other make no path,
//! which is what the kernel calls a strong dependency path: W1R2_R2R3_W3W1 has no cycle here.
//!
//! To find the strongly connected parts, an acquisition needs an edge from the innermost held lock
//! only, as that one has edges from those further out: it is the kernel's reduction, and with it a
//! chain of n locks costs n edges and not n². Within the parts that matter, all are collected.

use lockwright_ledger::rows::{Node, excludes, mode};

use super::budget::Budget;
use crate::model::{Model, shared};
use crate::view::occurrence::{Context, Level};

/// Ancestors that may be visited to build the graph.
const WALK_BUDGET: u64 = 300_000_000;

/// Dependencies that may be kept.
const MAX_LINKS: usize = 20_000_000;

/// A strongly connected part with two locks or more. Vertices are numbered from 0.
#[derive(Debug)]
pub struct Part<C = Context> {
    /// By vertex: the lock at the graph's level.
    pub locks: Vec<u32>,
    /// By vertex, one more at the end: where its edges begin.
    pub first: Vec<u32>,
    /// By edge: vertex it leads to, ascending for one source.
    pub to: Vec<u32>,
    /// By edge: where its contexts are.
    ranges: Vec<(u32, u32)>,
    contexts: Vec<C>,
}

impl<C> Part<C> {
    /// Edges that leave `vertex`.
    pub fn edges(&self, vertex: u32) -> std::ops::Range<usize> {
        self.first[vertex as usize] as usize..self.first[vertex as usize + 1] as usize
    }

    /// The edge from `from` to `to`.
    pub fn edge(&self, from: u32, to: u32) -> Option<usize> {
        let range = self.edges(from);
        self.to[range.clone()].binary_search(&to).ok().map(|i| range.start + i)
    }

    /// Occurrences of an edge.
    pub fn contexts(&self, edge: usize) -> &[C] {
        let (from, to) = self.ranges[edge];
        &self.contexts[from as usize..to as usize]
    }

    /// The locks that its edges are between, with the edges.
    pub fn pairs(&self) -> impl Iterator<Item = ((u32, u32), usize)> {
        let vertices = 0..self.locks.len() as u32;
        vertices.flat_map(move |from| {
            let lock = |vertex: u32| self.locks[vertex as usize];
            self.edges(from).map(move |edge| ((lock(from), lock(self.to[edge])), edge))
        })
    }

    /// All occurrences.
    pub fn all_contexts(&self) -> &[C] {
        &self.contexts
    }
}

/// A vertex: the lock, and in the lowest two bits how it is shared while it is held.
pub type Vertex = u64;

/// The vertex of a lock that is held in `mode`.
pub fn vertex(lock: u32, mode: u16) -> Vertex {
    u64::from(lock) << 2 | shared(mode)
}

/// The lock of a vertex.
fn lock_at(vertex: Vertex) -> u32 {
    (vertex >> 2) as u32
}

/// The parts of the dependency graph in which cycles can be, and whether all of it was looked at.
pub fn parts(model: &Model<'_>, level: Level) -> (Vec<Part>, bool) {
    let mut budget = Budget::new(WALK_BUDGET);
    let links = links(model, level, &mut budget);
    let mut vertices: Vec<Vertex> = links.iter().map(|link| link.0).collect();
    vertices.dedup();
    let graph = Compressed::new(&vertices, &links);
    drop(links);
    let home = graph.homes(&vertices);
    let part_of = |v: Vertex| home[vertices.binary_search(&v).ok()?];
    let mut found: Vec<(u32, u32, u32, Context)> = Vec::new();
    for (id, node) in model.trie.all_contexts() {
        let Some(lock) = level.id(model, node) else { continue };
        for target in targets(model, node, lock) {
            let Some((part, to)) = part_of(target) else { continue };
            for (held, by) in level.held(model, id) {
                if !budget.take(1) || found.len() >= MAX_LINKS {
                    budget.take(u64::MAX);
                    break;
                }
                let from = level.id(model, by).filter(|&from| from != lock);
                let from = from.and_then(|from| part_of(vertex(from, by.mode)));
                if let Some((_, from)) = from.filter(|&(p, _)| p == part) {
                    found.push((part, from, to, Context { acquired: id, held }));
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    (
        found.chunk_by(|a, b| a.0 == b.0).map(|links| part(&vertices, links)).collect(),
        !budget.is_spent_out(),
    )
}

/// The parts of a graph of which all links are there: from, to, and an occurrence.
pub fn parts_of<C: Copy + Ord>(mut links: Vec<(Vertex, Vertex, C)>) -> Vec<Part<C>> {
    links.sort_unstable();
    links.dedup();
    let mut vertices: Vec<Vertex> = links.iter().map(|link| link.0).collect();
    vertices.dedup();
    let mut pairs: Vec<(Vertex, Vertex)> = links.iter().map(|link| (link.0, link.1)).collect();
    pairs.dedup();
    let home = Compressed::new(&vertices, &pairs).homes(&vertices);
    let part_of = |v: Vertex| home[vertices.binary_search(&v).ok()?];
    let mut found: Vec<(u32, u32, u32, C)> = links
        .iter()
        .filter_map(|&(from, to, occurrence)| {
            let ((part, from), (other, to)) = (part_of(from)?, part_of(to)?);
            (part == other).then_some((part, from, to, occurrence))
        })
        .collect();
    found.sort_unstable();
    found.chunk_by(|a, b| a.0 == b.0).map(|links| part(&vertices, links)).collect()
}

/// The locks that an acquisition waits for, by the way they are held.
pub fn targets(model: &Model<'_>, node: &Node, lock: u32) -> impl Iterator<Item = Vertex> {
    let waits_for_readers =
        model.classes.has_readers(node.class) && !model.reads_freely(node.class, node.mode);
    [0, mode::READ, mode::READ | mode::UPGRADABLE]
        .into_iter()
        .filter(move |&held| excludes(node.mode, held) || waits_for_readers)
        .map(move |held| vertex(lock, held))
}

/// Whether dependencies on locks further out also lead through this held lock.
fn stands_for_outer(model: &Model<'_>, level: Level, held: &Node) -> bool {
    held.mode & mode::TRY == 0
        && !model.reads_freely(held.class, held.mode)
        && level.id(model, held).is_some()
}

/// Dependencies that have the same strongly connected parts as all of them; sorted, each once.
fn links(model: &Model<'_>, level: Level, budget: &mut Budget) -> Vec<(Vertex, Vertex)> {
    let mut links = Vec::new();
    for (id, node) in model.trie.all_contexts() {
        let Some(lock) = level.id(model, node) else { continue };
        for (_, held) in level.held(model, id) {
            if !budget.take(1) || links.len() >= MAX_LINKS {
                budget.take(u64::MAX);
                break;
            }
            if let Some(from) = level.id(model, held).filter(|&from| from != lock) {
                let from = vertex(from, held.mode);
                links.extend(targets(model, node, lock).map(|to| (from, to)));
                if stands_for_outer(model, level, held) {
                    break;
                }
            }
        }
    }
    links.sort_unstable();
    links.dedup();
    links
}

/// A part from its sorted dependencies.
fn part<C: Copy>(vertices: &[Vertex], links: &[(u32, u32, u32, C)]) -> Part<C> {
    let mut members: Vec<u32> = links.iter().flat_map(|l| [l.1, l.2]).collect();
    members.sort_unstable();
    members.dedup();
    let local = |v: u32| members.binary_search(&v).unwrap_or_default() as u32;
    let mut part = Part {
        locks: members.iter().map(|&v| lock_at(vertices[v as usize])).collect(),
        first: vec![0; members.len() + 1],
        to: Vec::new(),
        ranges: Vec::new(),
        contexts: links.iter().map(|l| l.3).collect(),
    };
    let mut at = 0;
    for edge in links.chunk_by(|a, b| (a.1, a.2) == (b.1, b.2)) {
        part.first[local(edge[0].1) as usize + 1] += 1;
        part.to.push(local(edge[0].2));
        part.ranges.push((at, at + edge.len() as u32));
        at += edge.len() as u32;
    }
    for v in 1..part.first.len() {
        part.first[v] += part.first[v - 1];
    }
    part
}

/// A graph in compressed rows.
struct Compressed {
    first: Vec<u32>,
    to: Vec<u32>,
}

impl Compressed {
    /// `links` are sorted and begin at `vertices`; those that end elsewhere lead nowhere.
    fn new(vertices: &[Vertex], links: &[(Vertex, Vertex)]) -> Self {
        let mut first = vec![0u32];
        let mut to = Vec::new();
        for edges in links.chunk_by(|a, b| a.0 == b.0) {
            to.extend(
                edges
                    .iter()
                    .filter_map(|&(_, v)| vertices.binary_search(&v).ok())
                    .map(|i| i as u32),
            );
            first.push(to.len() as u32);
        }
        Self { first, to }
    }

    /// By vertex: its strongly connected component and its index, if cycles can be in there.
    /// Components of one lock, a reader and a writer of it at most, cannot hold one.
    fn homes(&self, vertices: &[Vertex]) -> Vec<Option<(u32, u32)>> {
        let (component, count) = self.components();
        let mut lock_of: Vec<Option<u32>> = vec![None; count];
        let mut real = vec![false; count];
        for (&c, &v) in component.iter().zip(vertices) {
            let seen = lock_of[c as usize].get_or_insert(lock_at(v));
            real[c as usize] |= *seen != lock_at(v);
        }
        let home = |(&c, i): (&u32, u32)| real[c as usize].then_some((c, i));
        component.iter().zip(0..).map(home).collect()
    }

    /// Number of the strongly connected component of each vertex, and how many there are. Tarjan's
    /// algorithm, with its recursion unrolled: chains may be longer than our stack.
    fn components(&self) -> (Vec<u32>, usize) {
        const NEW: u32 = u32::MAX;
        let n = self.first.len() - 1;
        let mut component = vec![NEW; n];
        let mut index = vec![NEW; n];
        let mut low = vec![0u32; n];
        let (mut counter, mut count) = (0, 0);
        let mut open: Vec<u32> = Vec::new();
        let mut walk: Vec<(u32, u32)> = Vec::new();
        for root in 0..n as u32 {
            if index[root as usize] != NEW {
                continue;
            }
            walk.push((root, self.first[root as usize]));
            while let Some(&mut (v, ref mut edge)) = walk.last_mut() {
                let i = v as usize;
                if index[i] == NEW {
                    (index[i], low[i]) = (counter, counter);
                    counter += 1;
                    open.push(v);
                }
                if *edge < self.first[i + 1] {
                    let w = self.to[*edge as usize];
                    *edge += 1;
                    if index[w as usize] == NEW {
                        walk.push((w, self.first[w as usize]));
                    } else if component[w as usize] == NEW {
                        low[i] = low[i].min(index[w as usize]);
                    }
                    continue;
                }
                walk.pop();
                if let Some(&(parent, _)) = walk.last() {
                    low[parent as usize] = low[parent as usize].min(low[i]);
                }
                if low[i] == index[i] {
                    while let Some(w) = open.pop() {
                        component[w as usize] = count;
                        if w == v {
                            break;
                        }
                    }
                    count += 1;
                }
            }
        }
        (component, count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn components(links: &[(Vertex, Vertex)]) -> Vec<u32> {
        let mut vertices: Vec<Vertex> = links.iter().map(|link| link.0).collect();
        vertices.dedup();
        Compressed::new(&vertices, links).components().0
    }

    #[test]
    fn rings_are_one_component_and_chains_are_many() {
        assert_eq!(components(&[(1, 2), (2, 3), (3, 1)]), [0, 0, 0]);
        let chain = components(&[(1, 2), (2, 3), (3, 4)]);
        assert_eq!(chain, [2, 1, 0]);
        let two = components(&[(1, 2), (2, 1), (2, 3), (3, 4), (4, 3)]);
        assert_eq!(two, [1, 1, 0, 0]);
    }

    #[test]
    fn long_chains_do_not_exhaust_the_stack() {
        let links: Vec<_> = (0..200_000).map(|v| (v, (v + 1) % 200_000)).collect();
        assert!(components(&links).iter().all(|&c| c == 0));
    }
}
