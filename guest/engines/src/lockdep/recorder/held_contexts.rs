//! The contexts of what a thread holds, and of what it acquires or waits for within that.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::{Held, Node, lock_kind, mode, node_flag};

use super::Recorder;
use crate::capture::Capture;
use crate::held::update;
use crate::lockdep::acquire::Acquire;
use crate::lockdep::thread::debug_lockdep::make_room_to_count;
use crate::lockdep::thread::entry::PLACED;
use crate::lockdep::thread::{Probe, ThreadRow, ThreadState};

/// Held locks that a context names, once locks are released in another order than taken: with more,
/// the path begins at this many below the top. (Locks released last-in-first-out are all named.)
const REPLACED_DEPTH: usize = 64;

/// The context that a thread enters by an acquisition.
pub(crate) struct Entered {
    /// Its row, 0 where there is no room.
    pub(crate) node: u32,
    /// It has locks that only the thread knows.
    pub(crate) has_new: bool,
    /// It stands for all locks of the class of which it has no context that stands for the lock alone.
    pub(crate) is_folded: bool,
}

impl Recorder {
    /// The context in which the thread acquires `lock`.
    pub(crate) fn enter(
        &mut self,
        thread: &mut ThreadState,
        lock: &Acquire,
        capture: Capture<'_>,
    ) -> Entered {
        // A handler's acquisition is a context of its own, with its own stack.
        let flags = if thread.in_signal() == 0 { 0 } else { node_flag::IN_HANDLER };
        if thread.is_idle() {
            let node = self.site(lock, flags, capture);
            return Entered { node, has_new: false, is_folded: false };
        }
        let parent = self.place_held(thread);
        let new = self.new_on_path(thread, parent);
        let node = self.nested(parent, lock, flags | new, thread.segment(), capture);
        let is_alone = self.writer.get::<Node>(node).is_none_or(|node| node.inst != 0);
        let is_folded = !is_alone && parent != 0 && self.notes_recorded();
        Entered { node, has_new: new != 0, is_folded }
    }

    /// Threads are to ask the core about this lock.
    pub(crate) fn note_recorded(&self, inst: u32) {
        self.classes.note_recorded(inst);
    }

    /// Threads can see which locks have rows.
    fn notes_recorded(&self) -> bool {
        self.classes.recorded.is_some()
    }

    /// The thread is about to acquire a lock of `class` in a chain that is new to it: makes sure that
    /// there is a counter, in a build that counts acquisitions.
    pub(crate) fn make_room_to_count(&mut self, thread: &mut ThreadState, class: u32) {
        let id = thread.id();
        if let Some(counts) = thread.counts() {
            // SAFETY: the counters of `thread`, whose row and lists stay mapped.
            unsafe { make_room_to_count(&mut self.writer, counts, id, class) };
        }
    }

    /// The acquiring thread matters even if it held nothing. A joiner of that thread waits for the
    /// lock, too. A waiting writer makes readers wait for each other. And a thread that never takes
    /// a mutex can signal one that keeps it locked.
    pub(crate) fn is_attested_alone(&self, lock: &Acquire) -> bool {
        let kind = self.kind_of_class(lock.ident.class());
        lock.mode & mode::TRY == 0 || is_mutex(kind)
    }

    /// The context of any lock of a class taken at a site with nothing held.
    fn site(&mut self, lock: &Acquire, flags: u16, capture: Capture<'_>) -> u32 {
        let row = Node {
            class: lock.ident.class(),
            mode: lock.mode,
            flags,
            site: self.lasting_site(lock.site, &mut *capture),
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
    pub(crate) fn nested(
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
            site: self.lasting_site(lock.site, &mut *capture),
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
    pub(crate) fn wait_context(
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
            site: self.lasting_site(wait.site, &mut *capture),
            ..Node::default()
        };
        self.node_here(row, capture)
    }

    /// Gives every held lock its own context and returns the innermost one's.
    pub(crate) fn place_held(&mut self, thread: &mut ThreadState) -> u32 {
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

    /// The context of what the thread holds now, 0 if that is nothing.
    pub(crate) fn held_context(&mut self, thread: &mut ThreadState) -> u32 {
        // What has been released is not held, though its entry may still be there.
        thread.close_gaps();
        self.place_held(thread)
    }

    /// Contexts for what a waiting thread holds, without touching its state. Returns the innermost
    /// context and the one of the lock at `wanted_addr`.
    pub(crate) fn place_foreign(&mut self, thread: ThreadRow, wanted_addr: u64) -> (u32, u32) {
        let (mut parent, mut wanted) = (0, 0);
        // It waits, so the entries stand still.
        for (_, held) in thread.held() {
            if !held.is_held() {
                continue;
            }
            let node = self.place(parent, &held, 0, thread.segment().load(Relaxed));
            if node != 0 {
                parent = node;
                if held.addr == wanted_addr {
                    wanted = node;
                }
            }
        }
        (parent, wanted)
    }

    /// The instance context of a held lock below `parent`. Its stack is the one known from where it
    /// was acquired.
    pub(crate) fn place(&mut self, parent: u32, held: &Held, flags: u16, segment: u32) -> u32 {
        let known = self.writer.get::<Node>(held.node).copied().unwrap_or_default();
        let is_below = known.parent == parent && parent != 0;
        // It is acquired in a context that stands for its class. What is nested in it is about this lock all the same.
        let is_folded = is_below && known.inst == 0;
        let mut row = Node {
            parent,
            class: held.class,
            inst: held.inst,
            mode: held.mode,
            flags,
            // That of the context in which it was acquired may be of lasting addresses.
            site: if self.modules.have_moved() && known.site != 0 { known.site } else { held.site },
            ..Node::default()
        };
        if let Some(id) = self.contexts.find(&self.writer, &row) {
            return id;
        }
        // Within the same lock they are what `nested` counts.
        let is_known = is_below && !is_folded;
        if !is_known && !self.contexts.room_for_place(&mut self.writer, parent, held.class) {
            if is_folded {
                return held.node;
            }
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
    pub(crate) fn attest(&mut self, node: u32, segment: u32) {
        self.contexts.attest(&mut self.writer, node, segment);
    }

    /// Records that `segment` did not take context `node`: more was held.
    pub(crate) fn withdraw(&mut self, node: u32, segment: u32) {
        self.contexts.withdraw(&mut self.writer, node, segment);
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
