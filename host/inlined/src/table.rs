//! From a module's file to its table.

use std::collections::{BTreeMap, HashMap, HashSet};

use iced_x86::{FlowControl, Instruction, OpKind, Register};
use lockwright_ledger::inlined::{
    Header, Hook, Keeps, MAGIC, MOST_BYTES, Place, Relocation, SLOTS, flag,
};

use crate::block::Block;
use crate::calls::{self, Candidate};
use crate::counts::{Counts, Kind, Reason};
use crate::error::Error;
use crate::fast_path::{self, FastPath, Known, Wanted};
use crate::function::{Function, flags_are_used, is_call};
use crate::module::{Bounds, Callee, Module};
use crate::names::{Acquisition, Atomic, NO_DEADLINE, Release, Role};
use crate::operations::{self, Call, InUse, Moved, Outcome, Target};
use crate::place::{self, Taken};
use crate::pointers;
use crate::registers::Registers;
use crate::rejoin;
use crate::unnamed;
use crate::values::Value;

/// A module's places, and the code for them.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Where calls are put, by address.
    pub places: Vec<Place>,
    /// Where the code names the module.
    pub relocations: Vec<Relocation>,
    /// The code.
    pub code: Vec<u8>,
    /// What was found.
    pub counts: Counts,
    /// Whether the file has the names of the functions that were looked for. If not, those of std were found by their code, and
    /// `parking_lot` was not looked for.
    pub has_names: bool,
    /// Fast paths whose call was proven to have the same lock, and all of them.
    pub proven: (u32, u32),
    /// Hooks of fast paths by what they keep: nothing more than functions do, all general registers, and all.
    pub keeps: [u32; 3],
}

/// The table for a module's file. `None`: it has no lock that is inlined.
///
/// # Errors
/// If the file is not ELF, or broken.
pub fn table(file: &[u8]) -> Result<Option<Table>, Error> {
    let Some(mut module) = Module::read(file)? else { return Ok(None) };
    module.link(file)?;
    let has_names = !module.callees.is_empty() || !module.pointers.is_empty();
    if !has_names {
        module.callees.extend(unnamed::find(&module));
        module.link(file)?;
    }
    let mut maker = Maker::new(&module, has_names);
    maker.make();
    let table = Table { has_names, ..maker.finish() };
    if u32::try_from(table.code.len()).is_err() {
        return Err(Error::TooLarge);
    }
    Ok((!table.counts.0.is_empty()).then_some(table))
}

impl Table {
    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = self.header();
        let mut bytes = Vec::new();
        bytes.extend(header.magic.to_le_bytes());
        for word in [
            header.places,
            header.relocations,
            header.code,
            header.acquisitions,
            header.placed_acquisitions,
            header.releases,
            header.placed_releases,
            header.reserved,
        ] {
            bytes.extend(word.to_le_bytes());
        }
        for place in &self.places {
            bytes.extend(place.address.to_le_bytes());
            bytes.extend(place.entry.to_le_bytes());
            bytes.extend(place.len.to_le_bytes());
            bytes.extend(place.original);
        }
        for relocation in &self.relocations {
            bytes.extend(relocation.target.to_le_bytes());
            bytes.extend(relocation.at.to_le_bytes());
            bytes.extend(relocation.next.to_le_bytes());
        }
        bytes.extend(&self.code);
        bytes
    }

    /// Whether each acquisition and each release that was found has a place, and there is one.
    pub fn is_complete(&self) -> bool {
        let all = self.header();
        all.acquisitions > 0
            && all.acquisitions == all.placed_acquisitions
            && all.releases == all.placed_releases
    }

    fn header(&self) -> Header {
        let acquisitions =
            self.counts.sum(&[Kind::Acquisition, Kind::Try, Kind::Lock, Kind::TryLock]);
        let releases = self.counts.sum(&[Kind::Release, Kind::Unlock]);
        Header {
            magic: MAGIC,
            places: self.places.len() as u32,
            relocations: self.relocations.len() as u32,
            code: self.code.len() as u32,
            acquisitions: acquisitions.0,
            placed_acquisitions: acquisitions.1,
            releases: releases.0,
            placed_releases: releases.1,
            reserved: 0,
        }
    }
}

