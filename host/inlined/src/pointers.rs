//! Calls through a register that was loaded from a word with a function's address: in loops compilers keep the word's value, and code
//! that is not optimised loads it right before each call.

use std::collections::{BTreeMap, VecDeque};

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use crate::function::{Function, goes_on, is_call};
use crate::module::Module;

/// A call through a register, and the word that its function's address was loaded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerCall {
    /// Which instruction it is.
    pub at: usize,
    /// Address of the word.
    pub word: u64,
    /// On every way there the register has that word's value. Otherwise it is so on some ways only, or not known.
    pub is_certain: bool,
}

/// A register by its number, or a word of the stack by its distance from the stack pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Register(usize),
    Stack(i64),
}

/// Which words' values are where.
type State = BTreeMap<Holder, u64>;

/// Registers that a call leaves as they were: rbx, rbp, and r12 to r15.
const KEPT_BY_CALLS: [usize; 6] = [3, 5, 12, 13, 14, 15];

/// The calls of a function through registers that have the value of one of the module's words with addresses of functions behind locks.
pub fn calls(module: &Module<'_>, function: &Function) -> Vec<PointerCall> {
    let code = &function.code;
    let through = |at: &usize| {
        let flow = code[*at].flow_control();
        let is_register = code[*at].op_count() > 0 && code[*at].op0_kind() == OpKind::Register;
        let is_stack = code[*at].op_count() > 0 && stack_word(&code[*at]).is_some();
        matches!(flow, FlowControl::IndirectCall | FlowControl::IndirectBranch)
            && (is_register || is_stack)
    };
    let calls: Vec<usize> = (0..code.len()).filter(through).collect();
    if calls.is_empty() || !code.iter().any(|it| loaded(module, it).is_some()) {
        return Vec::new();
    }
    let states = Flow { module, function, info: InstructionInfoFactory::new() }.states();
    let found = calls.into_iter().filter_map(|at| {
        let holder = match stack_word(&code[at]) {
            Some(distance) => Holder::Stack(distance),
            None => Holder::Register(code[at].op0_register().full_register().number()),
        };
        let known = states[at].as_ref().and_then(|state| state.get(&holder).copied());
        let word = known.or_else(|| only_load(module, code, holder));
        word.map(|word| PointerCall { at, word, is_certain: true }).or_else(|| {
            // Some load of the register may lead there.
            let any = any_load(module, code, holder)?;
            Some(PointerCall { at, word: any, is_certain: false })
        })
    });
    found.collect()
}

/// The word of the stack that an instruction names by the stack pointer alone.
fn stack_word(instruction: &Instruction) -> Option<i64> {
    let has_memory =
        (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    let is_plain = instruction.memory_base() == Register::RSP
        && instruction.memory_index() == Register::None
        && instruction.segment_prefix() == Register::None;
    (has_memory && is_plain).then(|| instruction.memory_displacement64().cast_signed())
}

/// The word that an instruction loads into a register, if it has the address of a function behind locks.
fn loaded(module: &Module<'_>, instruction: &Instruction) -> Option<u64> {
    let is_load = instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register().is_gpr64()
        && instruction.is_ip_rel_memory_operand();
    let word = is_load.then(|| instruction.ip_rel_memory_address())?;
    module.pointers.contains_key(&word).then_some(word)
}

/// The loads into a register.
fn loads_into<'c>(
    module: &'c Module<'_>,
    code: &'c [Instruction],
    holder: Holder,
) -> impl Iterator<Item = u64> + 'c {
    let into = move |it: &&Instruction| Holder::Register(it.op0_register().number()) == holder;
    code.iter()
        .filter(move |it| loaded(module, it).is_some() && into(it))
        .filter_map(|it| loaded(module, it))
}

fn any_load(module: &Module<'_>, code: &[Instruction], holder: Holder) -> Option<u64> {
    loads_into(module, code, holder).next()
}

