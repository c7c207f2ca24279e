//! The recorder: what lockdep has in its ledger (classes, contexts, stacks, threads, segments, findings),
//! and the indexes by which it finds what is there already.
//!
//! It knows no check. A check has its own state and gets the recorder as an argument. Each table has a
//! file, and knows no other table; the methods of [`Recorder`] bring them together.

mod classes;
mod contexts;
mod findings;
pub(crate) mod held_contexts;
pub(crate) mod holders;
mod interpreted;
mod lasting_sites;
mod lives;
mod memory;
pub(crate) mod misuse;
mod modules;
pub(crate) mod naming;
mod segment_list;
mod segments;
mod stacks;
mod syncs;
pub(crate) mod threads;
mod waits;

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::rows::{Class, Node, Stack, Sync, Text};
use lockwright_ledger::{Header, Writer};

use self::classes::Classes;
use self::contexts::Contexts;
use self::findings::Findings;
use self::interpreted::Interpreted;
use self::modules::Modules;
use self::stacks::Stacks;
use self::syncs::Syncs;
use self::threads::Threads;
use super::acquire::{Acquire, Ident};
use crate::capture::{Capture, MAX_FRAMES, known_row};

pub(crate) use self::segment_list::SegmentList;

pub use self::classes::{Makers, Origin, SharedPlace, Sharing};
pub use self::interpreted::{ASK, Interpreter, Place, Places};
pub use self::modules::{Image, Loaded, Shift};
pub use self::syncs::Round;

/// See the module.
pub(crate) struct Recorder {
    pub(crate) writer: Writer,
    pub(crate) modules: Modules,
    stacks: Stacks,
    interpreted: Interpreted,
    classes: Classes,
    contexts: Contexts,
    threads: Threads,
    findings: Findings,
    syncs: Syncs,
    pub(crate) segments: SegmentList,
}

impl Recorder {
    /// Starts on an empty ledger.
    pub(crate) const fn new(writer: Writer) -> Self {
        Self {
            writer,
            modules: Modules::new(),
            stacks: Stacks::new(),
            interpreted: Interpreted::new(),
            classes: Classes::new(),
            contexts: Contexts::new(),
            threads: Threads::new(),
            findings: Findings::new(),
            syncs: Syncs::new(),
            segments: SegmentList::new(),
        }
    }

    /// Interns the stack that `capture` takes.
    pub(crate) fn captured(&mut self, capture: Capture<'_>) -> u32 {
        let mut frames = [0; MAX_FRAMES];
        let n = capture(&mut frames).min(MAX_FRAMES);
        if let Some(stack) = known_row(&frames[..n]) {
            return stack;
        }
        let n = self.with_interpreted(&mut frames, n);
        self.stack(&frames[..n])
    }

    /// Interns a call stack.
    pub(crate) fn stack(&mut self, frames: &[u64]) -> u32 {
        self.stacks.intern(&mut self.writer, &self.modules, frames)
    }

    /// Reads the return addresses of an interned call stack, as many as `frames` holds, and says
    /// how many these are.
    pub(crate) fn read_stack(&self, stack: u32, frames: &mut [u64]) -> usize {
        Stacks::read(&self.writer, stack, frames)
    }

    /// The module table changed: stacks taken from now on are resolved against the new one.
    pub(crate) fn next_epoch(&mut self) -> u32 {
        self.stacks.next_epoch(&self.writer)
    }

    /// Has interpreters' frames looked up by `interpreter`.
    pub(crate) fn interpreted_by(&mut self, interpreter: Interpreter) {
        self.interpreted.set_interpreter(interpreter);
    }

    /// See [`crate::lockdep::Core::with_interpreted`].
    pub(crate) fn with_interpreted(&mut self, frames: &mut [u64], n: usize) -> usize {
        self.interpreted.complete(&mut self.writer, frames, n)
    }

    /// Stack of a context, 0 if there is none.
    pub(crate) fn stack_of(&self, node: u32) -> u32 {
        self.writer.get::<Node>(node).map_or(0, |node| node.stack)
    }

    /// The class of locks of this kind and origin.
    pub(crate) fn class(&mut self, kind: u8, origin: Origin<'_>) -> Option<u32> {
        self.classes.class(&mut self.writer, &mut self.stacks, &self.modules, kind, origin)
    }

