//! The ways through a function behind a try that failed.

use std::collections::{HashMap, HashSet};

use iced_x86::{ConditionCode, FlowControl, Instruction};
use iced_x86::{InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::called::{Does, Imports};
use super::follows::FailedTry;
use super::function::Function;
use super::values::{Made, Value, Values};

/// Instructions that are followed at most.
const MOST_STEPS: usize = 5_000;

/// What is known at an instruction.
#[derive(Clone, Default)]
pub struct State {
    registers: HashMap<Register, Value>,
    /// By address.
    slots: HashMap<Value, Value>,
    /// What was compared with 0 last.
    compared: Option<Value>,
    /// Another lock was released on the way.
    has_released: bool,
    /// The way went back to before the try: what is there may depend on other things by now.
    went_back: bool,
}

/// The other functions of a module.
pub trait Others {
    /// The one that begins at an address.
    fn at(&self, first: u64) -> Option<Function>;
    /// Whether a call releases a lock, as far as the code of what it calls tells.
    fn releases(&mut self, call: &Instruction) -> bool;
}

/// A walk through a function.
pub struct Walk<'a> {
    pub(super) code: &'a Function,
    imports: &'a Imports,
    pub(super) values: Values,
    pub(super) info: InstructionInfoFactory,
}

/// The function that is walked through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The one that tries.
    Try,
    /// One that it calls for the same lock if the try fails.
    SlowPath,
}

impl<'a> Walk<'a> {
    /// From nothing known.
    pub fn new(code: &'a Function, imports: &'a Imports) -> Self {
        Self { code, imports, values: Values::default(), info: InstructionInfoFactory::new() }
    }

    /// What follows the try that returns to `offset`; `None` if there is none.
    pub fn after(mut self, offset: u64, others: &mut dyn Others) -> Option<FailedTry> {
        let (mut state, call) = self.up_to(offset)?;
        if self.imports.of(&call) != Does::Tries {
            return None;
        }
        let lock = self.register(&mut state, Register::RDI);
        self.called(&mut state);
        let result = self.values.new_one();
        state.registers.insert(Register::RAX, result);
        Some(self.follow((offset, state), lock, result, (Part::Try, others)))
    }

    /// What a function does, from its begin on, for a lock that is `within` bytes behind its first argument: all of its ways
    /// wait for that, or it gives up.
    fn slow_path(mut self, within: i64, others: &mut dyn Others) -> FailedTry {
        let mut state = State::default();
        let first = self.register(&mut state, Register::RDI);
        let lock = self.values.sum(first, within);
        let no_result = self.values.new_one();
        self.follow((self.code.start, state), lock, no_result, (Part::SlowPath, others))
    }

    /// What the function does that is called, or jumped to, for the lock, if it is one of the module's own and its first argument
    /// leads to the lock.
    fn called_for(
        &mut self,
        lock: Value,
        state: &mut State,
        call: &Instruction,
        others: &mut dyn Others,
    ) -> Option<FailedTry> {
        let argument = self.register(state, Register::RDI);
        let within = self.values.between(argument, lock)?;
        let code = others.at(call.near_branch_target())?;
        Some(Walk::new(&code, self.imports).slow_path(within, others))
    }

    /// What is known at the call that returns to `offset`, and that call; `None` if there is none.
    pub(super) fn up_to(&mut self, offset: u64) -> Option<(State, Instruction)> {
        let mut state = State::default();
        for instruction in self.code.decoder(self.code.start)? {
            if instruction.next_ip() == offset {
                return Some((state, instruction));
            }
            if instruction.is_invalid() || instruction.ip() >= offset {
                return None;
            }
            // As if every instruction before it were on the way.
            match instruction.flow_control() {
                FlowControl::Call | FlowControl::IndirectCall => self.called(&mut state),
                _ => self.step(&mut state, &instruction),
            }
        }
        None
    }

