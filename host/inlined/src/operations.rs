//! The code of each kind of place. Here the contract with the hooks is kept: at each call, the return address that the place's own
//! call has left is [`DEPTH`] bytes up.

use iced_x86::{ConditionCode, FlowControl, Instruction};
use lockwright_ledger::inlined::{DEPTH, Hook, Keeps, scratch};

use crate::block::{Block, Label};
use crate::counts::Reason;
use crate::place;
use crate::registers::Registers;

/// What the place's own call adds to the stack.
const RETURN: i64 = 8;
/// And what the frame of a hook adds.
const FRAME: i8 = DEPTH as i8;
/// How much deeper the stack is at a hook than at the place.
const AT_HOOK: i64 = RETURN + DEPTH as i64;

// The alignment of the stack at a call of the module's is what it was at the place.
const _: () = assert!((DEPTH + RETURN as usize).is_multiple_of(16));

/// Instructions that are moved to the block, one of which is atomic.
#[derive(Clone, Copy)]
pub struct Moved<'a> {
    /// All of them.
    pub code: &'a [Instruction],
    /// Which one is atomic.
    pub atomic: usize,
}

/// A call that is moved to the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// What it calls.
    pub target: Target,
    /// Whether it is a jump, the last of a function: what is called returns to that function's caller.
    pub is_last: bool,
}

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The function at an address.
    Address(u64),
    /// The function whose address a word has.
    Word(u64),
}

/// What is in use at a place after its hook has been called.
#[derive(Clone, Copy, Debug)]
pub struct InUse {
    /// What the hook must keep.
    pub keeps: Keeps,
    /// The registers that are in use, among those that a callee need not keep. None if the hook keeps no more than callees do.
    pub registers: Registers,
    /// The flags.
    pub flags: bool,
}

/// Registers of a hook's arguments.
const RSI: u8 = 6;
const RDI: u8 = 7;

/// Calls a hook with the address of the atomic instruction's operand, and with flags if it is for an acquisition.
fn hook(
    block: &mut Block,
    hook: Hook,
    in_use: InUse,
    atomic: &Instruction,
    flags: Option<u32>,
) -> Result<(), Reason> {
    let frame = if in_use.flags {
        // pushfq
        block.bytes(&[0x9c]);
        FRAME - 8
    } else {
        FRAME
    };
    block.move_stack(-frame);
    let changed = scratch(hook).iter().chain(&[RDI]).chain(flags.map(|_| &RSI));
    let kept: Vec<u8> =
        changed.copied().filter(|&number| in_use.registers.has_number(number)).collect();
    let slots = || kept.iter().zip((0..).step_by(8));
    #[cfg(test)]
    let slots = || slots().skip(usize::from(block.forgets_register));
    let slots: Vec<(u8, u8)> = slots().map(|(&register, slot)| (register, slot)).collect();
    for &(register, slot) in &slots {
        block.keep(register, slot);
    }
    block.set_lock(atomic, AT_HOOK)?;
    if let Some(flags) = flags {
        block.set_flags(flags);
    }
    block.call_hook(hook, in_use.keeps);
    for &(register, slot) in &slots {
        block.give_back_register(register, slot);
    }
    block.move_stack(frame);
    if in_use.flags {
        // popfq
        block.bytes(&[0x9d]);
    }
    Ok(())
}

/// A compare-and-exchange that takes a lock if it succeeds.
pub fn acquire(
    block: &mut Block,
    moved: Moved<'_>,
    flags: u32,
    in_use: InUse,
) -> Result<(), Reason> {
    let (before, rest) = moved.code.split_at(moved.atomic);
    let (atomic, after) = rest.split_first().expect("the atomic instruction is moved");
    for instruction in before {
        block.moved(instruction, RETURN)?;
    }
    block.moved(atomic, RETURN)?;
    // The jump that follows most often is also the one round the hook.
    let (jump, after) = match after.split_first() {
        Some((jump, after)) if jump.condition_code() == ConditionCode::ne => (Some(jump), after),
        _ => (None, after),
    };
    let mut failed = Label::default();
    block.jump_if(ConditionCode::ne, &mut failed);
    hook(block, Hook::Acquired, in_use, atomic, Some(flags))?;
    // cmp esp, esp: all flags are as a successful compare-and-exchange has them.
    block.bytes(&[0x39, 0xe4]);
    match jump {
        Some(jump) => {
            end(block, after)?;
            block.bind(failed);
            leave(block, jump.near_branch_target());
        }
        None => {
            block.bind(failed);
            end(block, after)?;
        }
    }
    Ok(())
}

/// An instruction that releases a lock.
pub fn release(block: &mut Block, moved: Moved<'_>, in_use: InUse) -> Result<(), Reason> {
    let (before, rest) = moved.code.split_at(moved.atomic);
    for instruction in before {
        block.moved(instruction, RETURN)?;
    }
    hook(block, Hook::Releases, in_use, &rest[0], None)?;
    end(block, rest)
}

/// Appends the last instructions of a place, and goes back.
fn end(block: &mut Block, code: &[Instruction]) -> Result<(), Reason> {
    let mut jumps = Vec::new();
    let mut goes_back = true;
    for instruction in code {
        match instruction.flow_control() {
            FlowControl::ConditionalBranch => {
                let mut label = Label::default();
                block.jump_if(instruction.condition_code(), &mut label);
                jumps.push((label, instruction.near_branch_target()));
            }
            FlowControl::UnconditionalBranch => {
                leave(block, instruction.near_branch_target());
                goes_back = false;
            }
            _ => match place::given_back(instruction) {
                Some(bytes) => block.leave_frame(bytes),
                None => block.moved(instruction, RETURN)?,
            },
        }
    }
    if goes_back {
        block.give_back();
    }
    for (label, target) in jumps {
        block.bind(label);
        leave(block, target);
    }
    Ok(())
}

