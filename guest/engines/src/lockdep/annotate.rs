//! A program's annotations of its locks: names, subclasses, nest locks, wait types, declared
//! orders, pins, and waits that another thread ends.
//!
//! A name or subclass makes a class of its own. The rest is either a mark on a class or on a held
//! lock, or a row that the ledger's reader compares with what was recorded.

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{
    Class, Evidence, Finding, Held, Lock, Node, Order, Segment, finding_kind, mode, wait_type,
};

use super::acquire::{Acquire, Ident};
use super::classes::Origin;
use super::core::Core;
use super::key::{hash, text_hash};
use super::misuse::Misuse;
use super::thread::ThreadState;
use crate::capture::Capture;
use crate::index::Index;

/// What the core keeps for annotations.
pub(super) struct Annotations {
    /// Declared orders.
    orders: Index,
    /// Some class was given a wait type.
    wait_types: bool,
    /// By class of the process that this one was forked from: the wait type that it was given
    /// there.
    inherited_wait_types: Index,
}

impl Annotations {
    pub(super) const fn new() -> Self {
        Self { orders: Index::new(), wait_types: false, inherited_wait_types: Index::new() }
    }

    /// The wait type of a class of the process that this one was forked from.
    pub(super) fn inherited_wait_type(&self, writer: &Writer, parents: u32) -> u32 {
        let key = hash(&[u64::from(parents)]);
        self.inherited_wait_types.get(writer, key).unwrap_or(wait_type::UNKNOWN)
    }
}

impl Core {
    /// A lock that is `ident` so far, if it was met before, is given a name. `kind` is what it is.
    pub fn name_lock(
        &mut self,
        ident: Option<Ident>,
        kind: u8,
        name: &[u8],
        frames: &[u64],
    ) -> Option<Ident> {
        let origin = Origin::Annotated { name, base: 0, subclass: 0, frames };
        match ident {
            Some(ident) => self.reclass(ident, origin),
            None => self.new_lock(kind, origin),
        }
    }

    /// A lock is put into a subclass of its class; 0 is the class itself.
    pub fn subclass_lock(&mut self, ident: Ident, subclass: u16, frames: &[u64]) -> Option<Ident> {
        let class = *self.writer.get::<Class>(ident.class())?;
        if class.subclass == subclass {
            return Some(ident);
        }
        if class.name.len == 0 {
            let base = if class.parent != 0 { class.parent } else { ident.class() };
            return match subclass {
                0 => self.put_into(ident, base),
                _ => self.reclass(ident, Origin::Annotated { name: &[], base, subclass, frames }),
            };
        }
        let mut name = [0; MAX_NAME];
        let name = self.writer.read_text(class.name, &mut name);
        self.reclass(ident, Origin::Annotated { name, base: 0, subclass, frames })
    }

    /// Moves a lock to another class.
    fn reclass(&mut self, ident: Ident, origin: Origin<'_>) -> Option<Ident> {
        let kind = self.writer.get::<Class>(ident.class()).map_or(0, |class| class.kind);
        let class = self.class(kind, origin)?;
        self.put_into(ident, class)
    }

    fn put_into(&mut self, ident: Ident, class: u32) -> Option<Ident> {
        if class == ident.class() {
            return Some(ident);
        }
        self.writer.update::<Class>(ident.class(), |row| row.locks = row.locks.saturating_sub(1));
        self.writer.update::<Class>(class, |row| row.locks = row.locks.saturating_add(1));
        // The instance may have records, and they name its old class: then it gets a new instance
        // number.
        let is_on_record = self.recorded_lock(ident.inst()).is_some();
        let inst = match is_on_record {
            true => self.next_instance(),
            false => ident.inst(),
        };
        Some(Ident::new(inst, class))
    }

    /// Several locks of the class of `lock` may be taken in any order while one of the class of
    /// `nest` is held.
    pub fn nest_lock(&mut self, lock: Ident, nest: Ident) {
        self.writer.update::<Class>(lock.class(), |row| row.nest = nest.class());
    }

    /// Says what a thread does that waits for a lock of the class: one of [`wait_type`].
    pub fn set_wait_type(&mut self, lock: Ident, wait_type: u32) {
        let before = self.writer.get::<Class>(lock.class()).map_or(0, |class| class.wait_type);
        if before == wait_type {
            return;
        }
        self.annotations.wait_types |= wait_type != wait_type::UNKNOWN;
        self.writer.update::<Class>(lock.class(), |row| row.wait_type = wait_type);
        self.check_recorded(lock.class());
    }

    /// In a forked child: the program need not annotate its classes again.
    pub fn inherit(&mut self, parent: &Self) {
        if !parent.annotations.wait_types {
            return;
        }
        self.annotations.wait_types = true;
        for id in 1..parent.writer.len_of::<Class>() {
            let said = parent.writer.get::<Class>(id).map_or(0, |class| class.wait_type);
            if said != wait_type::UNKNOWN {
                let key = hash(&[u64::from(id)]);
                self.annotations.inherited_wait_types.insert(&mut self.writer, key, said);
            }
        }
    }