    /// What the locks of a class are; 0 if there is no such class.
    pub(crate) fn kind_of_class(&self, class: u32) -> u8 {
        self.writer.get::<Class>(class).map_or(0, |class| class.kind)
    }

    /// A lock begins its life: finds its class and gives it a number.
    pub(crate) fn new_lock(&mut self, kind: u8, origin: Origin<'_>) -> Option<Ident> {
        let class = self.class(kind, origin)?;
        Some(self.another_lock(class))
    }

    /// Another lock of the class begins its life: gives it a number.
    pub(crate) fn another_lock(&mut self, class: u32) -> Ident {
        self.count_locks(class, 1);
        Ident::new(next_instances(self.writer.header(), 1), class)
    }

    /// Counts `locks` more of a class. How many it has then.
    pub(crate) fn count_locks(&mut self, class: u32, locks: u32) -> u32 {
        let mut all = 0;
        // Relaxed: a count, which publishes nothing else.
        self.writer.header().locks_seen.fetch_add(locks.into(), Relaxed);
        self.writer.update::<Class>(class, |row| {
            row.locks = row.locks.saturating_add(locks);
            all = row.locks;
        });
        all
    }

    /// Names a class (annotation).
    pub(crate) fn name_class(&mut self, class: u32, name: &[u8]) {
        let text = self.writer.text(name);
        if text != Text::default() {
            self.writer.update::<Class>(class, |row| row.name = text);
        }
    }

    /// In a forked child: the wait types of its parent's classes. The program need not annotate them
    /// again.
    pub(crate) fn inherit_wait_types(&mut self, parent: &Self) {
        self.classes.inherit_wait_types(&mut self.writer, &parent.writer);
    }

    /// The lock at `addr` is for several processes, and lies in memory that they share.
    pub(crate) fn is_shared(&self, addr: u64, ident: Ident) -> bool {
        self.classes.sharing.is_some_and(|sharing| sharing(addr, ident).is_some())
    }

    /// Row of a lock whose instance matters.
    pub(crate) fn lock_row(&mut self, held: &Acquire, segment: u32) -> u32 {
        self.classes.lock_row(&mut self.writer, held, segment)
    }

    /// The row of a lock, if there is one already.
    pub(crate) fn recorded_lock(&self, inst: u32) -> Option<u32> {
        self.classes.recorded_lock(&self.writer, inst)
    }

    /// A barrier or semaphore begins its life.
    pub(crate) fn sync_init(&mut self, kind: u32, addr: u64, size: u32) {
        self.syncs.init(&mut self.writer, kind, addr, size);
    }

    /// The row of the barrier or semaphore at `addr`, if its beginning was recorded.
    pub(crate) fn sync(&self, kind: u32, addr: u64) -> Option<(u32, Sync)> {
        self.syncs.find(&self.writer, kind, addr)
    }

    /// Threads of this process are still to come in the round that a thread waits in, according to
    /// [`Round::ident`].
    pub(crate) fn is_round_open(&self, addr: u64, ident: Ident) -> bool {
        self.syncs.is_round_open(&self.writer, addr, ident)
    }

    /// Whether the calling thread, which is at `frames`, is in the very call of the function that
    /// began the life of class `class`'s locks: at another place of it. Another call of the same
    /// function comes to the same place, or by another way.
    pub(crate) fn is_same_call(&self, class: u32, frames: &[u64]) -> bool {
        let stack = self.writer.get::<Class>(class).map_or(0, |class| class.stack);
        let Some(stack) = self.writer.get::<Stack>(stack) else { return false };
        let was =
            |i| self.modules.lasting_of(&self.writer, stack, self.writer.frame(stack.first + i));
        stack.len as usize == frames.len()
            && (0..)
                .zip(frames)
                .all(|(i, &frame)| (was(i) == self.modules.lasting(frame)) == (i != 0))
    }
}

/// The first of `n` numbers, of which none is 0, for locks that begin their lives. Numbers wrap after some 2^32 locks; by
/// then the contexts of the first are long cold.
pub(crate) fn next_instances(header: &Header, n: u32) -> u32 {
    loop {
        // Relaxed: numbers, which publish nothing else.
        let first = header.instances.fetch_add(n, Relaxed).wrapping_add(1);
        // Near the wrap they are left out: what counts on from the last of them must not come to 0.
        if first != 0 && first.checked_add(n | 0xffff).is_some() {
            return first;
        }
    }
}
