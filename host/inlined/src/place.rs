//! Which bytes make room for a call: whole instructions from the atomic one on, or from a few before it.

use std::collections::BTreeMap;
use std::ops::Range;

use iced_x86::{Code, FlowControl, Instruction, InstructionInfoFactory, OpKind, Register};
use lockwright_ledger::inlined::MOST_BYTES;

use crate::counts::Reason;
use crate::function::{Function, flags_are_used};

/// Bytes of a call of a place that is named by its distance.
pub const CALL_BYTES: usize = 5;

/// Instructions before the atomic one that a place can begin with.
const MOST_BEFORE: usize = 3;

/// The bytes that places take, so that no two overlap.
#[derive(Default)]
pub struct Taken(BTreeMap<u64, u64>);

impl Taken {
    fn is_free(&self, from: u64, to: u64) -> bool {
        self.0.range(..to).next_back().is_none_or(|(_, &end)| end <= from)
    }

    /// Marks some bytes, if they are free.
    pub fn take(&mut self, from: u64, to: u64) -> Result<(), Reason> {
        if !self.is_free(from, to) {
            return Err(Reason::Overlaps);
        }
        self.0.insert(from, to);
        Ok(())
    }
}

/// The instructions whose bytes become a place for an instruction: the fewest that have room for a call, and can be moved.
pub fn around(function: &Function, atomic: usize, taken: &Taken) -> Result<Range<usize>, Reason> {
    let mut why = None;
    for before in 0..=MOST_BEFORE {
        let Some(first) = atomic.checked_sub(before) else { break };
        match from(function, first, atomic, taken) {
            Ok(range) => return Ok(range),
            Err(reason) => why = why.or(Some(reason)),
        }
    }
    Err(why.unwrap_or(Reason::Unmovable))
}

/// The first instruction of a place that ends with a call.
pub fn before_call(function: &Function, call: usize, taken: &Taken) -> Result<usize, Reason> {
    let end = function.code[call].next_ip();
    let mut first = call;
    while ((end - function.code[first].ip()) as usize) < CALL_BYTES {
        if function.is_target(first) {
            return Err(Reason::BranchTarget);
        }
        if !function.is_whole {
            return Err(Reason::UnknownJumps);
        }
        first = function.falls_into(first).ok_or(Reason::Unmovable)?;
        if function.code[first].flow_control() != FlowControl::Next {
            return Err(Reason::Unmovable);
        }
        is_movable(&function.code[first])?;
    }
    if !taken.is_free(function.code[first].ip(), end) {
        return Err(Reason::Overlaps);
    }
    Ok(first)
}

fn from(
    function: &Function,
    first: usize,
    atomic: usize,
    taken: &Taken,
) -> Result<Range<usize>, Reason> {
    let start = function.code[first].ip();
    let mut end = first;
    loop {
        let Some(instruction) = function.code.get(end) else { return Err(Reason::Unmovable) };
        // What gives back a frame has flags, too, which it does not set elsewhere.
        let gives_back = end > atomic
            && given_back(instruction).is_some()
            && !flags_are_used(&function.code[end + 1..]);
        if !gives_back {
            is_movable(instruction)?;
        }
        if end > first {
            if function.is_target(end) {
                return Err(Reason::BranchTarget);
            }
            if function.falls_into(end).is_none() {
                return Err(Reason::Unmovable);
            }
        }
        end += 1;
        let len = (instruction.next_ip() - start) as usize;
        if len > MOST_BYTES {
            return Err(Reason::TooLong);
        }
        if len >= CALL_BYTES && end > atomic {
            break;
        }
    }
    // Another way into the middle may be one that was not found.
    if end - first > 1 && !function.is_whole {
        return Err(Reason::UnknownJumps);
    }
    if !taken.is_free(start, function.code[end - 1].next_ip()) {
        return Err(Reason::Overlaps);
    }
    Ok(first..end)
}

/// How many bytes of the stack an instruction gives back: `add rsp, 16`.
pub fn given_back(add: &Instruction) -> Option<i32> {
    let is_add = matches!(add.code(), Code::Add_rm64_imm8 | Code::Add_rm64_imm32)
        && add.op0_kind() == OpKind::Register
        && add.op0_register() == Register::RSP;
    if !is_add {
        return None;
    }
    let bytes = i32::try_from(add.immediate(1).cast_signed()).ok()?;
    (bytes > 0 && bytes % 8 == 0 && bytes < MOST_FRAME).then_some(bytes)
}

/// Bytes of such a frame, less than.
const MOST_FRAME: i32 = 1 << 16;

/// Whether an instruction does the same elsewhere, with another depth of the stack.
fn is_movable(instruction: &Instruction) -> Result<(), Reason> {
    let is_near = (0..instruction.op_count()).all(|operand| {
        !matches!(instruction.op_kind(operand), OpKind::FarBranch16 | OpKind::FarBranch32)
    });
    match instruction.flow_control() {
        FlowControl::Next => {}
        FlowControl::UnconditionalBranch if is_near => return Ok(()),
        // Loops and `jrcxz` have no long form.
        FlowControl::ConditionalBranch if instruction.is_jcc_short_or_near() => return Ok(()),
        _ => return Err(Reason::Unmovable),
    }
    if instruction.is_invalid() || instruction.is_stack_instruction() {
        return Err(Reason::Unmovable);
    }
    let mut info = InstructionInfoFactory::new();
    let is_base = instruction.memory_base() == Register::RSP;
    let names_stack = info
        .info(instruction)
        .used_registers()
        .iter()
        .any(|used| used.register().full_register() == Register::RSP && !is_base);
    let names_it_twice = is_base
        && (0..instruction.op_count()).any(|operand| {
            instruction.op_kind(operand) == OpKind::Register
                && instruction.op_register(operand).full_register() == Register::RSP
        });
    if names_stack || names_it_twice { Err(Reason::Unmovable) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_taken_once() {
        let mut taken = Taken::default();
        taken.take(10, 15).expect("they are free");
        assert_eq!(taken.take(14, 19), Err(Reason::Overlaps));
        assert_eq!(taken.take(6, 11), Err(Reason::Overlaps));
        taken.take(15, 20).expect("they are free");
        taken.take(5, 10).expect("they are free");
    }
}
