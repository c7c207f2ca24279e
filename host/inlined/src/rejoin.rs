//! Which registers the fast path still needs, by what the cold one has left of them.
//!
//! The cold function is an ordinary call: it leaves anything in the registers that a callee need not keep. Where its way and the
//! fast one have met again, such a register cannot be in use, except if the cold way has written it after the call. So the fast
//! way needs what it reads before they meet, and what the cold one has written by then. They also meet if both return, or both call
//! the same function: neither has then set a result or an argument that the other lacks.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{FlowControl, InstructionInfoFactory, OpAccess, Register};

use crate::function::Function;
use crate::registers::Registers;
use crate::values::is_register_written;

/// Where two ways meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Meeting {
    At(usize),
    Return,
    Call(u64),
}

/// Instructions looked at on each way, at most.
const MOST_STEPS: usize = 96;

/// The registers that the fast way needs, from an instruction on. `after_call` is where the cold way's call returns to, or `None` if it is
/// a jump, which returns to the function's caller. The result is `None` if the ways do not meet as far as can be seen.
pub fn needed(function: &Function, fast: usize, after_call: Option<usize>) -> Option<Registers> {
    let cold = match after_call {
        Some(at) => written(function, at),
        None => BTreeMap::from([(Meeting::Return, Registers::default())]),
    };
    let mut needed = Registers::default();
    let mut open = vec![(fast, Registers::default())];
    let mut seen = BTreeSet::new();
    let mut info = InstructionInfoFactory::new();
    let mut steps = 0;
    while let Some((at, mut own)) = open.pop() {
        if let Some(written) = cold.get(&Meeting::At(at)) {
            needed.add(written.without(own));
            continue;
        }
        steps += 1;
        let instruction = function.code.get(at).filter(|_| steps <= MOST_STEPS)?;
        match (meeting(function, at), instruction.flow_control()) {
            (Some(meeting), _) => {
                needed.add(cold.get(&meeting)?.without(own));
                continue;
            }
            // It traps.
            (None, FlowControl::Exception) => continue,
            _ => {}
        }
        for used in info.info(instruction).used_registers() {
            let register = Registers::one(used.register());
            let is_read = !matches!(used.access(), OpAccess::Write | OpAccess::NoMemAccess);
            if is_read && !is_zeroing(instruction) {
                needed.add(register.without(own));
            }
            if used.access() == OpAccess::Write && is_all_of(used.register()) {
                own.add(register);
            }
        }
        for next in next(function, at)? {
            if seen.insert((next, own)) {
                open.push((next, own));
            }
        }
    }
    Some(needed)
}

/// Those of some registers that may be read from an instruction on before they are written. At calls and where the function ends all
/// may be, and whatever cannot be followed may read all.
pub fn may_be_read(function: &Function, from: usize, registers: Registers) -> Registers {
    let mut read = Registers::default();
    let mut open = vec![(from, registers)];
    let mut seen = BTreeMap::<usize, Registers>::new();
    let mut steps = 0;
    while let Some((at, left)) = open.pop() {
        let left = left.without(read);
        // What was asked about here before is asked about no more.
        let asked = seen.entry(at).or_default();
        let left = left.without(*asked);
        asked.add(left);
        if left == Registers::default() {
            continue;
        }
        steps += 1;
        let Some(instruction) = function.code.get(at).filter(|_| steps <= MOST_STEPS) else {
            return registers;
        };
        let after = before(instruction, Registers::default());
        read.add(left.without(left.without(after)));
        match instruction.flow_control() {
            // It traps.
            FlowControl::Exception => continue,
            FlowControl::Next
            | FlowControl::ConditionalBranch
            | FlowControl::UnconditionalBranch => {}
            _ => {
                read.add(left);
                continue;
            }
        }
        let left = left.without(read).without(written_by(instruction));
        match next(function, at) {
            Some(following) => open.extend(following.into_iter().map(|next| (next, left))),
            None => read.add(left),
        }
    }
    read
}

/// The registers of which an instruction leaves nothing.
fn written_by(instruction: &iced_x86::Instruction) -> Registers {
    let mut written = Registers::default();
    for used in InstructionInfoFactory::new().info(instruction).used_registers() {
        if used.access() == OpAccess::Write && is_all_of(used.register()) {
            written.note(used.register());
        }
    }
    written
}