/// A call that was found, in a function.
#[derive(Clone, Copy)]
struct Found {
    at: usize,
    callee: Callee,
    target: Target,
}

/// Makes a table.
struct Maker<'module, 'data> {
    module: &'module Module<'data>,
    has_names: bool,
    block: Block,
    taken: Taken,
    places: Vec<Place>,
    counts: Counts,
    proven: (u32, u32),
    keeps: [u32; 3],
    /// Atomic instructions that are done: several calls can follow one.
    done: HashSet<u64>,
}

impl<'module, 'data> Maker<'module, 'data> {
    fn new(module: &'module Module<'data>, has_names: bool) -> Self {
        Self {
            module,
            has_names,
            block: Block::new(),
            taken: Taken::default(),
            places: Vec::new(),
            counts: Counts::default(),
            proven: (0, 0),
            keeps: [0; 3],
            done: HashSet::new(),
        }
    }

    fn make(&mut self) {
        let mut by_function = BTreeMap::<Bounds, (Vec<Candidate>, Vec<u64>)>::new();
        for candidate in calls::find(self.module) {
            match self.module.function(candidate.address) {
                Some(bounds) => by_function.entry(bounds).or_default().0.push(candidate),
                None => {
                    let kind = kind(candidate.callee.role);
                    self.counts.note(kind, candidate.address, Err(Reason::NoFunction));
                }
            }
        }
        for wake in calls::find_wakes(self.module) {
            if let Some(bounds) = self.module.function(wake) {
                by_function.entry(bounds).or_default().1.push(wake);
            }
        }
        // Calls of functions that were not inlined come last: those that have places of their own are not called out.
        let mut whole = Vec::new();
        let mut has_places = HashSet::new();
        for (&bounds, (candidates, wakes)) in &by_function {
            let Some(function) = Function::read(self.module, bounds) else { continue };
            let mut found = found(&function, candidates);
            found.extend(self.pointer_calls(&function));
            if is_whole(self.module, bounds.start) {
                // What is in it counts as the function, if its fast path has no place.
                let (before, counts) = (self.places.len(), self.counts.clone());
                self.fast_paths(&function, &found, wakes);
                if self.places.len() == before {
                    found.retain(|call| is_whole_role(call.callee.role));
                    self.counts = counts;
                } else {
                    has_places.insert(bounds.start);
                }
            } else {
                self.fast_paths(&function, &found, wakes);
            }
            for call in found {
                if is_whole_role(call.callee.role) {
                    whole.push((bounds, call));
                } else {
                    self.cold_call(&function, call);
                }
            }
        }
        let mut functions = HashMap::new();
        for (bounds, call) in whole {
            if call.callee.address.is_none_or(|address| has_places.contains(&address)) {
                continue;
            }
            let function = functions
                .entry(bounds.start)
                .or_insert_with(|| Function::read(self.module, bounds));
            if let Some(function) = function {
                self.whole_call(function, call);
            }
        }
    }

    /// The calls of a function through registers.
    fn pointer_calls(&mut self, function: &Function) -> Vec<Found> {
        let mut found = Vec::new();
        for call in pointers::calls(self.module, function) {
            let callee = self.module.pointers[&call.word];
            if call.is_certain {
                found.push(Found { at: call.at, callee, target: Target::Word(call.word) });
            } else {
                let address = function.code[call.at].ip();
                self.counts.note(kind(callee.role), address, Err(Reason::UnknownCall));
            }
        }
        found
    }

