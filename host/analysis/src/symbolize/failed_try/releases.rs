//! Whether a function releases locks on some of its ways, by its code: it calls an unlock, or a function that calls that and
//! takes no lock itself. A function that is called for a lock has no such call.

use std::collections::HashMap;
use std::fs::File;

use iced_x86::{FlowControl, Instruction};
use object::read::Object;

use super::called::{Does, GUARDED_WAIT, Imports};
use super::function::{Function, MOST_BYTES, unwound};
use super::walk::Others;

/// Calls from a function to the unlock, one by the other.
const MOST_CALLS: u32 = 4;

/// Functions whose code is read for one answer.
const MOST_FUNCTIONS: usize = 32;

/// What a function's calls do to locks.
#[derive(Clone, Copy, Default)]
struct Effects {
    takes: bool,
    releases: bool,
    /// It waits on a condition variable.
    waits: bool,
    /// Some of its calls are not known.
    is_partly_unknown: bool,
}

/// The code of a module's functions.
pub struct Code<'a, O> {
    elf: &'a O,
    file: &'a File,
    imports: &'a Imports,
    /// By their first addresses.
    known: HashMap<u64, Effects>,
}

impl<'a, 'data, O: Object<'data>> Code<'a, O> {
    /// That of the functions of a file, which has these imports.
    pub fn new(elf: &'a O, file: &'a File, imports: &'a Imports) -> Self {
        Self { elf, file, imports, known: HashMap::new() }
    }

    /// Whether the function releases a lock; `None` if its code does not say.
    pub fn releases(mut self, function: &Function) -> Option<bool> {
        let effects = self.effects(function, MOST_CALLS);
        (effects.releases || !effects.is_partly_unknown).then_some(effects.releases)
    }

    /// Whether a call waits with the mutex of a guard.
    pub fn waits_by_guard(&self, call: &Instruction) -> bool {
        self.imports.is(call, GUARDED_WAIT)
    }

    /// What a call, or a jump out of a function, does to a lock that is held: it releases that, or waits without it.
    pub fn does(&mut self, call: &Instruction) -> Does {
        match self.imports.of(call) {
            Does::Unknown => match self.called(call, MOST_CALLS) {
                Effects { waits: true, takes: false, .. } => Does::WaitsWithout,
                Effects { releases: true, takes: false, .. } => Does::Releases,
                _ => Does::Unknown,
            },
            known => known,
        }
    }

    fn effects(&mut self, function: &Function, depth: u32) -> Effects {
        let mut effects = Effects::default();
        for instruction in function.decoder(function.start).into_iter().flatten() {
            if instruction.is_invalid() {
                effects.is_partly_unknown = true;
                break;
            }
            if !is_call(&instruction, function) {
                continue;
            }
            match self.imports.of(&instruction) {
                Does::Releases => effects.releases = true,
                Does::Tries | Does::Waits | Does::WaitsForATime => effects.takes = true,
                Does::WaitsWithout => effects.waits = true,
                Does::Nothing | Does::Ends => {}
                Does::Unknown => {
                    let called = self.called(&instruction, depth);
                    effects.takes |= called.takes;
                    effects.releases |= called.releases && !called.takes;
                    effects.waits |= called.waits;
                    effects.is_partly_unknown |= called.is_partly_unknown;
                }
            }
        }
        effects
    }

    /// Those of a function of the same module that is called; of any other they are not known.
    fn called(&mut self, call: &Instruction, depth: u32) -> Effects {
        let unknown = Effects { is_partly_unknown: true, ..Effects::default() };
        let target = call.near_branch_target();
        if let Some(&known) = self.known.get(&target) {
            return known;
        }
        if target == 0 || depth == 0 || self.known.len() == MOST_FUNCTIONS {
            return unknown;
        }
        // What is called while it is read is itself.
        self.known.insert(target, Effects::default());
        let code = self.at(target);
        let effects = code.map_or(unknown, |code| self.effects(&code, depth - 1));
        self.known.insert(target, effects);
        effects
    }
}

impl<'data, O: Object<'data>> Others for Code<'_, O> {
    fn at(&self, first: u64) -> Option<Function> {
        let (start, size) = unwound(self.elf, self.file, first)?;
        let is_it = start == first && size <= MOST_BYTES;
        is_it.then(|| Function::read(self.elf, self.file, start, size))?
    }

    fn releases(&mut self, call: &Instruction) -> bool {
        self.does(call) == Does::Releases
    }
}

/// The instruction calls a function, or jumps to one at the end of its own.
fn is_call(instruction: &Instruction, function: &Function) -> bool {
    match instruction.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall => true,
        FlowControl::UnconditionalBranch => !function.has(instruction.near_branch_target()),
        FlowControl::IndirectBranch => instruction.is_ip_rel_memory_operand(),
        _ => false,
    }
}
