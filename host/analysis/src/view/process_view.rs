//! Turns occurrences into the parts of a report: names, threads, held locks and stacks.

use std::collections::HashMap;

use lockwright_ledger::rows::Node;

use super::occurrence::{Acquisition, Context, Level};
use crate::finding::Instances;
use crate::finding::Name;
use crate::finding::action::Action;
use crate::finding::{HeldLock, LockInfo, Step};
use crate::model::{LockRef, Model, Sources};

/// Held locks shown in a step besides those of the cycle.
const MOST_HELD: usize = 24;

/// Knows one process.
pub struct ProcessView<'m, 'a> {
    /// The process.
    pub model: &'m Model<'a>,
    /// All processes.
    pub sources: &'m Sources<'a>,
    /// What findings that are the same to a reader become.
    pub instances: Instances,
}

/// The locks of a finding, with names that tell them apart.
pub struct InvolvedLocks {
    /// The first of the locks by its instance, or by its merged class.
    indices: HashMap<u32, usize>,
    level: Level,
    /// As the report has them.
    pub infos: Vec<LockInfo>,
    /// As sentences have them.
    pub names: Vec<Name>,
}

impl InvolvedLocks {
    /// An object that is no lock: held by nobody.
    pub fn of_object(name: Name, info: LockInfo) -> Self {
        Self {
            indices: HashMap::new(),
            level: Level::Instance,
            infos: vec![info],
            names: vec![name],
        }
    }

    /// Its place among them, if it is one.
    pub fn place(&self, model: &Model<'_>, lock: LockRef) -> Option<usize> {
        self.index(model, lock)
    }

    fn index(&self, model: &Model<'_>, lock: LockRef) -> Option<usize> {
        self.indices.get(&key_of(model, self.level, lock)?).copied()
    }
}

/// What two locks have in common that are the same at this level.
fn key_of(model: &Model<'_>, level: Level, lock: LockRef) -> Option<u32> {
    match level {
        Level::Instance => Some(lock.inst).filter(|&inst| inst != 0),
        Level::Class => Some(model.classes.group_of(lock.class)),
    }
}

impl ProcessView<'_, '_> {
    /// The lock of a node.
    pub fn lock_of(&self, id: u32) -> LockRef {
        let node = self.model.trie.node(id).copied().unwrap_or_default();
        reference(&node)
    }

    /// Names the locks of a finding.
    pub fn involved(&self, level: Level, refs: Vec<LockRef>) -> InvolvedLocks {
        let shown: Vec<LockRef> = refs
            .iter()
            .map(|&lock| match level {
                Level::Instance => lock,
                Level::Class => LockRef { inst: 0, row: 0, ..lock },
            })
            .collect();
        let (infos, names) = self.model.describe(self.sources, &shown).into_iter().unzip();
        let mut indices = HashMap::new();
        for (index, &lock) in refs.iter().enumerate() {
            if let Some(key) = key_of(self.model, level, lock) {
                indices.entry(key).or_insert(index);
            }
        }
        InvolvedLocks { indices, level, infos, names }
    }

    /// The merged classes of locks, sorted, each once.
    pub fn classes(&self, refs: &[LockRef]) -> Vec<u32> {
        let mut classes: Vec<u32> =
            refs.iter().map(|lock| self.model.classes.group_of(lock.class)).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    /// The step of an acquisition: it took `lock` of those involved.
    pub fn step(&self, involved: &InvolvedLocks, acquisition: &Acquisition, lock: usize) -> Step {
        let node = self.model.trie.node(acquisition.context.acquired).copied().unwrap_or_default();
        Step {
            thread: self.model.thread(acquisition.thread),
            lock,
            action: match self.model.trie.signal(acquisition.context.acquired) {
                Some(_) => Action::in_handler(node.mode),
                None => Action::acquires(self.model.classes.kind(node.class), node.mode),
            },
            held: self.held(involved, node.parent),
            stack: self.model.stack(node.stack),
        }
    }

    /// The locks on the path to `innermost`, it included, outermost first.
    pub fn held(&self, involved: &InvolvedLocks, innermost: u32) -> Vec<HeldLock> {
        let mut held = Vec::new();
        let mut others = 0;
        for (_, node) in self.path(innermost) {
            // That a thread holds its own end goes without saying.
            if self.model.classes.is_thread_end(node.class) {
                continue;
            }
            let lock = reference(&node);
            let index = involved.index(self.model, lock);
            others += usize::from(index.is_none());
            if index.is_none() && others > MOST_HELD {
                continue;
            }
            let name = match index {
                Some(index) => involved.names[index].clone(),
                None => self.model.name(lock),
            };
            held.push(HeldLock { lock: index, name, stack: self.model.stack(node.stack) });
        }
        held.reverse();
        held
    }

    /// `id` and the nodes above it.
    pub fn path(&self, id: u32) -> impl Iterator<Item = (u32, Node)> {
        let first = self.model.trie.node(id).map(|&node| (id, node));
        first.into_iter().chain(self.model.trie.held(id).map(|(id, node)| (id, *node)))
    }

    /// What a reader goes by when telling two occurrences apart: the classes and the places where
    /// one lock was taken and then the other.
    pub fn signature(&self, context: Context) -> String {
        let name = |id: u32| {
            let node = self.model.trie.node(id).copied().unwrap_or_default();
            let group = self.model.classes.group_of(node.class);
            format!("{}\t{}", self.model.classes.group(group).name, self.model.place(node.stack))
        };
        format!("{}\t{}", name(context.held), name(context.acquired))
    }

    /// The place of an acquisition in few words.
    pub fn place(&self, node: u32) -> Option<String> {
        self.model.short_place(self.model.trie.node(node)?.stack)
    }
}

/// The lock of a node.
pub fn reference(node: &Node) -> LockRef {
    LockRef { class: node.class, inst: node.inst, row: node.lock }
}