    /// Finds and places the fast paths that lead to a function's calls.
    fn fast_paths(&mut self, function: &Function, calls: &[Found], wakes: &[u64]) {
        for call in calls {
            match call.callee.role {
                Role::Waits(acquisition) | Role::Tries(acquisition) => {
                    let wanted = Wanted::before(function, call.at, acquisition);
                    let paths = fast_path::find(function, call.at, wanted);
                    if paths.is_empty() {
                        let address = function.code[call.at].ip();
                        self.counts.note(Kind::Acquisition, address, Err(Reason::NoAtomic));
                    }
                    for path in paths {
                        self.acquisition(function, &path, acquisition);
                    }
                }
                Role::Wakes(release) => {
                    let mut paths = fast_path::find(function, call.at, release.by.into());
                    if paths.is_empty() && release.by == Atomic::CompareExchange {
                        // Since parking_lot 0.13 a subtraction releases a mutex, and shows whether there is a thread to wake.
                        paths = fast_path::find(function, call.at, Atomic::Subtract.into());
                    }
                    // Without a name it may wake others than mutexes' waiters.
                    let may_be_other = !self.has_names && release.by == Atomic::Exchange;
                    if may_be_other {
                        paths.retain(|path| path.is_wake_of_mutex(function));
                    } else if paths.is_empty() {
                        self.release_by_call(function, call, release);
                    }
                    for path in paths {
                        let known = path.follow(function, Register::RDI);
                        self.release(function, &path, &known);
                    }
                }
                Role::Locks(_) | Role::TriesWhole(_) | Role::Unlocks(_) => {}
            }
        }
        for &wake in wakes {
            self.inlined_wake(function, wake);
        }
    }

    /// Waking one thread, which was inlined into a release of std's mutex.
    fn inlined_wake(&mut self, function: &Function, address: u64) {
        /// Instructions between the argument and the call.
        const REACH: usize = 12;
        const SYS_FUTEX: i64 = 202;
        let Some(at) = function.at(address) else { return };
        let mut way = function.code.iter().enumerate().skip(at).take(REACH);
        let call = way.find(|(_, instruction)| instruction.flow_control() != FlowControl::Next);
        let Some((call, _)) = call else { return };
        for path in fast_path::find(function, call, Wanted::Result(Atomic::Exchange)) {
            if !path.is_wake_of_mutex(function) {
                continue;
            }
            let known = path.follow(function, Register::RSI);
            let number = |register| known.values.register(register);
            let is_wake = number(Register::EDI) == Some(Value::Number(SYS_FUTEX))
                && number(Register::ECX) == Some(Value::Number(1));
            if is_wake {
                self.release(function, &path, &known);
            }
        }
    }

    fn acquisition(&mut self, function: &Function, path: &FastPath, acquisition: Acquisition) {
        let atomic = &function.code[path.atomic];
        if !self.done.insert(atomic.ip()) {
            return;
        }
        let known = path.follow(function, Register::RDI);
        self.proven.0 += u32::from(known.is_same_lock);
        self.proven.1 += 1;
        let flags = flags(acquisition, &known);
        if is_call(atomic)
            && let Some(target) = target(atomic)
        {
            let placed = self.place_call(function, path.atomic, target, |block, call| {
                operations::exchange(block, call, flags);
            });
            self.counts.note(Kind::Acquisition, atomic.ip(), placed);
            return;
        }
        let in_use = self.acquired_in_use(function, path, acquisition);
        let placed = self.place(function, path.atomic, |block, moved| {
            // The exchange itself leaves the word's old value in `rax`.
            let is_rax = |register: Register| register.full_register() == Register::RAX;
            if is_rax(atomic.memory_base()) || is_rax(atomic.memory_index()) {
                return Err(Reason::Operand);
            }
            operations::acquire(block, moved, flags, in_use)
        });
        if placed.is_ok() {
            self.keeps[in_use.keeps as usize] += 1;
        }
        self.counts.note(Kind::Acquisition, atomic.ip(), placed);
    }

    fn release(&mut self, function: &Function, path: &FastPath, known: &Known) {
        let atomic = &function.code[path.atomic];
        if !self.done.insert(atomic.ip()) {
            return;
        }
        self.proven.0 += u32::from(known.is_same_lock);
        self.proven.1 += 1;
        if is_call(atomic)
            && let Some(target) = target(atomic)
        {
            let placed = self.place_call(function, path.atomic, target, |block, call| {
                operations::unlock(block, call);
            });
            self.counts.note(Kind::Release, atomic.ip(), placed);
            return;
        }
        let in_use = released_in_use(function, path);
        let placed = self
            .place(function, path.atomic, |block, moved| operations::release(block, moved, in_use));
        if placed.is_ok() {
            self.keeps[in_use.keeps as usize] += 1;
        }
        self.counts.note(Kind::Release, atomic.ip(), placed);
    }

