//! The edges of the trie of stacks ([`super::memo`]). Those of most programs have room in a small table, in which few pages are
//! touched. A program that makes locks at hundreds of places, or an interpreter that switches threads wherever it is, fills
//! that by half and goes on in a larger one.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use super::steps::Step;
use crate::os::sys;

/// Places of the first table.
const FIRST: usize = 1 << 13;
/// Places of the second, 1.5 MiB.
const SECOND: usize = 1 << 15;

/// Edges of the first table where there is a second: a look for what is not there ends after a few places.
const MOST_IN_FIRST: u32 = FIRST as u32 / 2;

/// Places where an edge may be, from that on which its hash says. As many as a table that is half full has in a row: a path of
/// which one edge finds no place is unwound each time.
const PROBES: usize = 64;

/// An edge, and the node that it leads to.
#[repr(C)]
pub struct Edge {
    /// The node that it leads from; 0: there is no edge here yet.
    from: AtomicU32,
    /// The [`Step`] from the node that it leads to; if its path ends here, with the path's [row](super::rows), once it has one;
    /// before that with 0, or a mark of [`super::memo`].
    pub(super) step: AtomicU32,
    /// The word that was read at the node that it leads from.
    word: AtomicU64,
    /// What the path leads to, if it ends here.
    values: [AtomicU32; 2],
    /// For the keeper of the value; 0 at first.
    pub count: AtomicU32,
    pub limit: AtomicU32,
    pub number: AtomicU32,
    /// The node of the path that was kept before, if its path ends here.
    pub(super) before: AtomicU32,
}

impl Edge {
    #[expect(clippy::declare_interior_mutable_const, reason = "what a static begins with")]
    const NONE: Self = Self {
        from: AtomicU32::new(0),
        step: AtomicU32::new(0),
        word: AtomicU64::new(0),
        values: [const { AtomicU32::new(0) }; 2],
        count: AtomicU32::new(0),
        limit: AtomicU32::new(0),
        number: AtomicU32::new(0),
        before: AtomicU32::new(0),
    };

    /// What was kept.
    pub fn values(&self) -> [u32; 2] {
        // Relaxed: `Edges::find` has seen the edge whole.
        [self.values[0].load(Relaxed), self.values[1].load(Relaxed)]
    }
}

/// All edges. They never change and are never removed: readers take no lock.
pub(super) struct Edges {
    first: [Edge; FIRST],
    /// The [`SECOND`] edges of the second table; null: there is none yet. A forked child has its parent's.
    second: AtomicPtr<Edge>,
    /// Edges in the first table.
    in_first: AtomicU32,
}

impl Edges {
    #[expect(clippy::declare_interior_mutable_const, reason = "what a static begins with")]
    pub(super) const NONE: Self = Self {
        first: [Edge::NONE; FIRST],
        second: AtomicPtr::new(core::ptr::null_mut()),
        in_first: AtomicU32::new(0),
    };

    /// The second table, empty if there is none.
    #[inline(always)]
    fn second(&self) -> &[Edge] {
        // Acquire pairs with the Release in `begin_second`: the table is mapped.
        let table = self.second.load(Acquire);
        if table.is_null() {
            return &[];
        }
        // SAFETY: so many edges, mapped by `begin_second` for good; zeroes are edges. All that changes is atomic.
        unsafe { core::slice::from_raw_parts(table, SECOND) }
    }

    /// Maps the second table. Where that cannot be, the first is filled.
    #[cold]
    fn begin_second(&self) -> &[Edge] {
        let table = sys::map_zeroed(SECOND * size_of::<Edge>()).cast();
        // Pairs with the Acquire in `second`.
        self.second.store(table, Release);
        self.second()
    }

    /// The edge that leads to a node, which is not 0.
    #[inline(always)]
    pub(super) fn edge(&self, node: u32) -> Option<&Edge> {
        let i = (node as usize).checked_sub(1)?;
        self.first.get(i).or_else(|| self.second().get(i - FIRST))
    }

    /// The edge from a node by a word, and the node that it leads to.
    #[inline(always)]
    pub(super) fn find(&self, from: u32, word: u64) -> Option<(u32, &Edge)> {
        match find_in(&self.first, from, word) {
            Some((i, edge)) => Some((i as u32 + 1, edge)),
            None => self.find_in_second(from, word),
        }
    }

    #[inline(never)]
    fn find_in_second(&self, from: u32, word: u64) -> Option<(u32, &Edge)> {
        let second = self.second();
        if second.is_empty() {
            return None;
        }
        let (i, edge) = find_in(second, from, word)?;
        Some(((FIRST + i) as u32 + 1, edge))
    }