    /// The wait type of class `changed` is new: checks the existing records with it.
    fn check_recorded(&mut self, changed: u32) {
        for id in 1..self.writer.len_of::<Node>() {
            let Some(&node) = self.writer.get::<Node>(id) else { continue };
            let Some(outer) = self.spins_around(&node) else { continue };
            if node.class != changed && outer.class != changed {
                continue;
            }
            let evidence = self.writer.get::<Evidence>(node.evidence);
            let segment = evidence.map_or(0, |evidence| evidence.segment);
            self.push_misuse(Finding {
                kind: finding_kind::WAIT_CONTEXT,
                mode: node.mode,
                thread: self.writer.get::<Segment>(segment).map_or(0, |segment| segment.thread),
                segment,
                addr: self.writer.get::<Lock>(node.lock).map_or(0, |lock| lock.addr),
                class: node.class,
                inst: node.inst,
                stack: node.stack,
                node: node.parent,
                detail: outer.inst.into(),
                ..Finding::default()
            });
        }
    }

    /// The outermost lock around a recorded acquisition that makes it an invalid one, as
    /// [`Core::check_wait_context`] has it.
    fn spins_around(&self, node: &Node) -> Option<Node> {
        let class = self.writer.get::<Class>(node.class).filter(|_| node.class != 0)?;
        if class.waits() != wait_type::SLEEP || node.mode & mode::TRY != 0 {
            return None;
        }
        let mut found = None;
        let mut at = node.parent;
        while let Some(&outer) = self.writer.get::<Node>(at).filter(|_| at != 0) {
            let spins = self.writer.get::<Class>(outer.class).is_some_and(|other| {
                other.waits() == wait_type::SPIN
                    && (class.wait_type | other.wait_type) != wait_type::UNKNOWN
            });
            found = if spins { Some(outer) } else { found };
            at = outer.parent;
        }
        found
    }

    /// Records an acquisition that may sleep while a lock is held whose waiters spin. Only if the
    /// program has declared the type of one of the two: a mutex inside a spinlock alone is common,
    /// if not nice.
    pub(super) fn check_wait_context(
        &mut self,
        thread: &mut ThreadState,
        lock: &Acquire,
        capture: Capture<'_>,
    ) {
        if !self.annotations.wait_types || thread.is_idle() || lock.mode & mode::TRY != 0 {
            return;
        }
        let class_of = |class| self.writer.get::<Class>(class);
        let Some(class) = class_of(lock.ident.class()) else { return };
        let is_said = |other: &Class| (class.wait_type | other.wait_type) != wait_type::UNKNOWN;
        let spins = |held: &Held| {
            held.addr != 0
                && class_of(held.class)
                    .is_some_and(|other| other.waits() == wait_type::SPIN && is_said(other))
        };
        if class.waits() != wait_type::SLEEP {
            return;
        }
        let Some(spinning) = thread.held().find(spins) else { return };
        let what = Misuse {
            detail: spinning.inst.into(),
            ..Misuse::new(finding_kind::WAIT_CONTEXT, lock.addr, lock.ident)
        };
        self.misuse(thread, &what, 0, capture);
    }

    /// The program declares that locks named `before` are taken before those named `after`.
    pub fn declare_order(&mut self, before: &[u8], after: &[u8], frames: &[u64]) {
        let key = hash(&[text_hash(before), text_hash(after)]);
        if self.annotations.orders.get(&self.writer, key).is_some() {
            return;
        }
        let stack = self.stack(frames);
        let (before, after) = (self.writer.text(before), self.writer.text(after));
        if let Some(id) = self.writer.push(Order { stack, before, after, ..Order::default() }) {
            self.annotations.orders.insert(&mut self.writer, key, id);
        }
    }

    /// The thread ends the waits for `completion`. The waiters depend on each lock that the thread
    /// holds now: those are recorded as taken inside the completion.
    pub fn completes(
        &mut self,
        thread: &mut ThreadState,
        completion: &Acquire,
        capture: Capture<'_>,
    ) {
        let mut parent = self.nested(0, completion, 0, thread.segment(), capture);
        // Stacks of what is held come with its contexts.
        self.place_held(thread);
        for i in 1..=thread.depth() {
            let held = thread.held_at(i);
            if held.addr == 0 || parent == 0 {
                continue;
            }
            parent = self.place(parent, &held, 0, thread.segment());
            if parent != 0 {
                self.attest(parent, thread.segment());
            }
        }
    }

    /// Stack of the calling thread's place, for [`ThreadState::pin`].
    pub fn pin_stack(&mut self, capture: Capture<'_>) -> u32 {
        self.captured(capture).max(1)
    }

    /// The kind of a lock that was met before.
    pub fn kind_of(&self, ident: Ident) -> u8 {
        self.writer.get::<Class>(ident.class()).map_or(0, |class| class.kind)
    }
}

/// Longest name that is kept.
pub const MAX_NAME: usize = 255;
