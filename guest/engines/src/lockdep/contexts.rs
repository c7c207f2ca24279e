//! Contexts: in which a lock was acquired, as a path in a trie, and which segments of threads did
//! so.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{
    Class, EVIDENCE_PER_NODE, Evidence, Held, Node, lock_kind, mode, node_flag,
};

use super::acquire::Acquire;
use super::core::Core;
use super::key::hash;
use super::thread::Probe;
use super::thread::ThreadState;
use super::thread::debug_lockdep::{DEBUG_LOCKDEP, make_room_to_count};
use super::thread::entry::PLACED;
use crate::capture::Capture;
use crate::held::update;
use crate::index::Index;

/// Instance contexts kept for one pair (held class, acquired class). Beyond it, contexts of the
/// pair stand for the class alone and are counted in the header as folded.
const PAIRS_PER_CLASS_PAIR: u32 = 4096;

/// Pieces of evidence for one context that stay, the first. The others are the latest.
const FIRST_EVIDENCE: u32 = EVIDENCE_PER_NODE / 2;

/// Held locks that a context names, once locks are released in another order than taken: with more,
/// the path begins at this many below the top. (Locks released last-in-first-out are all named.)
const REPLACED_DEPTH: usize = 64;

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
    fn find(&self, writer: &Writer, row: &Node) -> Option<u32> {
        self.nodes.get(writer, node_key(row))
    }

    /// Records a context that there is none of yet. 0 where there is no room.
    fn push(&mut self, writer: &mut Writer, row: Node) -> u32 {
        let key = node_key(&row);
        let Some(id) = writer.push(row) else { return 0 };
        self.nodes.insert(writer, key, id);
        id
    }

    /// Counts one more instance context of the class pair; false once it has its fill.
    fn room_for_pair(&mut self, writer: &mut Writer, parent: u32, class: u32) -> bool {
        let outer = writer.get::<Node>(parent).map_or(0, |node| node.class);
        self.room_for(writer, hash(&[u64::from(outer) << 32 | u64::from(class)]))
    }

    /// As [`Contexts::room_for_pair`], of a lock that is recorded for what is taken within it. Programs
    /// make such locks for each request.
    fn room_for_place(&mut self, writer: &mut Writer, parent: u32, class: u32) -> bool {
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
    fn attest(&mut self, writer: &mut Writer, node: u32, segment: u32) {
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

impl Core {
    /// Validates an acquisition that [`ThreadState::probe`] did not know. To be called before the
    /// thread may block, so that the order is recorded even if it never gets the lock.
    pub fn enter(
        &mut self,
        thread: &mut ThreadState,
        lock: &Acquire,
        probe: Probe,
        capture: Capture<'_>,
    ) -> Probe {
        thread.row.slow += 1;
        if DEBUG_LOCKDEP {
            let id = thread.id();
            if let Some(counts) = thread.counts() {
                // SAFETY: the counters of `thread`, whose row and lists stay mapped.
                unsafe { make_room_to_count(&mut self.writer, counts, id, lock.ident.class()) };
            }
        }
        let probe = match self.pass_held(thread) {
            true => thread.probe(lock.ident, lock.mode, lock.site),
            false => probe,
        };
        let is_idle = thread.is_idle();
        // A handler's acquisition is a context of its own, with its own stack.
        let flags = if thread.in_signal() == 0 { 0 } else { node_flag::IN_HANDLER };
        let mut new = 0;
        let node = if is_idle {
            self.site(lock, flags, capture)
        } else {
            let parent = self.place_held(thread);
            new = self.new_on_path(thread, parent);
            let node = self.nested(parent, lock, flags | new, thread.segment(), &mut *capture);
            self.check_wait_context(thread, lock, capture);
            node
        };
        if node == 0 {
            return Probe { node: 0, ..probe };
        }
        let passes = self.awaits(thread, lock);
        if !is_idle || self.is_attested_alone(lock) {
            self.attest(node, thread.segment());
        }
        let signals_matter = thread.in_signal() != 0 || thread.open_signals() != 0;
        let is_settled = !signals_matter || self.note_usage(thread, lock, node);
        let is_seen = !is_idle || passes || !self.awaits_class(thread, lock);
        // The same chain is another context once others know the locks in it.
        if new == 0 && is_settled && is_seen {
            thread.remember(probe.key, node);
        }
        Probe { key: probe.key, node, hit: true, passes }
    }

    /// The acquiring thread matters even if it held nothing. A joiner of that thread waits for the
    /// lock, too. A waiting writer makes readers wait for each other. And a thread that never takes
    /// a mutex can signal one that keeps it locked.
    fn is_attested_alone(&self, lock: &Acquire) -> bool {
        let kind = self.writer.get::<Class>(lock.ident.class()).map_or(0, |class| class.kind);
        lock.mode & mode::TRY == 0 || is_mutex(kind)
    }

    /// The context of any lock of a class taken at a site with nothing held.
    fn site(&mut self, lock: &Acquire, flags: u16, capture: Capture<'_>) -> u32 {
        let row = Node {
            class: lock.ident.class(),
            mode: lock.mode,
            flags,
            site: lock.site,
            ..Node::default()
        };
        self.node_here(row, capture)
    }

    /// The context `row`, with the stack of the call if it is new.
    fn node_here(&mut self, mut row: Node, capture: Capture<'_>) -> u32 {
        if let Some(id) = self.contexts.find(&self.writer, &row) {
            return id;
        }
        row.stack = self.captured(capture);
        self.contexts.push(&mut self.writer, row)
    }

    /// The context of `lock` below `parent`.
    pub(super) fn nested(
        &mut self,
        parent: u32,
        lock: &Acquire,
        flags: u16,
        segment: u32,
        capture: Capture<'_>,
    ) -> u32 {
        let mut row = Node {
            parent,
            class: lock.ident.class(),
            inst: lock.ident.inst(),
            mode: lock.mode,
            flags,
            site: lock.site,
            ..Node::default()
        };
        if let Some(id) = self.contexts.find(&self.writer, &row) {
            return id;
        }
        if !self.contexts.room_for_pair(&mut self.writer, parent, lock.ident.class()) {
            row.inst = 0;
            if let Some(id) = self.contexts.find(&self.writer, &row) {
                return id;
            }
        }
        row.stack = self.captured(capture);
        if row.inst != 0 {
            row.lock = self.lock_row(lock, segment);
        }
        self.contexts.push(&mut self.writer, row)
    }

    /// A context for a wait that is no acquisition (a join, a condition wait, a wait for a post):
    /// where it waits and what is held meanwhile. Remembered as `probe`.
    pub fn wait_context(
        &mut self,
        thread: &mut ThreadState,
        wait: &Acquire,
        probe: Probe,
        capture: Capture<'_>,
    ) -> u32 {
        let node = self.wait_node(thread, wait, capture);
        if node != 0 {
            // The waiter and its segment: the signaller may signal meanwhile, and the next segment
            // shows which thread was joined here.
            self.attest(node, thread.segment());
            thread.remember(probe.key, node);
        }
        node
    }

    fn wait_node(&mut self, thread: &mut ThreadState, wait: &Acquire, capture: Capture<'_>) -> u32 {
        let row = Node {
            parent: self.place_held(thread),
            mode: wait.mode,
            site: wait.site,
            ..Node::default()
        };
        self.node_here(row, capture)
    }

    /// Gives every held lock its own context and returns the innermost one's.
    pub(super) fn place_held(&mut self, thread: &mut ThreadState) -> u32 {
        let depth = thread.depth();
        let mut first = depth;
        while first > 0 && thread.held_at(first).flags & PLACED == 0 {
            first -= 1;
        }
        let mut parent = match first {
            0 => 0,
            _ => thread.held_at(first).node,
        };
        let mut flags = 0;
        if (depth - first) as usize > REPLACED_DEPTH {
            first = depth - REPLACED_DEPTH as u32;
            parent = 0;
            flags = node_flag::TRUNCATED;
        }
        for i in first + 1..=depth {
            let held = thread.held_at(i);
            if !held.is_held() {
                // In flux below a signal handler, or given up.
                continue;
            }
            let node = self.place(parent, &held, flags, thread.segment());
            flags = 0;
            if node != 0 {
                let place = |held: &mut Held| {
                    held.node = node;
                    held.flags |= PLACED;
                };
                // SAFETY: `i` runs from 1 to the depth, so the entry lies in the array of `thread`.
                unsafe { update(thread.entry(i), place) };
                parent = node;
            }
        }
        parent
    }

    /// The instance context of a held lock below `parent`. Its stack is the one known from where it
    /// was acquired.
    pub(super) fn place(&mut self, parent: u32, held: &Held, flags: u16, segment: u32) -> u32 {
        let known = self.writer.get::<Node>(held.node).copied().unwrap_or_default();
        if known.inst == 0 && known.parent == parent && parent != 0 {
            // A folded pair stands for its class, and so does what is nested inside.
            return held.node;
        }
        let mut row = Node {
            parent,
            class: held.class,
            inst: held.inst,
            mode: held.mode,
            flags,
            site: held.site,
            ..Node::default()
        };
        if let Some(id) = self.contexts.find(&self.writer, &row) {
            return id;
        }
        // Within the same lock they are what `nested` counts.
        let is_known = known.parent == parent && parent != 0;
        if !is_known && !self.contexts.room_for_place(&mut self.writer, parent, held.class) {
            row.inst = 0;
            if let Some(id) = self.contexts.find(&self.writer, &row) {
                return id;
            }
        }
        row.stack = known.stack;
        if row.inst != 0 {
            row.lock = self.lock_row(&Acquire::of(held), segment);
        }
        self.contexts.push(&mut self.writer, row)
    }

    /// Records that `segment` took context `node`, unless that is known.
    pub(super) fn attest(&mut self, node: u32, segment: u32) {
        self.contexts.attest(&mut self.writer, node, segment);
    }

    /// Which locks on the path up to `parent`, all held by the thread, only it knows: bits for
    /// [`Node::flags`].
    fn new_on_path(&self, thread: &ThreadState, parent: u32) -> u16 {
        // The usual case, decided by what is at hand.
        if !thread.has_births() {
            return 0;
        }
        let mut bits = 0;
        let mut at = parent;
        for k in 0..node_flag::NEWS {
            let Some(node) = self.writer.get::<Node>(at) else { break };
            if thread.has_born(node.inst) {
                bits |= node_flag::NEW << k;
            }
            at = node.parent;
        }
        bits
    }
}

/// A lock that one thread holds at a time and waits for asleep.
fn is_mutex(kind: u8) -> bool {
    matches!(kind, lock_kind::MUTEX | lock_kind::RECURSIVE | lock_kind::ERRORCHECK)
}
