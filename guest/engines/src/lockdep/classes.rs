//! Classes of locks, and the locks whose instance matters.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{ANY_OFFSET, Class, Lock, Text, class_origin};

use super::acquire::{Acquire, Ident};
use super::annotate::Annotations;
use super::core::Core;
use super::key::hash;
use super::key::text_hash;
use super::stacks::Stacks;
use crate::index::Index;

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

/// Places in the heap blocks of one allocation that make classes of their own.
const OFFSETS_PER_STACK: u32 = 8;

/// The recorded classes and locks.
pub(super) struct Classes {
    classes: Index,
    locks: Index,
    /// By call stack of an allocation: how many places in its blocks have locks; and those places.
    offsets: Index,
}

impl Classes {
    pub(super) const fn new() -> Self {
        Self { classes: Index::new(), locks: Index::new(), offsets: Index::new() }
    }

    /// The class of locks of this kind and origin.
    fn class(
        &mut self,
        writer: &mut Writer,
        stacks: &mut Stacks,
        annotations: &Annotations,
        kind: u8,
        origin: Origin<'_>,
    ) -> Option<u32> {
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
                row.offset = self.offset_in_block(writer, frames, offset);
                row.key = hash(&[hash(frames), row.offset]);
                frames
            }
            Origin::Inherited(parent) => {
                row.origin = class_origin::INHERITED;
                row.parent = parent;
                row.wait_type = annotations.inherited_wait_type(writer, parent);
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
        if let Some(id) = self.classes.get(writer, row.key) {
            return Some(id);
        }
        row.stack = stacks.intern(writer, frames);
        if let Origin::Annotated { name, .. } = origin {
            row.name = writer.text(name);
        }
        let key = row.key;
        let id = writer.push(row)?;
        self.classes.insert(writer, key, id);
        Some(id)
    }

    /// Locks in heap blocks are classed by where the block was allocated and where in
    /// it they lie. A structure has few locks, each a class of its own; a block with many is an
    /// array, and they are one.
    ///
    /// What the class of a lock at `offset` of a block allocated at `frames` goes by.
    fn offset_in_block(&mut self, writer: &mut Writer, frames: &[u64], offset: u64) -> u64 {
        let stack = hash(frames);
        let place = hash(&[stack, offset]);
        if self.offsets.get(writer, place).is_some() {
            return offset;
        }
        let seen = self.offsets.get(writer, stack).unwrap_or(0);
        // Places beyond are not remembered: arrays may be long.
        if seen == OFFSETS_PER_STACK {
            return ANY_OFFSET;
        }
        self.offsets.insert(writer, stack, seen + 1);
        self.offsets.insert(writer, place, seen + 1);
        offset
    }

    /// Row of a lock whose instance matters.
    fn lock_row(&mut self, writer: &mut Writer, held: &Acquire, segment: u32) -> u32 {
        if let Some(id) = self.recorded_lock(writer, held.ident.inst()) {
            return id;
        }
        let kind = writer.get::<Class>(held.ident.class()).map_or(0, |class| class.kind);
        let row = Lock {
            inst: held.ident.inst(),
            class: held.ident.class(),
            kind,
            addr: held.addr,
            segment,
            ..Lock::default()
        };
        let Some(id) = writer.push(row) else { return 0 };
        self.locks.insert(writer, lock_key(held.ident.inst()), id);
        id
    }

    /// The row of a lock, if there is one already.
    fn recorded_lock(&self, writer: &Writer, inst: u32) -> Option<u32> {
        self.locks.get(writer, lock_key(inst))
    }
}

fn lock_key(inst: u32) -> u64 {
    hash(&[u64::from(inst)])
}

impl Core {
    /// A lock begins its life: finds its class and gives it a number.
    pub fn new_lock(&mut self, kind: u8, origin: Origin<'_>) -> Option<Ident> {
        let class = self.class(kind, origin)?;
        self.writer.update::<Class>(class, |row| row.locks = row.locks.saturating_add(1));
        Some(Ident::new(self.next_instance(), class))
    }

    /// The number of a lock that begins its life. Numbers wrap after 2^32 locks; by then the
    /// contexts of the first are long cold.
    pub(super) fn next_instance(&mut self) -> u32 {
        let seen = self.writer.header().locks_seen.fetch_add(1, Relaxed) + 1;
        (seen as u32).max(1)
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

    pub(super) fn class(&mut self, kind: u8, origin: Origin<'_>) -> Option<u32> {
        let Self { writer, stacks, annotations, classes, .. } = self;
        classes.class(writer, stacks, annotations, kind, origin)
    }

    /// Row of a lock whose instance matters.
    pub(super) fn lock_row(&mut self, held: &Acquire, segment: u32) -> u32 {
        self.classes.lock_row(&mut self.writer, held, segment)
    }

    /// The row of a lock, if there is one already.
    pub(super) fn recorded_lock(&self, inst: u32) -> Option<u32> {
        self.classes.recorded_lock(&self.writer, inst)
    }
}