/// What is in use before an instruction, by what is after it.
pub fn before(instruction: &iced_x86::Instruction, after: Registers) -> Registers {
    let mut info = InstructionInfoFactory::new();
    let mut read = Registers::default();
    for used in info.info(instruction).used_registers() {
        let is_read = !matches!(used.access(), OpAccess::Write | OpAccess::NoMemAccess);
        if is_read && !is_zeroing(instruction) {
            read.note(used.register());
        }
    }
    let mut before = after.without(written_by(instruction));
    before.add(read);
    before
}

/// What some instructions read.
pub fn read(function: &Function, way: &[usize]) -> Registers {
    let mut read = Registers::default();
    let mut info = InstructionInfoFactory::new();
    for &at in way {
        for used in info.info(&function.code[at]).used_registers() {
            if !matches!(used.access(), OpAccess::Write | OpAccess::NoMemAccess) {
                read.note(used.register());
            }
        }
    }
    read
}

/// Whether a call's result is read before something else is written there. Where the function returns, its caller may read it.
pub fn reads_result(function: &Function, call: usize) -> bool {
    let mut info = InstructionInfoFactory::new();
    let mut at = call;
    for _ in 0..MOST_STEPS {
        let instruction = &function.code[at];
        let following = match instruction.flow_control() {
            _ if at == call => Some(at + 1),
            FlowControl::Next => Some(at + 1),
            FlowControl::UnconditionalBranch => function.at(instruction.near_branch_target()),
            FlowControl::Return => return true,
            _ => return false,
        };
        if at != call {
            for used in info.info(instruction).used_registers() {
                if used.register().full_register() != Register::RAX {
                    continue;
                }
                return used.access() != OpAccess::Write && !is_zeroing(instruction);
            }
        }
        match following.filter(|&at| at < function.code.len()) {
            Some(next) => at = next,
            None => return true,
        }
    }
    false
}

/// What registers a way has written, from the return of a call to each instruction.
fn written(function: &Function, from: usize) -> BTreeMap<Meeting, Registers> {
    let mut reached = BTreeMap::new();
    let mut open = std::collections::VecDeque::from([(from, Registers::default())]);
    let mut info = InstructionInfoFactory::new();
    while let Some((at, mut written)) = open.pop_front() {
        if reached.len() > MOST_STEPS || reached.contains_key(&Meeting::At(at)) {
            continue;
        }
        let Some(instruction) = function.code.get(at) else { continue };
        reached.insert(Meeting::At(at), written);
        if let Some(meeting) = meeting(function, at) {
            reached.entry(meeting).or_insert(written);
            continue;
        }
        for used in
            info.info(instruction).used_registers().iter().filter(|used| is_register_written(used))
        {
            written.note(used.register());
        }
        for next in next(function, at).into_iter().flatten() {
            open.push_back((next, written));
        }
    }
    reached
}

/// Whether ways meet at an instruction's kind.
fn meeting(function: &Function, at: usize) -> Option<Meeting> {
    let instruction = &function.code[at];
    match instruction.flow_control() {
        FlowControl::Return => Some(Meeting::Return),
        FlowControl::Call => Some(Meeting::Call(instruction.near_branch_target())),
        // By a word that has the function's address.
        FlowControl::IndirectCall if instruction.is_ip_rel_memory_operand() => {
            Some(Meeting::Call(instruction.ip_rel_memory_address()))
        }
        FlowControl::UnconditionalBranch
            if function.at(instruction.near_branch_target()).is_none() =>
        {
            Some(Meeting::Call(instruction.near_branch_target()))
        }
        _ => None,
    }
}

/// The instructions that can be next; `None` if that is not known.
fn next(function: &Function, at: usize) -> Option<Vec<usize>> {
    let instruction = &function.code[at];
    let target = || function.at(instruction.near_branch_target());
    match instruction.flow_control() {
        FlowControl::Next => Some(vec![at + 1]),
        FlowControl::ConditionalBranch => Some(vec![at + 1, target()?]),
        FlowControl::UnconditionalBranch => Some(vec![target()?]),
        _ => None,
    }
}

/// Whether writing this part leaves nothing of the register: halves of 32 bits clear the rest.
fn is_all_of(register: Register) -> bool {
    !register.is_gpr() || register.size() >= 4
}

/// `xor eax, eax` does not read what it clears.
fn is_zeroing(instruction: &iced_x86::Instruction) -> bool {
    use iced_x86::Mnemonic;
    matches!(
        instruction.mnemonic(),
        Mnemonic::Xor | Mnemonic::Xorps | Mnemonic::Xorpd | Mnemonic::Pxor
    ) && instruction.op_count() == 2
        && instruction.op0_register() == instruction.op1_register()
        && instruction.op0_register() != Register::None
}