/// Goes to an address of the function instead of back to the place.
fn leave(block: &mut Block, target: u64) {
    block.move_stack(8);
    block.jump_out(target);
}

/// How a call that takes a lock ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has the lock.
    Always,
    /// `al` says whether it has.
    Success,
}

/// Offsets of the three words from the stack pointer.
const RESULT: u8 = 0;
const LOCK: u8 = 8;
const ARGUMENT: u8 = 16;

/// The instructions of a place before its call.
pub fn before_call(block: &mut Block, code: &[Instruction]) -> Result<(), Reason> {
    code.iter().try_for_each(|instruction| block.moved(instruction, RETURN))
}

/// A call that takes a lock, and may wait for it: `before` is [`Hook::Waits`] or [`Hook::Wants`].
pub fn wait(block: &mut Block, call: Call, before: Hook, flags: u32, outcome: Outcome) {
    enter(block, call);
    // mov [rsp + ARGUMENT], rsi
    block.bytes(&[0x48, 0x89, 0x74, 0x24, ARGUMENT]);
    block.set_flags(flags);
    block.call_hook(before, Keeps::General);
    // mov rsi, [rsp + ARGUMENT]
    block.bytes(&[0x48, 0x8b, 0x74, 0x24, ARGUMENT]);
    original(block, call.target);
    match outcome {
        Outcome::Always => after(block, call, Hook::Got, flags),
        Outcome::Success => {
            // test al, al
            block.bytes(&[0x84, 0xc0]);
            let mut failed = Label::default();
            block.jump_if(ConditionCode::e, &mut failed);
            after(block, call, Hook::Got, flags);
            block.bind(failed);
            after(block, call, Hook::GaveUp, flags);
        }
    }
}

/// A call that tries to take a lock, and returns in `al` whether it has.
pub fn attempt(block: &mut Block, call: Call, flags: u32) {
    enter(block, call);
    original(block, call.target);
    // test al, al
    block.bytes(&[0x84, 0xc0]);
    let mut failed = Label::default();
    block.jump_if(ConditionCode::e, &mut failed);
    after(block, call, Hook::Acquired, flags);
    block.bind(failed);
    give_back(block, call);
}

/// A call of a function that is a compare-and-exchange, which takes a lock if it succeeds: `al` is zero then. The old value is in
/// `rdx`.
pub fn exchange(block: &mut Block, call: Call, flags: u32) {
    enter(block, call);
    original(block, call.target);
    // test al, al
    block.bytes(&[0x84, 0xc0]);
    let mut failed = Label::default();
    block.jump_if(ConditionCode::ne, &mut failed);
    // mov [rsp + ARGUMENT], rdx
    block.bytes(&[0x48, 0x89, 0x54, 0x24, ARGUMENT]);
    report(block, Hook::Acquired, flags);
    // mov rdx, [rsp + ARGUMENT]
    block.bytes(&[0x48, 0x8b, 0x54, 0x24, ARGUMENT]);
    block.bind(failed);
    give_back(block, call);
}

/// A call that releases a lock.
pub fn unlock(block: &mut Block, call: Call) {
    block.move_stack(-FRAME);
    // The lock's address is its argument, too, and the hook's scratch registers have none.
    block.call_hook(Hook::Releases, Keeps::General);
    block.move_stack(FRAME);
    if call.is_last {
        block.move_stack(RETURN as i8);
    }
    // What is called returns to the place itself.
    match call.target {
        Target::Address(address) => block.jump_out(address),
        Target::Word(word) => block.jump_through(word),
    }
}

/// Makes the frame, and keeps the lock's address there. The stack is aligned for what is called, as it was at the place: a jump has
/// it 8 bytes off, so one word more is put there, and that is the return address once more, where hooks look for it.
fn enter(block: &mut Block, call: Call) {
    if call.is_last {
        // push [rsp]
        block.bytes(&[0xff, 0x34, 0x24]);
    }
    block.move_stack(-FRAME);
    // mov [rsp + LOCK], rdi
    block.bytes(&[0x48, 0x89, 0x7c, 0x24, LOCK]);
}

fn original(block: &mut Block, target: Target) {
    match target {
        Target::Address(address) => block.call_out(address),
        Target::Word(word) => block.call_through(word),
    }
}

/// Calls a hook after the call, and goes back with the result.
fn after(block: &mut Block, call: Call, hook: Hook, flags: u32) {
    report(block, hook, flags);
    give_back(block, call);
}

/// Calls a hook after the call, and keeps the result.
fn report(block: &mut Block, hook: Hook, flags: u32) {
    // mov [rsp + RESULT], rax; mov rdi, [rsp + LOCK]
    block.bytes(&[0x48, 0x89, 0x44, 0x24, RESULT, 0x48, 0x8b, 0x7c, 0x24, LOCK]);
    block.set_flags(flags);
    block.call_hook(hook, Keeps::Callee);
    // mov rax, [rsp + RESULT]
    block.bytes(&[0x48, 0x8b, 0x44, 0x24, RESULT]);
}

fn give_back(block: &mut Block, call: Call) {
    // Both return addresses of a place that was a jump are left out.
    let more = if call.is_last { 2 * RETURN as i8 } else { 0 };
    block.move_stack(FRAME + more);
    block.give_back();
}