    /// Follows every way from the try that returned to `from` and has failed to take `lock`, or from the begin of a function
    /// that is called then. What that calls before it waits is taken to release nothing if it is not known.
    fn follow(
        &mut self,
        (from, state): (u64, State),
        lock: Value,
        result: Value,
        (part, others): (Part, &mut dyn Others),
    ) -> FailedTry {
        let (mut waits, mut timed, mut returns, mut released) = (false, false, false, false);
        let mut open = vec![(from, state)];
        let mut seen = HashSet::new();
        let mut steps = 0;
        while let Some((at, mut state)) = open.pop() {
            let mut decoder = match self.code.decoder(at) {
                Some(decoder) if seen.insert((at, state.has_released, state.went_back)) => decoder,
                Some(_) => continue,
                None => {
                    returns = true;
                    continue;
                }
            };
            while decoder.can_decode() {
                let instruction = decoder.decode();
                steps += 1;
                if instruction.is_invalid() || steps > MOST_STEPS {
                    returns = true;
                    break;
                }
                let flow = instruction.flow_control();
                let target = instruction.near_branch_target();
                let leaves = flow == FlowControl::UnconditionalBranch && !self.code.has(target);
                match flow {
                    FlowControl::Next => {
                        self.step(&mut state, &instruction);
                        continue;
                    }
                    FlowControl::ConditionalBranch => {
                        let fails = fails_on(&instruction, &state, result, &self.values);
                        if fails != Some(false) {
                            let went_back = state.went_back || target < from;
                            open.push((target, State { went_back, ..state.clone() }));
                        }
                        if fails != Some(true) {
                            open.push((instruction.next_ip(), state));
                        }
                        break;
                    }
                    FlowControl::UnconditionalBranch if !leaves => {
                        state.went_back |= target < from;
                        open.push((target, state));
                        break;
                    }
                    FlowControl::Call | FlowControl::IndirectCall => {}
                    FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {}
                    FlowControl::Interrupt | FlowControl::Exception => break,
                    _ => {
                        returns = true;
                        break;
                    }
                }
                let is_call = matches!(flow, FlowControl::Call | FlowControl::IndirectCall);
                let is_same = self.register(&mut state, Register::RDI) == lock;
                let is_again = instruction.next_ip() == from;
                match self.imports.of(&instruction) {
                    Does::Waits if is_same && !state.went_back => waits = true,
                    Does::Tries if is_same && is_again => waits = true,
                    Does::WaitsForATime if is_same && !state.went_back => timed = true,
                    Does::Ends => break,
                    // What is jumped to does not come back.
                    does @ (Does::Releases | Does::WaitsWithout | Does::Waits | Does::Nothing)
                        if is_call =>
                    {
                        state.has_released |= matches!(does, Does::Releases | Does::WaitsWithout);
                        self.called(&mut state);
                        continue;
                    }
                    Does::Unknown if part == Part::SlowPath && is_call => {
                        state.has_released |= others.releases(&instruction);
                        self.called(&mut state);
                        continue;
                    }
                    Does::Unknown if part == Part::Try && !state.went_back => {
                        match self.called_for(lock, &mut state, &instruction, others) {
                            Some(FailedTry::Waits) => waits = true,
                            Some(FailedTry::WaitsForATime) => timed = true,
                            _ => {
                                returns = true;
                                break;
                            }
                        }
                    }
                    _ => {
                        returns = true;
                        break;
                    }
                }
                released |= state.has_released;
                break;
            }
        }
        match (waits || timed, released) {
            // It depends on something that the caller may have asked for.
            _ if returns && !released => FailedTry::GivesUp,
            (false, _) => FailedTry::GivesUp,
            (true, true) => FailedTry::BacksOff,
            (true, false) if timed => FailedTry::WaitsForATime,
            (true, false) => FailedTry::Waits,
        }
    }

    pub(super) fn register(&mut self, state: &mut State, register: Register) -> Value {
        let full = register.full_register();
        *state.registers.entry(full).or_insert_with(|| self.values.of(Made::First(full)))
    }

    /// The address of a memory operand, if it is one of a register and a number.
    pub(super) fn address(
        &mut self,
        state: &mut State,
        instruction: &Instruction,
    ) -> Option<Value> {
        if instruction.is_ip_rel_memory_operand() {
            return Some(self.values.of(Made::Constant(instruction.ip_rel_memory_address())));
        }
        let base = instruction.memory_base();
        let is_plain = instruction.memory_index() == Register::None
            && instruction.segment_prefix() == Register::None;
        let offset = instruction.memory_displacement64() as i64;
        match base {
            _ if !is_plain => None,
            Register::None => Some(self.values.of(Made::Constant(offset as u64))),
            _ => {
                let base = self.register(state, base);
                Some(self.values.sum(base, offset))
            }
        }
    }

    /// What an operand has.
    pub(super) fn operand(
        &mut self,
        state: &mut State,
        instruction: &Instruction,
        at: u32,
    ) -> Option<Value> {
        match instruction.op_kind(at) {
            OpKind::Register => Some(self.register(state, instruction.op_register(at))),
            OpKind::Memory => {
                let address = self.address(state, instruction)?;
                let known = state.slots.get(&address).copied();
                Some(known.unwrap_or_else(|| self.values.of(Made::At(address))))
            }
            _ => {
                let number = instruction.try_immediate(at).ok()?;
                Some(self.values.of(Made::Constant(number)))
            }
        }
    }

