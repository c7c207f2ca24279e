//! What a report calls locks, and the steps from thread to thread.

use std::collections::HashMap;

use lockwright_ledger::rows::lock_kind;

use super::Model;
use super::lock_ref::LockRef;
use super::naming::{place_key, place_of, short_place};
use super::order::Crossing;
use super::sources::Sources;
use super::thread_ends::thread_of;
use crate::finding::lock_kind::{LockKind, Subject};
use crate::finding::{LockInfo, Name, order};

impl Model<'_> {
    /// Equal for stacks that lock at the same place in the source.
    pub fn place(&self, stack: u32) -> String {
        place_of(&self.symbols.stack(stack)).map_or_else(|| format!("stack {stack}"), place_key)
    }

    /// The place of a stack in few words.
    pub fn short_place(&self, stack: u32) -> Option<String> {
        place_of(&self.symbols.stack(stack)).map(short_place)
    }

    /// Name of one lock, by itself.
    pub fn name(&self, lock: LockRef) -> Name {
        if let Some(thread) = thread_of(lock.inst) {
            return Name::description(format!("end of {}", self.thread(thread)));
        }
        let group = self.classes.group(self.classes.group_of(lock.class));
        // If a lock is named by its member, its place in a variable says less.
        let is_element = lock.inst != 0 && group.by_place.is_none();
        match self.classes.element(lock.class).filter(|_| is_element) {
            Some(element) => Name::symbol(element),
            None => group.name(),
        }
    }

    /// Descriptions of the locks of one finding, with names that tell them apart.
    pub fn describe(&self, sources: &Sources<'_>, locks: &[LockRef]) -> Vec<(LockInfo, Name)> {
        let names: Vec<Name> = locks.iter().map(|&lock| self.name(lock)).collect();
        // The instance that has a name, or that there are several.
        let mut instances: HashMap<&Name, Option<u32>> = HashMap::new();
        for (lock, name) in locks.iter().zip(&names) {
            let inst = instances.entry(name).or_insert(Some(lock.inst));
            *inst = inst.filter(|&inst| inst == lock.inst);
        }
        let many = |name: &Name| instances.get(name).is_some_and(Option::is_none);
        locks
            .iter()
            .zip(&names)
            .map(|(&lock, named)| {
                // A context that the program declares is nowhere.
                let is_somewhere = self.classes.kind(lock.class) != lock_kind::RESOURCE;
                let addr = self.address(lock.row, lock.inst).filter(|_| is_somewhere);
                let is_shared = many(named);
                let mut named = named.clone();
                match addr {
                    _ if !is_shared => {}
                    Some(addr) => named.text += &format!(" at {addr:#x}"),
                    None if lock.inst != 0 => named.text += &format!(" #{}", lock.inst),
                    None => {}
                }
                (self.info(sources, lock, addr, &named), named)
            })
            .collect()
    }

    fn info(
        &self,
        sources: &Sources<'_>,
        lock: LockRef,
        addr: Option<u64>,
        named: &Name,
    ) -> LockInfo {
        let group = self.classes.group(self.classes.group_of(lock.class));
        let (ledger, stack) = group.created;
        let created =
            if stack == 0 { Vec::new() } else { sources.symbols(ledger).stack(stack).to_vec() };
        LockInfo {
            name: named.clone(),
            class: group.name(),
            class_by_place: group.by_place.clone(),
            kind: match self.classes.is_thread_end(lock.class) {
                true => Subject::Thread,
                false => Subject::Lock(LockKind::of(self.classes.kind(lock.class))),
            },
            addr,
            created,
            origin: group.origin,
        }
    }
}

impl Crossing {
    /// As a finding has it.
    pub fn named(&self, model: &Model<'_>) -> order::Crossing {
        let [from, to] = [self.from, self.to].map(|thread| model.thread(thread));
        order::Crossing { by: self.by, from, to }
    }
}
