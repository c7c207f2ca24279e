//! The contents of a ledger: contexts, threads, order between them, and lock classes with their
//! names.
//!
//! Rows are taken as they come, so a damaged ledger gives a smaller model, never a panic.

mod built_locks;
pub mod class_chains;
mod class_group;
mod classes;
pub mod given_up;
mod hand_overs;
mod handed_on;
mod heap;
mod interrupts;
mod key;
mod lock_ref;
mod members;
mod monitors;
mod naming;
mod order;
mod posts;
mod report_names;
mod roles;
mod sources;
mod thread_ends;
mod threads;
mod trie;
mod tried_first;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Class, Lock, Node, Thread, lock_kind, mode};

pub use crate::finding::action::is_read;
use crate::finding::{Frame, ThreadInfo};
use crate::symbolize::Modules;
pub use class_group::ClassGroup;
pub use classes::Classes;
pub use handed_on::{HandOn, HandedOn};
pub use key::ClassKey;
pub use lock_ref::LockRef;
pub use naming::{code_of, place_key, place_of, short_place};
pub use order::{Crossing, Order};
pub use sources::{Sources, Symbolise, missing_names};
pub use thread_ends::thread_of;
pub use threads::threads_by_id;
use threads::{thread_info, thread_numbers};
pub use trie::{Trie, shared};

/// One watched process.
pub struct Model<'a> {
    /// Where it comes from.
    pub ledger: &'a Ledger,
    /// Names for its addresses.
    pub symbols: &'a dyn Symbolise,
    /// The acquisition contexts.
    pub trie: Trie,
    /// What happens before what.
    pub order: Order,
    /// What else happened before what in this run.
    pub handed_on: HandedOn,
    /// Its lock classes, merged.
    pub classes: Classes<'a>,
    /// By thread row id.
    threads: HashMap<u32, Thread>,
    /// By thread row id: which thread it is, in order of creation.
    numbers: HashMap<u32, u32>,
    locks: OnceCell<HashMap<u32, Lock>>,
    modules: OnceCell<Modules>,
    /// Instances.
    handed_over: HashSet<u32>,
}

impl<'a> Model<'a> {
    /// Whether context `node` is of the lock of context `lock`. What is acquired with nothing held is
    /// known by its class, which may have one lock only.
    pub fn is_of_lock(&self, node: &Node, lock: &Node) -> bool {
        let is_only = |class| self.ledger.get::<Class>(class).is_some_and(|row| row.locks == 1);
        match node.inst {
            0 => node.class == lock.class && is_only(node.class),
            inst => inst == lock.inst,
        }
    }

    /// Orders of the segment with others may be missing: it came after a bound of what orders threads, or
    /// the ledger is torn.
    pub fn lacks_orders(&self, segment: u32) -> bool {
        let until = self.ledger.header().orders_until;
        self.ledger.is_torn() || until != 0 && segment > until
    }

    /// Builds the model of ledger `index` of `sources`.
    pub fn new(sources: &Sources<'a>, index: usize) -> Self {
        let ledger = &sources.ledgers[index];
        // Before the contexts: this takes the more memory while it is made, and keeps the less.
        let mut classes = Classes::new(sources, index);
        let trie = Trie::new(ledger, sources.symbols(index));
        let handed_on = HandedOn::new(ledger, &trie, sources.symbols(index));
        classes.add_thread_ends(sources, index, trie.thread_ends());
        let order = posts::order(ledger, trie.no_monitors());
        Self {
            ledger,
            symbols: sources.symbols(index),
            trie,
            order,
            handed_on,
            classes,
            threads: ledger.rows::<Thread>().collect(),
            numbers: thread_numbers(ledger),
            locks: OnceCell::new(),
            modules: OnceCell::new(),
            handed_over: hand_overs::instances(ledger),
        }
    }

    /// The threads, in order of first sight.
    pub fn threads(&self) -> impl Iterator<Item = &Thread> {
        self.threads.values()
    }

    /// Row of lock instance `inst`.
    pub fn lock(&self, inst: u32) -> Option<Lock> {
        let by_inst = || self.ledger.rows::<Lock>().map(|(_, lock)| (lock.inst, lock)).collect();
        self.locks.get_or_init(by_inst).get(&inst).copied()
    }