    /// A function was called: what it may change is not known any more.
    pub(super) fn called(&mut self, state: &mut State) {
        use Register::{R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI};
        for register in [RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11] {
            state.registers.insert(register, self.values.new_one());
        }
        state.compared = None;
    }

    /// An instruction that only computes or moves.
    pub(super) fn step(&mut self, state: &mut State, instruction: &Instruction) {
        let mnemonic = instruction.mnemonic();
        let moved = match mnemonic {
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsxd | Mnemonic::Movsx => {
                self.operand(state, instruction, 1)
            }
            Mnemonic::Lea => self.address(state, instruction),
            Mnemonic::Sete => state.compared.map(|value| self.values.of(Made::IsZero(value))),
            Mnemonic::Xor
                if instruction.op0_kind() == OpKind::Register
                    && instruction.op1_kind() == OpKind::Register
                    && instruction.op0_register() == instruction.op1_register() =>
            {
                Some(self.values.of(Made::Constant(0)))
            }
            Mnemonic::Add | Mnemonic::Sub if instruction.op0_kind() == OpKind::Register => {
                let by = instruction.try_immediate(1).ok().map(|number| number as i64);
                let before = self.register(state, instruction.op0_register());
                let sign = if mnemonic == Mnemonic::Add { 1 } else { -1 };
                by.map(|by| self.values.sum(before, by.wrapping_mul(sign)))
            }
            _ => None,
        };
        match mnemonic {
            Mnemonic::Test
                if instruction.op0_kind() == OpKind::Register
                    && instruction.op1_kind() == OpKind::Register
                    && instruction.op0_register() == instruction.op1_register() =>
            {
                state.compared = self.operand(state, instruction, 0);
                return;
            }
            Mnemonic::Cmp if instruction.try_immediate(1).is_ok_and(|it| it == 0) => {
                state.compared = self.operand(state, instruction, 0);
                return;
            }
            Mnemonic::Push => {
                let value = self.operand(state, instruction, 0);
                let top = self.register(state, Register::RSP);
                let top = self.values.sum(top, -8);
                state.registers.insert(Register::RSP, top);
                state.slots.extend(value.map(|value| (top, value)));
                return;
            }
            Mnemonic::Pop => {
                let top = self.register(state, Register::RSP);
                let value = state.slots.get(&top).copied();
                let value = value.unwrap_or_else(|| self.values.of(Made::At(top)));
                let above = self.values.sum(top, 8);
                state.registers.insert(Register::RSP, above);
                state.registers.insert(instruction.op0_register().full_register(), value);
                return;
            }
            _ => {}
        }
        let info = self.info.info(instruction);
        let is_written = |access: OpAccess| {
            matches!(
                access,
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            )
        };
        let written: Vec<Register> = info
            .used_registers()
            .iter()
            .filter(|used| is_written(used.access()))
            .map(|used| used.register().full_register())
            .collect();
        let to_memory = instruction.op_count() > 0
            && instruction.op0_kind() == OpKind::Memory
            && is_written(info.op0_access());
        if instruction.rflags_modified() != 0 {
            state.compared = None;
        }
        if to_memory && let Some(address) = self.address(state, instruction) {
            let value = moved.unwrap_or_else(|| self.values.new_one());
            state.slots.insert(address, value);
        }
        for register in written {
            let is_first = instruction.op0_kind() == OpKind::Register
                && instruction.op0_register().full_register() == register;
            let value = moved.filter(|_| is_first).unwrap_or_else(|| self.values.new_one());
            state.registers.insert(register, value);
        }
    }
}

/// Whether a conditional jump is taken if the try has failed: it gave something other than 0. `None` if the jump is for something
/// else.
fn fails_on(jump: &Instruction, state: &State, result: Value, values: &Values) -> Option<bool> {
    let compared = state.compared?;
    let is_it = compared == result;
    let is_success = values.made(compared) == Made::IsZero(result);
    let is_zero = match jump.condition_code() {
        ConditionCode::e => true,
        ConditionCode::ne => false,
        _ => return None,
    };
    match (is_it, is_success) {
        (true, _) => Some(!is_zero),
        (_, true) => Some(is_zero),
        _ => None,
    }
}