/// The word that is all that a register which calls keep is ever loaded with in a function, between its entry, which saves it, and its
/// end, which takes it back. So it has that on ways of the unwinder's, too.
fn only_load(module: &Module<'_>, code: &[Instruction], holder: Holder) -> Option<u64> {
    let Holder::Register(number) = holder else { return None };
    if !KEPT_BY_CALLS.contains(&number) {
        return None;
    }
    let word = any_load(module, code, holder)?;
    let mut info = InstructionInfoFactory::new();
    let is_all = code.iter().all(|instruction| {
        loaded(module, instruction) == Some(word)
            || instruction.mnemonic() == Mnemonic::Pop
            || !written(&mut info, instruction).contains(&number)
    });
    is_all.then_some(word)
}

/// Numbers of the registers that an instruction writes to.
fn written(info: &mut InstructionInfoFactory, instruction: &Instruction) -> Vec<usize> {
    let used = info.info(instruction).used_registers();
    let writes = |access: OpAccess| {
        !matches!(
            access,
            OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess
        )
    };
    let written = used.iter().filter(|it| writes(it.access()) && it.register().is_gpr());
    written.map(|it| it.register().full_register().number()).collect()
}

/// Follows a function's ways forward.
struct Flow<'f, 'data> {
    module: &'f Module<'data>,
    function: &'f Function,
    info: InstructionInfoFactory,
}

impl Flow<'_, '_> {
    /// What is known before each instruction; `None` where no way was found.
    fn states(&mut self) -> Vec<Option<State>> {
        let code = &self.function.code;
        let mut states: Vec<Option<State>> = vec![None; code.len()];
        let mut waiting = VecDeque::new();
        for (at, state) in states.iter_mut().enumerate() {
            if at == 0 || self.function.is_entry(at) {
                *state = Some(State::new());
                waiting.push_back(at);
            }
        }
        while let Some(at) = waiting.pop_front() {
            let Some(before) = states[at].clone() else { continue };
            let after = self.step(before, &code[at]);
            let next = goes_on(&code[at]).then_some(at + 1).filter(|&next| next < code.len());
            let is_jump = matches!(
                code[at].flow_control(),
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
            );
            let target = is_jump.then(|| self.function.at(code[at].near_branch_target())).flatten();
            for next in next.into_iter().chain(target) {
                let merged = match &states[next] {
                    None => after.clone(),
                    Some(known) => {
                        let agreed =
                            known.iter().filter(|(holder, word)| after.get(holder) == Some(word));
                        agreed.map(|(&holder, &word)| (holder, word)).collect()
                    }
                };
                if states[next].as_ref() != Some(&merged) {
                    states[next] = Some(merged);
                    waiting.push_back(next);
                }
            }
        }
        states
    }

    fn step(&mut self, mut state: State, instruction: &Instruction) -> State {
        if is_call(instruction) {
            state.retain(|holder, _| match holder {
                Holder::Register(number) => KEPT_BY_CALLS.contains(number),
                Holder::Stack(_) => true,
            });
            return state;
        }
        let register = |operand: u32| {
            let register = instruction.op_register(operand);
            (instruction.op_kind(operand) == OpKind::Register && register.is_gpr64())
                .then(|| Holder::Register(register.number()))
        };
        let is_move = instruction.mnemonic() == Mnemonic::Mov && instruction.op_count() == 2;
        let value = match loaded(self.module, instruction) {
            Some(word) => Some(word),
            None if is_move => {
                let from = register(1)
                    .or_else(|| register(0).and(stack_word(instruction)).map(Holder::Stack));
                from.and_then(|from| state.get(&from).copied())
            }
            None => None,
        };
        if instruction.is_stack_instruction() {
            // The stack pointer has moved.
            state.retain(|holder, _| matches!(holder, Holder::Register(_)));
        }
        for number in written(&mut self.info, instruction) {
            if number == Register::RSP.number() {
                state.retain(|holder, _| matches!(holder, Holder::Register(_)));
            }
            state.remove(&Holder::Register(number));
        }
        let is_store = instruction.op_count() > 0 && instruction.op0_kind() == OpKind::Memory;
        if is_store && let Some(distance) = stack_word(instruction) {
            state.retain(|holder, _| match holder {
                Holder::Stack(at) => (at - distance).abs() >= 64,
                Holder::Register(_) => true,
            });
        }
        if is_move && let Some(word) = value {
            let stored = stack_word(instruction).filter(|_| is_store).map(Holder::Stack);
            if let Some(to) = register(0).or(stored) {
                state.insert(to, word);
            }
        }
        state
    }
}