    /// Whether instance `inst` is a semaphore that proved to be no lock.
    pub fn is_handed_over(&self, inst: u32) -> bool {
        self.handed_over.contains(&inst)
    }

    /// Address of lock instance `inst`, whose row may be known to be `row`.
    pub fn address(&self, row: u32, inst: u32) -> Option<u64> {
        if inst == 0 {
            return None;
        }
        let row = self.ledger.get::<Lock>(row).filter(|lock| lock.inst == inst);
        row.or_else(|| self.lock(inst)).map(|lock| address_of(&lock)).filter(|&addr| addr != 0)
    }

    /// Thread row `id` as a report names it.
    pub fn thread(&self, id: u32) -> ThreadInfo {
        thread_info(self.number(id), self.threads.get(&id))
    }

    /// Which thread row `id` is, in order of creation, from 1.
    pub fn number(&self, id: u32) -> u32 {
        self.numbers.get(&id).copied().unwrap_or(id)
    }

    /// The variable that covers a run-time address.
    pub fn variable_at(&self, addr: u64) -> Option<String> {
        Some(self.variable_then(addr, u32::MAX)?.0)
    }

    /// The variable that covered a run-time address when stack `seen` was taken (0: at last), with
    /// the place in it unless that is its beginning.
    pub fn element_at(&self, addr: u64, seen: u32) -> Option<String> {
        let epoch = self.ledger.stack(seen).map_or(u32::MAX, |(_, epoch)| epoch);
        Some(match self.variable_then(addr, epoch)? {
            (name, 0) => name,
            (name, offset) => format!("{name}+{offset:#x}"),
        })
    }

    /// What stack `id` of one frame is in: a function, or else a variable or a bare address.
    pub fn symbol(&self, id: u32) -> Option<String> {
        let frames = self.symbols.stack(id);
        // The outermost: more may be inlined there.
        if let Some(function) = frames.last().and_then(|frame| frame.function.clone()) {
            return Some(function);
        }
        let (addresses, _) = self.ledger.stack(id)?;
        let at = addresses.first()?.saturating_sub(1);
        Some(self.element_at(at, id).unwrap_or_else(|| format!("{at:#x}")))
    }

    /// Path of the module that covered a run-time address at `epoch`.
    pub fn module_at(&self, addr: u64, epoch: u32) -> Option<String> {
        let (_, module) = self.modules.get_or_init(|| Modules::new(self.ledger)).at(addr, epoch)?;
        Some(self.ledger.text(module.path))
    }

    /// The variable that covered a run-time address at `epoch`, and the offset in it.
    fn variable_then(&self, addr: u64, epoch: u32) -> Option<(String, u64)> {
        let modules = self.modules.get_or_init(|| Modules::new(self.ledger));
        let (id, module) = modules.at(addr, epoch)?;
        let offset = addr.wrapping_sub(module.bias);
        let symbol = self.symbols.data(*id, offset)?;
        let within = offset.wrapping_sub(symbol.start);
        // What is no larger than the smallest of structures with an object in it is one itself.
        let member = (symbol.size > SMALL).then(|| self.symbols.member(*id, symbol.start, within));
        Some(match member.flatten() {
            Some(member) => (symbol.name + &member.path, 0),
            None => (symbol.name, within),
        })
    }

    /// Symbolised stack `id`, innermost frame first.
    pub fn stack(&self, id: u32) -> Vec<Frame> {
        self.symbols.stack(id).to_vec()
    }

    /// Whether a reader in `mode` of a lock of raw class `class` is never held up by other readers,
    /// not even through a writer that waits between them.
    pub fn reads_freely(&self, class: u32, mode: u16) -> bool {
        if mode & mode::READ_RECURSIVE != 0 {
            return true;
        }
        mode & mode::READ != 0 && !(self.classes.prefers_writers(class) && self.trie.written(class))
    }
}

/// A monitor is where its mutex is.
fn address_of(lock: &Lock) -> u64 {
    match lock.kind {
        lock_kind::MONITOR => lock.addr & !1,
        _ => lock.addr,
    }
}

/// Bytes of the smallest variables whose type is asked for: all objects but spin locks, semaphores'
/// words and the program's own are larger.
const SMALL: u64 = 8;
