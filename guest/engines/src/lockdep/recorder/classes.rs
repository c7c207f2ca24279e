//! Classes of locks, and the locks whose instance matters.

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{ANY_OFFSET, Class, Lock, class_origin, lock_kind, wait_type};

use super::modules::Modules;
use super::stacks::Stacks;
use crate::index::{Index, hash};
use crate::lockdep::acquire::{Acquire, Ident};
use crate::lockdep::key::text_hash;
use crate::lockdep::recorded_locks::RecordedLocks;

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
    /// The class of the mutexes of monitors.
    Monitor(u32),
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

/// A lock in memory that processes share, as any of them can tell it.
#[derive(Clone, Copy, Debug)]
pub struct SharedPlace {
    /// Device, inode, and byte in it.
    pub place: [u64; 3],
    /// CLOCK_MONOTONIC.
    pub now_ns: u64,
}

/// Says where the lock at an address lies, if that is in memory that processes share and the lock is for several.
pub type Sharing = fn(u64, Ident) -> Option<SharedPlace>;

/// Says which thread made the lock that a number stands for, 0 if that is not known.
pub type Makers = fn(u32) -> u32;

/// Places in the heap blocks of one allocation that make classes of their own.
const OFFSETS_PER_STACK: u32 = 8;

/// The recorded classes and locks.
pub(super) struct Classes {
    classes: Index,
    locks: Index,
    /// Which locks have rows, for those without the core's lock.
    pub(super) recorded: Option<&'static RecordedLocks>,
    /// Asked about each mutex and reader-writer lock that gets a row.
    pub(super) sharing: Option<Sharing>,
    /// Asked about each lock that gets a row.
    pub(super) makers: Option<Makers>,
    /// By call stack of an allocation: how many places in its blocks have locks; and those places.
    offsets: Index,
    /// By class of the process that this one was forked from: the wait type that it was given
    /// there.
    inherited_wait_types: Index,
}

impl Classes {
    pub(super) const fn new() -> Self {
        Self {
            classes: Index::new(),
            locks: Index::new(),
            recorded: None,
            sharing: None,
            makers: None,
            offsets: Index::new(),
            inherited_wait_types: Index::new(),
        }
    }

    /// The class of locks of this kind and origin.
    pub(super) fn class(
        &mut self,
        writer: &mut Writer,
        stacks: &mut Stacks,
        modules: &Modules,
        kind: u8,
        origin: Origin<'_>,
    ) -> Option<u32> {
        let mut row = Class { kind, ..Class::default() };
        let frames: &[u64] = match origin {
            Origin::Static { module, offset } => {
                row.origin = class_origin::STATIC;
                (row.module, row.offset) = (module, offset);
                row.key = hash(&[u64::from(modules.first_row(writer, module)), offset]);
                &[]
            }
            Origin::Init(frames) => {
                row.origin = class_origin::INIT;
                row.key = modules.lasting_hash(frames);
                frames
            }
            Origin::FirstAcquire(frames) => {
                row.origin = class_origin::FIRST_ACQUIRE;
                row.key = modules.lasting_hash(frames);
                frames
            }
            Origin::Allocation { frames, offset } => {
                row.origin = class_origin::ALLOCATION;
                let stack = modules.lasting_hash(frames);
                row.offset = self.offset_in_block(writer, stack, offset);
                row.key = hash(&[stack, row.offset]);
                frames
            }
            Origin::Inherited(parent) => {
                row.origin = class_origin::INHERITED;
                row.parent = parent;
                row.wait_type = self.inherited_wait_type(writer, parent);
                row.key = hash(&[u64::from(parent)]);
                &[]
            }
            Origin::Monitor(mutexes) => {
                row.origin = class_origin::MONITOR;
                row.parent = mutexes;
                row.key = hash(&[u64::from(mutexes)]);
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
        row.stack = stacks.intern(writer, modules, frames);
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
    /// What the class of a lock at `offset` of a block goes by that was allocated on a stack of this hash.
    fn offset_in_block(&mut self, writer: &mut Writer, stack: u64, offset: u64) -> u64 {
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

    /// In a forked child: the wait types of its parent's classes, whose ledger is `parent`. The program
    /// need not annotate them again.
    pub(super) fn inherit_wait_types(&mut self, writer: &mut Writer, parent: &Writer) {
        for id in 1..parent.len_of::<Class>() {
            let said = parent.get::<Class>(id).map_or(0, |class| class.wait_type);
            if said != wait_type::UNKNOWN {
                self.inherited_wait_types.insert(writer, hash(&[u64::from(id)]), said);
            }
        }
    }

    fn inherited_wait_type(&self, writer: &Writer, parents: u32) -> u32 {
        let key = hash(&[u64::from(parents)]);
        self.inherited_wait_types.get(writer, key).unwrap_or(wait_type::UNKNOWN)
    }

    /// Row of a lock whose instance matters.
    pub(super) fn lock_row(&mut self, writer: &mut Writer, held: &Acquire, segment: u32) -> u32 {
        if let Some(id) = self.recorded_lock(writer, held.ident.inst()) {
            return id;
        }
        self.note_recorded(held.ident.inst());
        let kind = writer.get::<Class>(held.ident.class()).map_or(0, |class| class.kind);
        let shared = match (kind, self.sharing) {
            (lock_kind::MUTEX..=lock_kind::SPIN | lock_kind::SEMAPHORE, Some(sharing)) => {
                sharing(held.addr, held.ident)
            }
            _ => None,
        };
        let row = Lock {
            inst: held.ident.inst(),
            class: held.ident.class(),
            kind,
            addr: held.addr,
            segment,
            maker: self.makers.map_or(0, |maker| maker(held.ident.inst())),
            shared: shared.map_or(0, |lock| hash(&lock.place).max(1)),
            nested_ns: shared.map_or(0, |lock| lock.now_ns),
            ..Lock::default()
        };
        let Some(id) = writer.push(row) else { return 0 };
        self.locks.insert(writer, lock_key(held.ident.inst()), id);
        id
    }

    /// Threads are to ask the core about this lock: it has a row, or a hold that others await.
    pub(super) fn note_recorded(&self, inst: u32) {
        if let Some(recorded) = self.recorded {
            recorded.note(inst);
        }
    }

    /// The row of a lock, if there is one already.
    pub(super) fn recorded_lock(&self, writer: &Writer, inst: u32) -> Option<u32> {
        self.locks.get(writer, lock_key(inst))
    }
}

fn lock_key(inst: u32) -> u64 {
    hash(&[u64::from(inst)])
}
