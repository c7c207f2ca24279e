//! The ledgers of one report, and the symbols that name their addresses.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Class, Thread, class_origin};

use super::threads::{thread_info, thread_numbers};
use crate::finding::{Frame, ModuleNote, ThreadInfo};
use crate::symbolize::{DataSymbol, FailedTry, LockMember, MemberPlace, Symbols};

/// Names for the addresses of one ledger.
pub trait Symbolise {
    /// Frames of a stack, innermost first; empty for 0.
    fn stack(&self, id: u32) -> Rc<[Frame]>;
    /// The variable that covers an address of a module.
    fn data(&self, module: u32, offset: u64) -> Option<DataSymbol>;
    /// What lies so many bytes into the variable at an address of a module, by its type.
    fn member(&self, _module: u32, _start: u64, _offset: u64) -> Option<MemberPlace> {
        None
    }
    /// The member of a type, or variable of a function, that the lock of a call is.
    fn lock_member(&self, _stack: u32) -> Option<LockMember> {
        None
    }
    /// What the source calls what a call waits for, if that is no lock.
    fn waited_member(&self, _stack: u32) -> Option<String> {
        None
    }
    /// What follows where the trylock that a stack leads to fails.
    fn failed_try(&self, _stack: u32) -> FailedTry {
        FailedTry::GivesUp
    }
    /// Whether the function at a frame of a stack, as recorded, releases locks on some of its ways, as far as its code says.
    fn releases(&self, _stack: u32, _level: usize) -> Option<bool> {
        None
    }
    /// Whether the function that takes the mutex which a stack leads to then waits for a flag.
    fn waits_for_flag(&self, _stack: u32) -> bool {
        false
    }
    /// Whether the call that a stack leads to stands in a function whose variables on the stack all last as long as its call.
    fn variables_last(&self, _stack: u32) -> bool {
        false
    }
    /// The function that is called where a stack's first frame is: it need not be on the stack itself.
    fn called_by_first(&self, _stack: u32) -> Option<Frame> {
        None
    }
    /// Path of a module.
    fn module_name(&self, module: u32) -> String;
    /// What the reader should know about missing names.
    fn notes(&self) -> Vec<ModuleNote>;
}

impl Symbolise for Symbols<'_> {
    fn stack(&self, id: u32) -> Rc<[Frame]> {
        Symbols::stack(self, id)
    }

    fn data(&self, module: u32, offset: u64) -> Option<DataSymbol> {
        Symbols::data(self, module, offset)
    }

    fn member(&self, module: u32, start: u64, offset: u64) -> Option<MemberPlace> {
        Symbols::member(self, module, start, offset)
    }

    fn lock_member(&self, stack: u32) -> Option<LockMember> {
        Symbols::lock_member(self, stack)
    }

    fn waited_member(&self, stack: u32) -> Option<String> {
        Symbols::waited_member(self, stack)
    }

    fn failed_try(&self, stack: u32) -> FailedTry {
        Symbols::failed_try(self, stack)
    }

    fn releases(&self, stack: u32, level: usize) -> Option<bool> {
        Symbols::releases(self, stack, level)
    }

    fn called_by_first(&self, stack: u32) -> Option<Frame> {
        Symbols::called_by_first(self, stack)
    }

    fn waits_for_flag(&self, stack: u32) -> bool {
        Symbols::waits_for_flag(self, stack)
    }

    fn variables_last(&self, stack: u32) -> bool {
        Symbols::variables_last(self, stack)
    }

    fn module_name(&self, module: u32) -> String {
        Symbols::module_name(self, module)
    }

    fn notes(&self) -> Vec<ModuleNote> {
        Symbols::notes(self)
    }
}

/// What is missing of the names of the modules that frames are in: once for each module.
pub fn missing_names<'f>(
    symbols: &[&dyn Symbolise],
    frames: impl Iterator<Item = &'f Frame>,
) -> Vec<ModuleNote> {
    let named: HashSet<&str> = frames.filter_map(|frame| frame.module.as_deref()).collect();
    let notes: BTreeSet<ModuleNote> = symbols.iter().flat_map(|symbols| symbols.notes()).collect();
    notes.into_iter().filter(|note| named.contains(note.module.as_str())).collect()
}

/// The ledgers of a report. A forked child's refers to its parent's for inherited classes.
pub struct Sources<'a> {
    /// One per process.
    pub ledgers: &'a [Ledger],
    symbols: &'a [&'a dyn Symbolise],
    by_token: HashMap<u64, usize>,
}

impl<'a> Sources<'a> {
    /// `symbols[i]` names the addresses of `ledgers[i]`.
    ///
    /// # Panics
    /// If there are not as many of the one as of the other.
    pub fn new(ledgers: &'a [Ledger], symbols: &'a [&'a dyn Symbolise]) -> Self {
        assert_eq!(ledgers.len(), symbols.len());
        let by_token = ledgers.iter().enumerate().map(|(i, l)| (l.header().token, i)).collect();
        Self { ledgers, symbols, by_token }
    }

    /// Names for the addresses of ledger `index`.
    pub fn symbols(&self, index: usize) -> &'a dyn Symbolise {
        self.symbols[index]
    }

    /// Those of all ledgers.
    pub(crate) fn all_symbols(&self) -> &'a [&'a dyn Symbolise] {
        self.symbols
    }

    /// A thread of the process that `ledger`'s was forked from, as far as the report knows that
    /// one.
    pub fn parents_thread(&self, ledger: &Ledger, id: u32) -> ThreadInfo {
        let token = ledger.header().parent_token;
        let parent = self.by_token.get(&token).filter(|_| token != 0);
        let parent = parent.map(|&parent| &self.ledgers[parent]);
        let number = parent.and_then(|parent| thread_numbers(parent).get(&id).copied());
        let row = parent.and_then(|parent| parent.get::<Thread>(id));
        thread_info(number.unwrap_or(id), row.as_ref())
    }

    /// Follows class `class` of ledger `index` to the process that first had it: its ledger, its id
    /// there, and the row.
    pub fn resolve(&self, index: usize, class: u32) -> (usize, u32, Class) {
        let (mut index, mut class) = (index, class);
        let mut row = class_row(&self.ledgers[index], class);
        // A chain of forks is no longer than the list of processes; a damaged one might be a ring.
        for _ in 0..self.ledgers.len() {
            let token = self.ledgers[index].header().parent_token;
            let Some(&parent) = self.by_token.get(&token).filter(|_| token != 0) else { break };
            let inherited = row.origin == class_origin::INHERITED;
            let Some(origin) = self.ledgers[parent].get::<Class>(row.parent).filter(|_| inherited)
            else {
                break;
            };
            (index, class, row) = (parent, row.parent, origin);
        }
        (index, class, row)
    }
}

/// The raw class row or its absence as a default row.
pub(super) fn class_row(ledger: &Ledger, id: u32) -> Class {
    ledger.get::<Class>(id).unwrap_or_default()
}