    /// The node that an edge leads to, which is made if there is none. The caller has the core's lock.
    pub(super) fn add(&self, from: u32, word: u64, step: Step, values: [u32; 2]) -> Option<u32> {
        // Relaxed: only the holder of the core's lock adds.
        let in_first = self.in_first.load(Relaxed);
        let second = match self.second() {
            [] if in_first >= MOST_IN_FIRST => self.begin_second(),
            second => second,
        };
        let (table, before) =
            if second.is_empty() { (&self.first[..], 0) } else { (second, FIRST) };
        let first = first_place(from, word, table.len());
        // A write, whatever is there: a page that is read first and written to then is two page faults in a child.
        let _ = table[first].from.compare_exchange(u32::MAX, u32::MAX, Relaxed, Relaxed);
        if let Some((node, edge)) = self.find(from, word) {
            // Of another step there is none: that depends on the same words. But code can be changed.
            return (edge.step.load(Relaxed) == step.0).then_some(node);
        }
        let places = (0..PROBES).map(|i| (first + i) % table.len());
        // Relaxed: as above.
        let i = places.into_iter().find(|&i| table[i].from.load(Relaxed) == 0)?;
        let edge = &table[i];
        edge.step.store(step.0, Relaxed);
        edge.word.store(word, Relaxed);
        edge.values[0].store(values[0], Relaxed);
        edge.values[1].store(values[1], Relaxed);
        // Pairs with the Acquire in `find_in`.
        edge.from.store(from, Release);
        if before == 0 {
            self.in_first.store(in_first + 1, Relaxed);
        }
        Some((before + i) as u32 + 1)
    }
}

/// The edge, and its place.
#[inline(always)]
fn find_in(table: &[Edge], from: u32, word: u64) -> Option<(usize, &Edge)> {
    let mut place = first_place(from, word, table.len());
    for _ in 0..PROBES {
        let edge = &table[place];
        // Acquire pairs with the Release in `add`: the rest is there.
        let its = edge.from.load(Acquire);
        if its == from && edge.word.load(Relaxed) == word {
            return Some((place, edge));
        }
        if its == 0 {
            return None;
        }
        place = (place + 1) % table.len();
    }
    None
}

/// The first place where an edge may be in a table of so many, a power of two. The others follow it.
#[inline(always)]
fn first_place(from: u32, word: u64, places: usize) -> usize {
    // Fibonacci hashing, as in `rule_cache`.
    let hash = (word ^ u64::from(from) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (64 - places.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On the heap, without a copy on the stack.
    fn none() -> &'static Edges {
        let layout = std::alloc::Layout::new::<Edges>();
        // SAFETY: zeroes are `Edges` without an edge; the memory has their layout, and is never freed.
        unsafe { std::alloc::alloc_zeroed(layout).cast::<Edges>().as_ref() }.expect("memory")
    }

    /// Edges as they come in programs: from a node that is there, by an address.
    fn random_edges(count: usize) -> impl Iterator<Item = (u32, u64)> {
        let mut random = 1_u64;
        (0..count).map(move |_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (1 + random as u32 % FIRST as u32, 0x40_0000 + (random >> 20) % (1 << 22))
        })
    }

    #[test]
    fn what_has_no_room_in_the_first_table_is_found_in_the_second() {
        let edges = none();
        const COUNT: usize = FIRST / 2 + SECOND * 3 / 5;
        let mut nodes = std::collections::HashMap::new();
        for (i, (from, word)) in random_edges(COUNT).enumerate() {
            let node = edges.add(from, word, Step::END, [i as u32; 2]).expect("room");
            nodes.entry((from, word)).or_insert(node);
        }
        assert_eq!(edges.in_first.load(Relaxed), MOST_IN_FIRST);
        for (&(from, word), &node) in &nodes {
            let (found, edge) = edges.find(from, word).expect("it was added");
            assert_eq!(found, node);
            assert!(core::ptr::eq(edge, edges.edge(node).expect("a node")));
        }
        let distinct: std::collections::HashSet<_> = nodes.values().collect();
        assert_eq!(distinct.len(), nodes.len(), "no two edges lead to one node");
        assert!(edges.find(1, 5).is_none() && edges.edge(0).is_none());
        assert!(edges.edge((FIRST + SECOND) as u32 + 1).is_none());
    }

    #[test]
    fn full_tables_keep_what_they_have() {
        let edges = none();
        let all = (FIRST + SECOND) as u64;
        let added =
            (0..all).take_while(|&i| edges.add(1, i, Step::END, [5, i as u32]).is_some()).count();
        assert!((SECOND / 4..all as usize).contains(&added), "{added}");
        for i in 0..added as u64 {
            assert_eq!(edges.find(1, i).map(|(_, edge)| edge.values()), Some([5, i as u32]));
        }
        assert!(edges.find(1, added as u64).is_none() && edges.find(2, 0).is_none());
    }
}