    /// A release without a fast path, as in parking_lot's `bump`: the cold function releases the lock itself there. One of std's wakes
    /// threads after a release, which was not found then.
    fn release_by_call(&mut self, function: &Function, call: &Found, release: Release) {
        // A whole release has its fast path in it, found or not.
        let is_whole = is_whole(self.module, function.code[0].ip());
        let placed = if release.by == Atomic::CompareExchange && !is_whole {
            self.place_call(function, call.at, call.target, |block, call| {
                operations::unlock(block, call);
            })
        } else {
            Err(Reason::NoAtomic)
        };
        self.counts.note(Kind::Release, function.code[call.at].ip(), placed);
    }

    /// Makes a place of an atomic instruction.
    fn place(
        &mut self,
        function: &Function,
        atomic: usize,
        code: impl FnOnce(&mut Block, Moved<'_>) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        if function.uses_red_zone {
            return Err(Reason::RedZone);
        }
        let range = place::around(function, atomic, &self.taken)?;
        let entry = self.block.len();
        let moved = Moved { code: &function.code[range.clone()], atomic: atomic - range.start };
        let made = code(&mut self.block, moved);
        self.put(&function.code[range], entry, made)
    }

    /// Notes a place whose code has been made.
    fn put(
        &mut self,
        instructions: &[Instruction],
        entry: usize,
        made: Result<(), Reason>,
    ) -> Result<(), Reason> {
        let (first, last) = (instructions[0], instructions[instructions.len() - 1]);
        let len = (last.next_ip() - first.ip()) as usize;
        let mut original = [0; MOST_BYTES];
        let made = made.and_then(|()| self.taken.take(first.ip(), last.next_ip()));
        if let Err(reason) = made {
            self.block.truncate(entry);
            return Err(reason);
        }
        let bytes = self.module.code_from(first.ip()).and_then(|code| code.get(..len));
        original[..len].copy_from_slice(bytes.expect("the instructions were decoded from it"));
        self.places.push(Place {
            address: first.ip(),
            entry: entry as u32,
            len: len as u32,
            original,
        });
        Ok(())
    }

    /// What is in use after an acquisition.
    fn acquired_in_use(
        &self,
        function: &Function,
        path: &FastPath,
        acquisition: Acquisition,
    ) -> InUse {
        let call = *path.way.last().expect("the call is on the way");
        let Some(jump) = path.decision else { return ALL_IN_USE };
        let before = &path.way[..jump];
        let decides = |&at: &usize| fast_path::is_conditional(&function.code[at]);
        // Other jumps lead elsewhere with the lock.
        if before.iter().any(decides) {
            return ALL_IN_USE;
        }
        let Some(&next) = path.way.get(jump + 1) else { return ALL_IN_USE };
        let needed = other_edge(function, path.way[jump], next)
            .and_then(|fast| needed(function, fast, call));
        let Some(mut needed) = needed else { return ALL_IN_USE };
        needed.add(rejoin::read(function, before));
        let (keeps, registers) = if needed.has_vector() {
            (Keeps::All, needed)
        } else if acquisition.returns_success {
            (Keeps::General, Registers::ALL)
        } else if needed.has_general() {
            (Keeps::General, needed)
        } else {
            (Keeps::Callee, needed)
        };
        // What flags come to be is known then.
        InUse { keeps, registers, flags: false }
    }

