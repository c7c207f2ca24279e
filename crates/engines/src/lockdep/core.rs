//! The slow path: what one lock of the host guards. Every method here runs at most once per new
//! thing (class, context, segment, thread), or when a thread is about to block.

use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release};

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{
    self, Class, Evidence, Finding, Held, Lock, Node, Segment, Stack, Step, Text, Thread,
    class_origin, finding_kind, lock_kind, mode, node_flag, segment_kind, thread_state,
};

use super::annotate::{Annotations, text_hash};
use super::entry::PLACED;
use super::key::hash;
use super::thread::{Arena, FIRST_HELD, ThreadState};
use super::{Acquire, Capture, Ident, MAX_FRAMES, Probe};
use crate::index::Index;

/// Instance contexts kept for one pair (held class, acquired class). Beyond it, contexts of the pair
/// stand for the class alone and are counted in the header as folded.
const PAIRS_PER_CLASS_PAIR: u32 = 4096;

/// Segments kept as evidence for one context.
const EVIDENCE_PER_NODE: u32 = 64;

/// Held locks that a context names, once locks are released in another order than taken: with more,
/// the path begins at this many below the top. (Locks released last-in-first-out are all named.)
const REPLACED_DEPTH: usize = 64;

/// What a lock's class is made from.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// A lock in a module's data: module row and address in the ELF file's address space.
    Static {
        /// Module row.
        module: u32,
        /// Address within the module.
        offset: u64,
    },
    /// The call stack of its initialisation.
    Init(&'a [u64]),
    /// The call stack of its first acquisition.
    FirstAcquire(&'a [u64]),
    /// A place in a heap block.
    Allocation {
        /// The call stack of the block's allocation.
        frames: &'a [u64],
        /// The lock's offset in the block.
        offset: u64,
    },
    /// A class of the process this one was forked from.
    Inherited(u32),
    /// What the program says.
    Annotated {
        /// The name it gives; none is that of class `base`.
        name: &'a [u8],
        /// The class without subclass, where there is no name.
        base: u32,
        /// The subclass it gives, or 0.
        subclass: u16,
        /// Where it says so.
        frames: &'a [u64],
    },
}

/// The validator's shared state. See the module.
pub struct Core {
    pub(super) writer: Writer,
    nodes: Index,
    stacks: Index,
    evidence: Index,
    classes: Index,
    pub(super) locks: Index,
    pub(super) pairs: Index,
    pub(super) misuses: Index,
    /// By instance: locks that threads held when they ended, and that nobody has released since.
    pub(super) abandoned: Index,
    pub(super) usages: Index,
    /// By context and thread: acquisitions looked at for their use in or with signals.
    pub(super) looks: Index,
    pub(super) annotations: Annotations,
    pub(super) syncs: Index,
    pub(super) holds: Index,
    pub(super) offsets: Index,
    /// First of the list of live threads.
    live: u32,
    /// Freed [`Arena`]s, linked by offset through their first word.
    free_arenas: u64,
    epoch: u32,
}

impl Core {
    /// Starts on an empty ledger.
    pub const fn new(writer: Writer) -> Self {
        Self {
            writer,
            nodes: Index::new(),
            stacks: Index::new(),
            evidence: Index::new(),
            classes: Index::new(),
            locks: Index::new(),
            pairs: Index::new(),
            misuses: Index::new(),
            abandoned: Index::new(),
            usages: Index::new(),
            looks: Index::new(),
            annotations: Annotations::new(),
            syncs: Index::new(),
            holds: Index::new(),
            offsets: Index::new(),
            live: 0,
            free_arenas: 0,
            epoch: 1,
        }
    }

    /// The ledger, for what the host writes itself (modules, header).
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// The ledger, to read.
    pub fn ledger(&self) -> &Writer {
        &self.writer
    }

    /// The module table changed: stacks taken from now on are resolved against the new one.
    pub fn next_epoch(&mut self) -> u32 {
        self.epoch += 1;
        self.writer.header().epoch.store(self.epoch, Relaxed);
        self.epoch
    }

    /// Interns a call stack.
    pub fn stack(&mut self, frames: &[u64]) -> u32 {
        if frames.is_empty() {
            return 0;
        }
        let key = hash(frames) ^ u64::from(self.epoch);
        if let Some(id) = self.stacks.get(&self.writer, key) {
            return id;
        }
        let Some(first) = self.writer.frames(frames) else { return 0 };
        let row = Stack {
            len: frames.len() as u32,
            first,
            epoch: self.epoch,
            hash: key,
            ..Stack::default()
        };
        let Some(id) = self.writer.push(row) else { return 0 };
        self.stacks.insert(&mut self.writer, key, id);
        id
    }

    /// Reads an interned call stack, as much of it as `frames` holds, and says how long it is there.
    pub fn read_stack(&self, stack: u32, frames: &mut [u64]) -> usize {
        let Some(stack) = self.writer.get::<Stack>(stack) else { return 0 };
        let n = frames.len().min(stack.len as usize);
        for (frame, index) in frames[..n].iter_mut().zip(stack.first..) {
            *frame = self.writer.frame(index);
        }
        n
    }

    pub(super) fn captured(&mut self, capture: Capture<'_>) -> u32 {
        let mut frames = [0; MAX_FRAMES];
        let n = capture(&mut frames).min(MAX_FRAMES);
        self.stack(&frames[..n])
    }

    // --- locks ---------------------------------------------------------------------------------

    /// A lock begins its life: finds its class and gives it a number.
    pub fn new_lock(&mut self, kind: u8, origin: Origin<'_>) -> Option<Ident> {
        let class = self.class(kind, origin)?;
        self.writer.update::<Class>(class, |row| row.locks = row.locks.saturating_add(1));
        Some(Ident::new(self.next_instance(), class))
    }

    /// The number of a lock that begins its life. Numbers wrap after 2^32 locks; by then the contexts of
    /// the first are long cold.
    pub(super) fn next_instance(&mut self) -> u32 {
        let seen = self.writer.header().locks_seen.fetch_add(1, Relaxed) + 1;
        (seen as u32).max(1)
    }

    pub(super) fn class(&mut self, kind: u8, origin: Origin<'_>) -> Option<u32> {
        let mut row = Class { kind, ..Class::default() };
        let frames: &[u64] = match origin {
            Origin::Static { module, offset } => {
                row.origin = class_origin::STATIC;
                (row.module, row.offset) = (module, offset);
                row.key = hash(&[u64::from(module), offset]);
                &[]
            }
            Origin::Init(frames) => {
                row.origin = class_origin::INIT;
                row.key = hash(frames);
                frames
            }
            Origin::FirstAcquire(frames) => {
                row.origin = class_origin::FIRST_ACQUIRE;
                row.key = hash(frames);
                frames
            }
            Origin::Allocation { frames, offset } => {
                row.origin = class_origin::ALLOCATION;
                row.offset = self.offset_in_block(frames, offset);
                row.key = hash(&[hash(frames), row.offset]);
                frames
            }
            Origin::Inherited(parent) => {
                row.origin = class_origin::INHERITED;
                row.parent = parent;
                row.wait_type = self.inherited_wait_type(parent);
                row.key = hash(&[u64::from(parent)]);
                &[]
            }
            Origin::Annotated { name, base, subclass, frames } => {
                row.origin = class_origin::ANNOTATED;
                (row.parent, row.subclass) = (base, subclass);
                row.key = hash(&[text_hash(name), u64::from(base) << 32 | u64::from(subclass)]);
                frames
            }
        };
        row.key ^= hash(&[u64::from(row.origin) << 8 | u64::from(kind)]);
        if let Some(id) = self.classes.get(&self.writer, row.key) {
            return Some(id);
        }
        row.stack = self.stack(frames);
        if let Origin::Annotated { name, .. } = origin {
            row.name = self.writer.text(name);
        }
        let key = row.key;
        let id = self.writer.push(row)?;
        self.classes.insert(&mut self.writer, key, id);
        Some(id)
    }

    /// Names a class (annotation).
    pub fn name_class(&mut self, class: u32, name: &[u8]) {
        let text = self.writer.text(name);
        if text != Text::default() {
            self.writer.update::<Class>(class, |row| row.name = text);
        }
    }

    /// A lock that a forked child's thread holds from its parent: `class` is the parent's.
    pub fn inherited_lock(&mut self, kind: u8, class: u32) -> Option<Ident> {
        self.new_lock(kind, Origin::Inherited(class))
    }

    /// Row of a lock whose instance matters.
    pub(super) fn lock_row(&mut self, held: &Acquire, segment: u32) -> u32 {
        let key = hash(&[u64::from(held.ident.inst())]);
        if let Some(id) = self.locks.get(&self.writer, key) {
            return id;
        }
        let kind = self.writer.get::<Class>(held.ident.class()).map_or(0, |class| class.kind);
        let row = Lock {
            inst: held.ident.inst(),
            class: held.ident.class(),
            kind,
            addr: held.addr,
            segment,
            ..Lock::default()
        };
        let Some(id) = self.writer.push(row) else { return 0 };
        self.locks.insert(&mut self.writer, key, id);
        id
    }

    // --- contexts ------------------------------------------------------------------------------

    /// Validates an acquisition that [`ThreadState::probe`] did not know. To be called before the
    /// thread may block, so that the order is on record even if it never gets the lock.
    pub fn enter(
        &mut self,
        thread: &mut ThreadState,
        lock: &Acquire,
        probe: Probe,
        capture: Capture<'_>,
    ) -> Probe {
        thread.row.slow += 1;
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

    /// Who took the lock matters even if it held nothing: a writer makes readers wait for each other while it waits
    /// itself, and who never takes a mutex can signal somebody who keeps that locked.
    fn is_attested_alone(&self, lock: &Acquire) -> bool {
        match self.writer.get::<Class>(lock.ident.class()).map(|class| class.kind) {
            Some(lock_kind::RWLOCK_WRITER) => lock.mode & (mode::READ | mode::TRY) == 0,
            Some(kind) => is_mutex(kind),
            None => false,
        }
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
        let key = node_key(&row);
        if let Some(id) = self.nodes.get(&self.writer, key) {
            return id;
        }
        row.stack = self.captured(capture);
        self.push_node(row, key)
    }

    fn push_node(&mut self, row: Node, key: u64) -> u32 {
        let Some(id) = self.writer.push(row) else { return 0 };
        self.nodes.insert(&mut self.writer, key, id);
        id
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
        let mut key = node_key(&row);
        if let Some(id) = self.nodes.get(&self.writer, key) {
            return id;
        }
        if !self.room_for_pair(parent, lock.ident.class()) {
            row.inst = 0;
            key = node_key(&row);
            if let Some(id) = self.nodes.get(&self.writer, key) {
                return id;
            }
        }
        row.stack = self.captured(capture);
        if row.inst != 0 {
            row.lock = self.lock_row(lock, segment);
        }
        self.push_node(row, key)
    }

    /// Counts one more instance context of the class pair; false once it has its fill.
    fn room_for_pair(&mut self, parent: u32, class: u32) -> bool {
        let outer = self.writer.get::<Node>(parent).map_or(0, |node| node.class);
        let key = hash(&[u64::from(outer) << 32 | u64::from(class)]);
        let pairs = self.pairs.get(&self.writer, key).unwrap_or(0);
        if pairs >= PAIRS_PER_CLASS_PAIR {
            self.writer.header().pairs_folded.fetch_add(1, Relaxed);
            return false;
        }
        self.pairs.insert(&mut self.writer, key, pairs + 1);
        true
    }

    /// A context for a wait that is no acquisition (a join, a condition wait): where it waits and what
    /// is held meanwhile. Remembered as `probe`.
    pub fn wait_context(
        &mut self,
        thread: &mut ThreadState,
        wait: &Acquire,
        probe: Probe,
        capture: Capture<'_>,
    ) -> u32 {
        let node = self.wait_node(thread, wait, capture);
        if node != 0 {
            // Who waits with other locks kept is none that takes them on its way to the signal.
            if wait.mode & mode::COND_WAIT != 0 && thread.depth() > 1 {
                self.attest(node, thread.segment());
            }
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
        // SAFETY: entries up to depth exist.
        while first > 0 && unsafe { (*thread.entry(first)).flags } & PLACED == 0 {
            first -= 1;
        }
        let mut parent = match first {
            0 => 0,
            // SAFETY: as above.
            _ => unsafe { (*thread.entry(first)).node },
        };
        let mut flags = 0;
        if (depth - first) as usize > REPLACED_DEPTH {
            first = depth - REPLACED_DEPTH as u32;
            parent = 0;
            flags = node_flag::TRUNCATED;
        }
        for i in first + 1..=depth {
            // SAFETY: as above.
            let held = unsafe { &mut *thread.entry(i) };
            if !held.is_held() {
                // In flux below a signal handler, or given up.
                continue;
            }
            let node = self.place(parent, held, flags, thread.segment());
            flags = 0;
            if node != 0 {
                held.node = node;
                held.flags |= PLACED;
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
        let key = node_key(&row);
        if let Some(id) = self.nodes.get(&self.writer, key) {
            return id;
        }
        row.stack = known.stack;
        row.lock = self.lock_row(&acquire_of(held), segment);
        self.push_node(row, key)
    }

    /// Records that `segment` took context `node`, unless that is known or the list is full.
    pub(super) fn attest(&mut self, node: u32, segment: u32) {
        let key = hash(&[u64::from(node) << 32 | u64::from(segment)]);
        if self.evidence.get(&self.writer, key).is_some() {
            return;
        }
        let Some(&Node { evidence, evidence_len, .. }) = self.writer.get::<Node>(node) else {
            return;
        };
        if evidence_len >= EVIDENCE_PER_NODE {
            self.writer.update::<Node>(node, |row| row.folded = row.folded.saturating_add(1));
            return;
        }
        let row = Evidence { node, segment, next: evidence, ..Evidence::default() };
        let Some(id) = self.writer.push(row) else { return };
        self.evidence.insert(&mut self.writer, key, id);
        self.writer.update::<Node>(node, |row| {
            row.evidence = id;
            row.evidence_len += 1;
        });
    }

    /// Moves the held array of a thread that holds as many locks as fit to one twice the size.
    /// Returns false where there is no room: the lock then goes unwatched.
    pub fn grow_held(&mut self, thread: &mut ThreadState) -> bool {
        if thread.compact() {
            return true;
        }
        let capacity = thread.row.capacity;
        let bytes = |n: u32| n as usize * size_of::<Held>();
        let Some(offset) = self.writer.alloc(bytes(capacity * 2)) else { return false };
        let new = self.writer.at(offset).cast::<Held>();
        let old_offset = core::mem::replace(&mut thread.row.held, offset);
        // SAFETY: both arrays hold `capacity` elements; they do not overlap.
        unsafe { ptr::copy_nonoverlapping(thread.entry(0), new, capacity as usize) };
        let depth = thread.depth();
        thread.row.capacity = capacity * 2;
        thread.row.base = new as u64;
        thread.row.limit = thread.entry(capacity * 2 - 1) as u64;
        thread.row.top = thread.entry(depth) as u64;
        if capacity != FIRST_HELD {
            // The first array is part of the thread's arena; later ones are ours to reuse.
            self.writer.free(old_offset, bytes(capacity));
        }
        true
    }

    // --- threads -------------------------------------------------------------------------------

    /// A thread begins. Its state stays valid until [`Core::thread_exit`]. `None` where there is no
    /// room: the thread then goes unwatched.
    pub fn thread_start(
        &mut self,
        tid: u32,
        now_ns: u64,
        parent_segment: u32,
        create_stack: u32,
    ) -> Option<*mut ThreadState> {
        let offset = match self.free_arenas {
            0 => self.writer.alloc(size_of::<Arena>())?,
            offset => {
                let at = self.writer.at(offset);
                // SAFETY: a freed arena; its first word links to the next.
                unsafe {
                    self.free_arenas = at.cast::<u64>().read();
                    ptr::write_bytes(at, 0, size_of::<Arena>());
                }
                offset
            }
        };
        let arena = self.writer.at(offset) as u64;
        let held = core::mem::offset_of!(Arena, held) as u64;
        let row = Thread {
            tid,
            top: arena + held,
            base: arena + held,
            limit: arena + held + (u64::from(FIRST_HELD) - 1) * size_of::<Held>() as u64,
            cache: arena,
            held: offset + held,
            capacity: FIRST_HELD,
            parent_segment,
            create_stack,
            start_ns: now_ns,
            next_live: self.live,
            id: self.writer.len_of::<Thread>().max(1),
            ..Thread::default()
        };
        let id = self.writer.push_with_state(row, thread_state::LIVE)?;
        let head = core::mem::replace(&mut self.live, id);
        self.writer.update::<Thread>(head, |row| row.prev_live = id);
        let state = self.writer.row_ptr::<Thread>(id).cast::<ThreadState>();
        // SAFETY: a row just written, which is what a state is; nobody else has it yet.
        self.next_segment(
            unsafe { &mut *state },
            segment_kind::START,
            parent_segment,
            create_stack,
        );
        // SAFETY: as above.
        self.comes_after(unsafe { &mut *state }, parent_segment);
        Some(state)
    }

    /// The thread ends. What it needed while it lived is handed to a later thread.
    ///
    /// # Safety
    /// Nobody uses `state` afterwards.
    pub unsafe fn thread_exit(&mut self, state: *mut ThreadState, now_ns: u64) {
        // SAFETY: the caller's promise; the state came from `thread_start`.
        self.hand_on(unsafe { &mut *state });
        // SAFETY: as above.
        let row = unsafe { &mut (*state).row };
        row.end_ns = now_ns;
        row.state = thread_state::EXITED;
        if row.capacity != FIRST_HELD {
            self.writer.free(row.held, row.capacity as usize * size_of::<Held>());
        }
        row.capacity = 0;
        row.top = row.base;
        let (id, next, prev) = (row.id, row.next_live, row.prev_live);
        let arena = row.cache as *mut u8;
        self.writer.update::<Thread>(next, |row| row.prev_live = prev);
        self.writer.update::<Thread>(prev, |row| row.next_live = next);
        if self.live == id {
            self.live = next;
        }
        // SAFETY: the arena's memory is ours again.
        unsafe { arena.cast::<u64>().write(self.free_arenas) };
        self.free_arenas = self.writer.offset_of(arena);
    }

    /// Sets a thread's name (at most 15 bytes are kept, as in the kernel).
    pub fn thread_name(&mut self, id: u32, name: &[u8]) {
        let n = name.iter().position(|&b| b == 0).unwrap_or(name.len()).min(15);
        self.writer.update::<Thread>(id, |row| {
            row.name = [0; 16];
            row.name[..n].copy_from_slice(&name[..n]);
        });
    }

    /// The thread is about to create another. Returns the segment that happens before all the other
    /// will do, and the stack of the call; the creator itself goes on in a new segment.
    pub fn thread_creates(&mut self, thread: &mut ThreadState, capture: Capture<'_>) -> (u32, u32) {
        let stack = self.captured(capture);
        self.hand_on(thread);
        let before = thread.segment();
        self.next_segment(thread, segment_kind::CREATED, 0, stack);
        (before, stack)
    }

    /// A thread begins to wait for the end of `target`, or gives up (`joiner` 0).
    pub fn thread_joins(&mut self, target: u32, joiner: u32) {
        self.writer.update::<Thread>(target, |row| row.joiner = joiner);
    }

    /// The thread of row `by` asks that of row `target` to end (`pthread_cancel`).
    pub fn thread_cancelled(&mut self, target: u32, by: u32) {
        self.writer.update::<Thread>(target, |row| row.cancelled_by = by);
    }

    /// The thread has joined another, whose last segment was `last`.
    pub fn thread_joined(&mut self, thread: &mut ThreadState, last: u32) {
        self.next_segment(thread, segment_kind::JOINED, last, 0);
        self.comes_after(thread, last);
    }

    pub(super) fn next_segment(
        &mut self,
        thread: &mut ThreadState,
        kind: u32,
        peer: u32,
        stack: u32,
    ) {
        self.next_segment_of(thread, kind, peer, stack, 0);
    }

    pub(super) fn next_segment_of(
        &mut self,
        thread: &mut ThreadState,
        kind: u32,
        peer: u32,
        stack: u32,
        sync: u32,
    ) {
        self.pass_held(thread);
        let row = Segment {
            thread: thread.id(),
            kind,
            prev: thread.segment(),
            peer,
            stack,
            sync,
            ..Segment::default()
        };
        if let Some(id) = self.writer.push(row) {
            thread.set_segment(id);
        }
    }

    /// First of the list of live threads ([`Thread::next_live`]), 0 if there is none.
    pub fn first_live(&self) -> u32 {
        self.live
    }

    /// A live thread: its id, its kernel thread id, and the next in the list.
    pub fn live_thread(&self, id: u32) -> Option<(u32, u32, u32)> {
        self.writer.get::<Thread>(id).map(|thread| (id, thread.tid, thread.next_live))
    }

    // --- findings ------------------------------------------------------------------------------

    /// Records a deadlock: `circle[i]` waits for a lock that `circle[i + 1]` holds (the last one's is
    /// held by the first). Returns false if it is on record already.
    pub(super) fn report_deadlock(&mut self, circle: &[u32], now_ns: u64) -> bool {
        let Some(&first) = circle.first() else { return false };
        if self.is_reported(circle) {
            return false;
        }
        let first_step = self.writer.len_of::<Step>().max(1);
        for (i, &id) in circle.iter().enumerate() {
            let Some(&thread) = self.writer.get::<Thread>(id) else { return false };
            let before = circle[(i + circle.len() - 1) % circle.len()];
            let wanted_addr = self.writer.get::<Thread>(before).map_or(0, |row| row.wait_addr);
            let (held, wanted) = self.place_foreign(&thread, wanted_addr);
            let step = Step {
                thread: id,
                addr: thread.wait_addr,
                class: thread.wait_class,
                inst: thread.wait_inst,
                mode: thread.wait_mode,
                stack: self.wait_stack(&thread),
                held,
                wanted,
                wait_seq: thread.wait_seq,
                ..Step::default()
            };
            if self.writer.push(step).is_none() {
                return false;
            }
        }
        let Some(&thread) = self.writer.get::<Thread>(first) else { return false };
        let kind = match circle.len() {
            1 => finding_kind::SELF_DEADLOCK,
            _ => finding_kind::DEADLOCK,
        };
        let finding = Finding {
            kind,
            mode: thread.wait_mode as u16,
            thread: first,
            segment: thread.segment,
            addr: thread.wait_addr,
            class: thread.wait_class,
            inst: thread.wait_inst,
            stack: self.wait_stack(&thread),
            node: self.writer.get::<Step>(first_step).map_or(0, |step| step.held),
            first_step,
            steps: circle.len() as u32,
            time_ns: now_ns,
            ..Finding::default()
        };
        if self.writer.push(finding).is_none() {
            return false;
        }
        // Release: whoever sees the count finds the rows.
        self.writer.header().deadlocks.fetch_add(1, Release);
        true
    }

    fn wait_stack(&self, thread: &Thread) -> u32 {
        self.writer.get::<Node>(thread.wait_node).map_or(0, |node| node.stack)
    }

    fn is_reported(&self, circle: &[u32]) -> bool {
        (1..self.writer.len_of::<Finding>()).any(|id| {
            self.writer.get::<Finding>(id).is_some_and(|finding| {
                matches!(finding.kind, finding_kind::DEADLOCK | finding_kind::SELF_DEADLOCK)
                    && finding.steps as usize == circle.len()
                    && (finding.first_step..finding.first_step + finding.steps).all(|step| {
                        self.writer.get::<Step>(step).is_some_and(|step| {
                            circle.contains(&step.thread)
                                && self.writer.get::<Thread>(step.thread).is_some_and(|thread| {
                                    thread.wait_addr == step.addr
                                        && thread.wait_seq == step.wait_seq
                                })
                        })
                    })
            })
        })
    }

    /// Contexts for what a waiting thread holds, without touching its state. Returns the innermost
    /// context and the one of the lock at `wanted_addr`.
    fn place_foreign(&mut self, thread: &Thread, wanted_addr: u64) -> (u32, u32) {
        let (mut parent, mut wanted) = (0, 0);
        for at in held_of(&self.writer, thread) {
            // SAFETY: the thread's held array, in bounds; it waits, so the entries stand still.
            let held = unsafe { at.read() };
            if !held.is_held() {
                continue;
            }
            let node = self.place(parent, &held, 0, thread.segment);
            if node != 0 {
                parent = node;
                if held.addr == wanted_addr {
                    wanted = node;
                }
            }
        }
        (parent, wanted)
    }
}

/// The entries of a thread's held array, which may be changing if the thread does not wait.
pub(super) fn held_of(writer: &Writer, thread: &Thread) -> impl Iterator<Item = *mut Held> + use<> {
    let size = size_of::<Held>() as u64;
    let depth = (thread.top.saturating_sub(thread.base) / size)
        .min(u64::from(thread.capacity.saturating_sub(1)));
    let first = writer.at(thread.held).cast::<Held>();
    // SAFETY: the array at `held` has `capacity` elements.
    (1..=depth as usize).map(move |i| unsafe { first.add(i) })
}

pub(super) fn acquire_of(held: &Held) -> Acquire {
    Acquire {
        addr: held.addr,
        ident: Ident::new(held.inst, held.class),
        mode: held.mode,
        site: held.site,
    }
}

/// A lock that one thread holds at a time and waits for asleep.
fn is_mutex(kind: u8) -> bool {
    matches!(kind, lock_kind::MUTEX | lock_kind::RECURSIVE | lock_kind::ERRORCHECK)
}

fn node_key(row: &Node) -> u64 {
    hash(&[
        u64::from(row.parent) << 32 | u64::from(row.class),
        u64::from(row.inst) << 32 | u64::from(row.mode) << 16 | u64::from(row.flags),
        row.site,
    ])
}

const _: () = assert!(rows::WRITTEN == thread_state::LIVE);
