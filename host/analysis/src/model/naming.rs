//! The names of locks and places in a report.

use std::collections::HashMap;

use lockwright_ledger::rows::lock_kind;

use crate::finding::lock_kind::{LockKind, Subject};
use crate::finding::{Frame, LockInfo, Name};
use crate::symbolize::portable::readable;
use crate::symbolize::wrapper::first_own_frame;

use super::Model;
use super::sources::Sources;

/// A lock that a finding speaks of: instance 0 means any of the class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockRef {
    /// Class row.
    pub class: u32,
    /// Instance, or 0.
    pub inst: u32,
    /// Row of the instance, or 0 where it is to be looked up.
    pub row: u32,
}

/// The frame of a stack worth showing first: the innermost that is not just a wrapper of a lock
/// call.
pub fn place_of(stack: &[Frame]) -> Option<&Frame> {
    first_own_frame(stack)
}

/// The function that has the code of [`place_of`] the stack, which an inlined one has not.
pub fn code_of(stack: &[Frame]) -> Option<&Frame> {
    let place = place_of(stack)?;
    let from = stack.iter().position(|frame| std::ptr::eq(frame, place))?;
    stack[from..].iter().find(|frame| !frame.inlined).or(Some(place))
}

/// Equal for frames that are the same place in the source.
pub fn place_key(frame: &Frame) -> String {
    match (&frame.function, &frame.file, frame.line) {
        (Some(function), Some(file), Some(line)) => format!("{function}\n{file}\n{line}"),
        _ => format!("{}\n{:#x}", frame.module.as_deref().unwrap_or(""), frame.offset),
    }
}

/// A place in few words: `pool.c:42 (pool_create)`, `pool_create+0x1c (libpool.so)`.
pub fn short_place(frame: &Frame) -> String {
    let module = base_name(frame.module.as_deref().unwrap_or("?"));
    let function = frame.function.as_deref().map(readable);
    match (&function, &frame.file, frame.line) {
        (Some(function), Some(file), Some(line)) => {
            format!("{}:{line} ({function})", base_name(file))
        }
        (None, Some(file), Some(line)) => format!("{}:{line}", base_name(file)),
        (Some(function), ..) => match frame.function_offset {
            Some(offset) => format!("{function}+{offset:#x} ({module})"),
            None => format!("{function} ({module})"),
        },
        _ => format!("{module}+{:#x}", frame.offset),
    }
}

/// The last component of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

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
        if let Some(thread) = super::thread_of(lock.inst) {
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
/// What a variable is called. One that compilers make for a critical section of OpenMP goes by the
/// section's name.
pub fn variable_name(symbol: String) -> String {
    let Some(section) = symbol.strip_prefix(".gomp_critical_user_") else { return symbol };
    // GCC's is called so, LLVM's has more to it, and there is one of sections without a name.
    match section.strip_suffix(".var").unwrap_or(section) {
        "" => "critical".to_owned(),
        name => format!("critical({name})"),
    }
}