    fn cold_call(&mut self, function: &Function, found: Found) {
        let acquisition = match found.callee.role {
            Role::Waits(acquisition) | Role::Tries(acquisition) => acquisition,
            // The fast path has said it.
            _ => return,
        };
        let wanted = Wanted::before(function, found.at, acquisition);
        let paths = fast_path::find(function, found.at, wanted);
        // What was found by its code may be something else, if nothing but the code says that its argument is a lock.
        if paths.is_empty() && !self.has_names {
            return;
        }
        let known = paths.first().map(|path| path.follow(function, Register::RDI));
        let flags = known.as_ref().map_or(acquisition.flags, |known| flags(acquisition, known));
        let has_deadline = known.is_none_or(|known| has_deadline(acquisition, &known));
        let outcome =
            if acquisition.returns_success && has_deadline && reads_result(function, found.at) {
                Outcome::Success
            } else {
                Outcome::Always
            };
        let placed = self.place_call(function, found.at, found.target, |block, call| {
            match found.callee.role {
                Role::Tries(_) => operations::attempt(block, call, flags),
                _ => operations::wait(block, call, Hook::Waits, flags, outcome),
            }
        });
        let kind = kind(found.callee.role);
        let kind = if kind == Kind::Acquisition { Kind::Wait } else { kind };
        self.counts.note(kind, function.code[found.at].ip(), placed);
    }

    fn whole_call(&mut self, function: &Function, found: Found) {
        let placed = self.place_call(function, found.at, found.target, |block, call| {
            match found.callee.role {
                Role::TriesWhole(acquisition) => {
                    operations::attempt(block, call, acquisition.flags)
                }
                Role::Unlocks(_) => operations::unlock(block, call),
                Role::Locks(acquisition) => {
                    let outcome = if acquisition.returns_success {
                        Outcome::Success
                    } else {
                        Outcome::Always
                    };
                    operations::wait(block, call, Hook::Wants, acquisition.flags, outcome);
                }
                Role::Waits(_) | Role::Tries(_) | Role::Wakes(_) => {}
            }
        });
        self.counts.note(kind(found.callee.role), function.code[found.at].ip(), placed);
    }

    /// Makes a place of a call, with instructions before it if it is too short.
    fn place_call(
        &mut self,
        function: &Function,
        at: usize,
        target: Target,
        code: impl FnOnce(&mut Block, Call),
    ) -> Result<(), Reason> {
        let instruction = &function.code[at];
        if fast_path::is_conditional(instruction) {
            return Err(Reason::TailCall);
        }
        if function.uses_red_zone {
            return Err(Reason::RedZone);
        }
        let first = place::before_call(function, at, &self.taken)?;
        let entry = self.block.len();
        let before = operations::before_call(&mut self.block, &function.code[first..at]);
        code(&mut self.block, Call { target, is_last: !is_call(instruction) });
        self.put(&function.code[first..=at], entry, before)
    }

    fn finish(self) -> Table {
        let mut places = self.places;
        places.sort_by_key(|place| place.address);
        let code = if places.is_empty() { vec![0; SLOTS * 8] } else { self.block.code };
        Table {
            places,
            relocations: self.block.relocations,
            code,
            counts: self.counts,
            has_names: false,
            proven: self.proven,
            keeps: self.keeps,
        }
    }
}

/// The candidates that are calls.
fn found(function: &Function, candidates: &[Candidate]) -> Vec<Found> {
    let mut found = Vec::new();
    for &Candidate { address, callee } in candidates {
        // The linker puts a prefix before a call that was one through a word, and a load has one.
        let before = || function.at(address - 1).filter(|&at| function.code[at].len() > 5);
        let Some(at) = function.at(address).or_else(before) else { continue };
        let instruction = &function.code[at];
        if instruction.flow_control() != FlowControl::Next
            && let Some(target) = target(instruction)
        {
            found.push(Found { at, callee, target });
        }
    }
    found
}

/// What a call names.
fn target(call: &Instruction) -> Option<Target> {
    if call.is_ip_rel_memory_operand() {
        return Some(Target::Word(call.ip_rel_memory_address()));
    }
    let is_near = call.op0_kind() == OpKind::NearBranch64;
    is_near.then(|| Target::Address(call.near_branch_target()))
}

