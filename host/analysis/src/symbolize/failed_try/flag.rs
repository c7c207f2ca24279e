//! Whether a function that has taken a mutex takes a monitor: a way goes to a wait on a condition variable, past memory that
//! another way then sets. `while (flag) wait(); flag = true; unlock();`
//!
//! What is set must not come of what was there: a count that is changed has room for more threads than one. A wait with a time
//! limit is none, as the caller may do without.

use std::collections::HashSet;

use iced_x86::{FlowControl, Instruction, OpAccess, OpKind, Register};
use object::read::Object;

use super::called::Does;
use super::releases::Code;
use super::values::{Made, Value};
use super::walk::{State, Walk};

/// Instructions that are followed at most.
const MOST_STEPS: usize = 5_000;

/// What follows the call that takes the mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// A wait for a flag, which is then set.
    Waits,
    /// The mutex is released without that, as far as is known.
    None,
    /// The function returns with the mutex.
    Returns,
}

/// What the ways have come by.
#[derive(Default)]
struct Ways {
    /// Addresses that were read before a wait.
    read: HashSet<Value>,
    /// Addresses that were set to something of its own.
    set: HashSet<Value>,
    has_waited: bool,
    has_released: bool,
    has_returned: bool,
}

impl Walk<'_> {
    /// What follows the call that returns to `offset`; `None` if there is none.
    pub fn flag_after<'data, O: Object<'data>>(
        mut self,
        offset: u64,
        callees: &mut Code<'_, O>,
    ) -> Option<Flag> {
        let (mut state, _) = self.up_to(offset)?;
        // The mutex, or a guard and the mutex that it is made with.
        let arguments = [Register::RDI, Register::RSI];
        let mutex = arguments.map(|argument| self.register(&mut state, argument));
        self.called(&mut state);
        let ways = self.ways(offset, state, mutex, callees);
        let is_flag = !ways.read.is_disjoint(&ways.set);
        Some(match ways {
            Ways { has_waited: true, .. } if is_flag => Flag::Waits,
            Ways { has_waited: false, has_released: false, has_returned: true, .. } => {
                Flag::Returns
            }
            _ => Flag::None,
        })
    }

    fn ways<'data, O: Object<'data>>(
        &mut self,
        from: u64,
        state: State,
        mutex: [Value; 2],
        callees: &mut Code<'_, O>,
    ) -> Ways {
        let mut ways = Ways::default();
        let mut results = HashSet::new();
        let mut open = vec![(from, state, HashSet::new())];
        let mut seen = HashSet::new();
        let mut steps = 0;
        while let Some((at, mut state, mut read)) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            for instruction in self.code.decoder(at).into_iter().flatten() {
                steps += 1;
                if instruction.is_invalid() || steps > MOST_STEPS {
                    return ways;
                }
                let target = instruction.near_branch_target();
                match instruction.flow_control() {
                    FlowControl::Next => {
                        self.reads(&mut state, &instruction, &mut read);
                        let value = self.sets(&mut state, &instruction, &results);
                        self.step(&mut state, &instruction);
                        ways.set.extend(value);
                        continue;
                    }
                    FlowControl::ConditionalBranch => {
                        open.push((target, state.clone(), read.clone()));
                        open.push((instruction.next_ip(), state, read));
                        break;
                    }
                    FlowControl::UnconditionalBranch if self.code.has(target) => {
                        open.push((target, state, read));
                        break;
                    }
                    FlowControl::Return => {
                        ways.has_returned = true;
                        break;
                    }
                    FlowControl::Call | FlowControl::IndirectCall => {}
                    // The end of a function can be a jump to another.
                    FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {}
                    _ => break,
                }
                let is_call = matches!(
                    instruction.flow_control(),
                    FlowControl::Call | FlowControl::IndirectCall
                );
                match callees.does(&instruction) {
                    Does::Ends => break,
                    Does::Releases => {
                        ways.has_released = true;
                        break;
                    }
                    Does::WaitsWithout => {
                        let with = self.register(&mut state, Register::RSI);
                        let by_guard = callees.waits_by_guard(&instruction);
                        if mutex.contains(&with) || by_guard && self.is_on_stack(with) {
                            ways.has_waited = true;
                            ways.read.extend(&read);
                        }
                    }
                    _ => {}
                }
                if !is_call {
                    ways.has_returned = true;
                    break;
                }
                self.called(&mut state);
                results.insert(self.register(&mut state, Register::RAX));
            }
        }
        ways
    }

    /// Notes what an instruction reads.
    fn reads(&mut self, state: &mut State, instruction: &Instruction, read: &mut HashSet<Value>) {
        let info = self.info.info(instruction);
        let accesses = [info.op0_access(), info.op1_access()];
        for (at, access) in (0..instruction.op_count().min(2)).zip(accesses) {
            let is_read =
                matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite);
            if instruction.op_kind(at) == OpKind::Memory
                && is_read
                && let Some(address) = self.address(state, instruction)
                && !self.is_on_stack(address)
            {
                read.insert(address);
            }
        }
    }

    /// The address that an instruction sets to something that does not come of what was there: a number, what the function was
    /// called with, or what another has returned.
    fn sets(
        &mut self,
        state: &mut State,
        instruction: &Instruction,
        results: &HashSet<Value>,
    ) -> Option<Value> {
        let is_store = instruction.op_count() == 2 && instruction.op0_kind() == OpKind::Memory;
        if !is_store || self.info.info(instruction).op0_access() != OpAccess::Write {
            return None;
        }
        let value = self.operand(state, instruction, 1)?;
        let is_own = matches!(self.values.made(value), Made::Constant(_) | Made::First(_))
            || results.contains(&value);
        let address = self.address(state, instruction)?;
        (is_own && !self.is_on_stack(address)).then_some(address)
    }

    /// Whether an address is in the function's own frame.
    fn is_on_stack(&self, address: Value) -> bool {
        let base = match self.values.made(address) {
            Made::Sum(base, _) => self.values.made(base),
            made => made,
        };
        matches!(base, Made::First(Register::RSP | Register::RBP))
    }
}
