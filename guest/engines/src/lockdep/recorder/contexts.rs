//! Contexts: in which a lock was acquired, as a path in a trie, and which segments of threads did
//! so.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{EVIDENCE_PER_NODE, Evidence, Node};

use crate::index::{Index, hash};

/// Instance contexts kept for one pair (held class, acquired class). Beyond it, contexts of the
/// pair stand for the class alone and are counted in the header as folded.
const PAIRS_PER_CLASS_PAIR: u32 = 4096;

/// Pieces of evidence for one context that stay, the first. The others are the latest.
const FIRST_EVIDENCE: u32 = EVIDENCE_PER_NODE / 2;

/// The recorded contexts, and their evidence.
pub(super) struct Contexts {
    nodes: Index,
    evidence: Index,
    /// By pair of classes, held and acquired: how many contexts it has.
    pairs: Index,
}

impl Contexts {
    pub(super) const fn new() -> Self {
        Self { nodes: Index::new(), evidence: Index::new(), pairs: Index::new() }
    }

    /// The context that is the same as `row`, if there is one already.
    pub(super) fn find(&self, writer: &Writer, row: &Node) -> Option<u32> {
        self.nodes.get(writer, node_key(row))
    }

    /// Records a context that there is none of yet. 0 where there is no room.
    pub(super) fn push(&mut self, writer: &mut Writer, row: Node) -> u32 {
        let key = node_key(&row);
        let Some(id) = writer.push(row) else { return 0 };
        self.nodes.insert(writer, key, id);
        id
    }

    /// Counts one more instance context of the class pair; false once it has its fill.
    pub(super) fn room_for_pair(&mut self, writer: &mut Writer, parent: u32, class: u32) -> bool {
        let outer = writer.get::<Node>(parent).map_or(0, |node| node.class);
        self.room_for(writer, hash(&[u64::from(outer) << 32 | u64::from(class)]))
    }

    /// As [`Contexts::room_for_pair`], of a lock that is recorded for what is taken within it. Programs
    /// make such locks for each request.
    pub(super) fn room_for_place(&mut self, writer: &mut Writer, parent: u32, class: u32) -> bool {
        let outer = writer.get::<Node>(parent).map_or(0, |node| node.class);
        self.room_for(writer, hash(&[u64::from(outer) << 32 | u64::from(class), 1]))
    }

    fn room_for(&mut self, writer: &mut Writer, key: u64) -> bool {
        let pairs = self.pairs.get(writer, key).unwrap_or(0);
        if pairs >= PAIRS_PER_CLASS_PAIR {
            writer.header().pairs_folded.fetch_add(1, Relaxed);
            return false;
        }
        self.pairs.insert(writer, key, pairs + 1);
        true
    }

    /// Records that `segment` took context `node`, unless that is known.
    ///
    /// The latest pieces of evidence are a ring: the newest refers to the oldest, which makes room
    /// for the next. So threads that come late are recorded together with those that they can meet.
    pub(super) fn attest(&mut self, writer: &mut Writer, node: u32, segment: u32) {
        let key = evidence_key(node, segment);
        if self.evidence.get(writer, key).is_some() {
            return;
        }
        let Some(&Node { evidence: newest, evidence_len, .. }) = writer.get::<Node>(node) else {
            return;
        };
        let oldest = writer.get::<Evidence>(newest).map_or(0, |row| row.next);
        let id = if evidence_len >= EVIDENCE_PER_NODE {
            let Some(&Evidence { segment: old, .. }) = writer.get::<Evidence>(oldest) else {
                return;
            };
            // First of all, so that a reader knows before that there were more.
            let folded = writer.get::<Node>(node).map_or(0, |row| row.folded.saturating_add(1));
            writer.set::<Node>(node, |row| &mut row.folded, folded);
            writer.set::<Evidence>(oldest, |row| &mut row.segment, segment);
            self.evidence.remove(writer, evidence_key(node, old));
            oldest
        } else {
            // The first of the ring is its own next.
            let next = match evidence_len {
                0..FIRST_EVIDENCE => newest,
                FIRST_EVIDENCE => writer.len_of::<Evidence>(),
                _ => oldest,
            };
            let row = Evidence { node, segment, next, ..Evidence::default() };
            let Some(id) = writer.push(row) else { return };
            if evidence_len > FIRST_EVIDENCE {
                writer.update::<Evidence>(newest, |row| row.next = id);
            }
            id
        };
        self.evidence.insert(writer, key, id);
        writer.update::<Node>(node, |row| {
            row.evidence = id;
            row.evidence_len = (row.evidence_len + 1).min(EVIDENCE_PER_NODE);
        });
    }

    /// A segment took context `node` with another lock held that was not known then: the piece of evidence is of no segment now.
    pub(super) fn withdraw(&mut self, writer: &mut Writer, node: u32, segment: u32) {
        let key = evidence_key(node, segment);
        if let Some(id) = self.evidence.get(writer, key) {
            writer.set::<Evidence>(id, |row| &mut row.segment, 0);
            self.evidence.remove(writer, key);
        }
    }
}

fn evidence_key(node: u32, segment: u32) -> u64 {
    hash(&[u64::from(node) << 32 | u64::from(segment)])
}

fn node_key(row: &Node) -> u64 {
    hash(&[
        u64::from(row.parent) << 32 | u64::from(row.class),
        u64::from(row.inst) << 32 | u64::from(row.mode) << 16 | u64::from(row.flags),
        row.site,
    ])
}