/// The bits of an acquisition, by the arguments of its cold function.
fn flags(acquisition: Acquisition, known: &Known) -> u32 {
    let argument = |register: Option<Register>| known.values.register(register?);
    let mut flags = acquisition.flags;
    if let Some(Value::Number(number)) = argument(acquisition.recursive)
        && number & 0xff != 0
    {
        flags = flags & !flag::FAIR | flag::RECURSIVE;
    }
    if has_deadline(acquisition, known) {
        flags |= flag::TIMED;
    }
    flags
}

/// Whether an acquisition can have a deadline.
fn has_deadline(acquisition: Acquisition, known: &Known) -> bool {
    let register = acquisition.nanoseconds;
    register
        .is_some_and(|register| known.values.register(register) != Some(Value::Number(NO_DEADLINE)))
}

/// Whether the result of a call is looked at.
fn reads_result(function: &Function, call: usize) -> bool {
    rejoin::reads_result(function, call)
}

/// Where a call returns to: `None` within if it is a jump.
fn after(function: &Function, call: usize) -> Option<Option<usize>> {
    if is_call(&function.code[call]) {
        return (call + 1 < function.code.len()).then_some(Some(call + 1));
    }
    Some(None)
}

/// What the fast way needs, from an instruction on, if the cold one has this call.
fn needed(function: &Function, fast: usize, call: usize) -> Option<Registers> {
    let needed = rejoin::needed(function, fast, after(function, call)?)?;
    Some(rejoin::may_be_read(function, fast, needed))
}

/// Where a conditional jump goes if it does not go to the next instruction of a way.
fn other_edge(function: &Function, jump: usize, next: usize) -> Option<usize> {
    let target = function.at(function.code[jump].near_branch_target());
    if target == Some(next) { Some(jump + 1) } else { target }
}

/// As far as nothing is known. Flags are for those to say who know more.
const ALL_IN_USE: InUse = InUse { keeps: Keeps::All, registers: Registers::ALL, flags: false };

/// Registers of arguments: each may be one of a cold function's. `rax` has how many of them are vectors.
const ARGUMENTS: Registers = Registers::of(&[0, 1, 2, 6, 7, 8, 9]);

/// What is in use before a release's atomic instruction.
fn released_in_use(function: &Function, path: &FastPath) -> InUse {
    let after = &function.code[path.atomic..function.code.len().min(path.atomic + 16)];
    let flags = flags_are_used(after);
    let registers = before_release(function, path).unwrap_or(Registers::ALL);
    let keeps = if registers.has_vector() { Keeps::All } else { Keeps::General };
    InUse { keeps, registers, flags }
}

/// The registers that are in use there, from the call back to the instruction. `None`: that cannot be seen.
fn before_release(function: &Function, path: &FastPath) -> Option<Registers> {
    let (&call, way) = path.way.split_last().expect("the call is on the way");
    if fast_path::is_conditional(&function.code[call]) {
        return None;
    }
    let mut in_use = ARGUMENTS;
    in_use.add(rejoin::before(&function.code[call], Registers::default()));
    let mut next = call;
    for &at in way.iter().rev() {
        if fast_path::is_conditional(&function.code[at]) {
            let fast = other_edge(function, at, next)?;
            in_use.add(needed(function, fast, call)?);
        }
        in_use = rejoin::before(&function.code[at], in_use);
        next = at;
    }
    Some(rejoin::before(&function.code[path.atomic], in_use))
}

fn is_whole(module: &Module<'_>, address: u64) -> bool {
    module.callees.get(&address).is_some_and(|callee| is_whole_role(callee.role))
}

fn is_whole_role(role: Role) -> bool {
    matches!(role, Role::Locks(_) | Role::TriesWhole(_) | Role::Unlocks(_))
}

/// What a call of the function counts as.
fn kind(role: Role) -> Kind {
    match role {
        Role::Waits(_) => Kind::Acquisition,
        Role::Tries(_) => Kind::Try,
        Role::Wakes(_) => Kind::Release,
        Role::Locks(_) => Kind::Lock,
        Role::TriesWhole(_) => Kind::TryLock,
        Role::Unlocks(_) => Kind::Unlock,
    }
}
