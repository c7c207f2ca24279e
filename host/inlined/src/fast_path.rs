//! The inlined fast path that leads to a call of a cold function: back from the call to the atomic instruction.
//!
//! An acquisition is `lock cmpxchg` and a jump that is taken if it failed. A release is `xchg`, or something that is taken off the
//! word, and jumps that look at what was there. Only a fast path calls these functions, so the last atomic instruction before the
//! call is its own; that the call has the same address as argument is compared all the same where copies show it.

use std::collections::HashSet;

use iced_x86::{ConditionCode, FlowControl, Instruction, Mnemonic, OpKind, Register};

use crate::function::{Function, is_call};
use crate::names::{Acquisition, Atomic, CONTENDED, NO_DEADLINE};
use crate::values::Values;

/// A fast path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastPath {
    /// Its atomic instruction.
    pub atomic: usize,
    /// The instructions from the one after that to the call.
    pub way: Vec<usize>,
    /// Which of those is the jump that is decided by whether the atomic instruction has failed, if that decides.
    pub decision: Option<usize>,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A compare-and-exchange whose failure leads to the call.
    Failed,
    /// One whose failure leads to the call after others, which compute a deadline.
    FailedBeforeCalls,
    /// An instruction whose result leads to the call.
    Result(Atomic),
}

impl From<Atomic> for Wanted {
    fn from(atomic: Atomic) -> Self {
        if atomic == Atomic::CompareExchange { Self::Failed } else { Self::Result(atomic) }
    }
}

impl Wanted {
    /// What leads to a call of an acquisition's cold half. Only one with a deadline has calls before it, and none has that as a number.
    pub fn before(function: &Function, call: usize, acquisition: Acquisition) -> Self {
        let mut near = function.code[call.saturating_sub(NEAR)..call].iter();
        let has_none = near.any(|instruction| {
            instruction.mnemonic() == Mnemonic::Mov
                && !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory)
                && instruction.immediate(1).cast_signed() == NO_DEADLINE
        });
        let has_deadline = acquisition.nanoseconds.is_some() && !has_none;
        if has_deadline { Self::FailedBeforeCalls } else { Self::Failed }
    }
}

/// How far before a call its arguments are set, in instructions.
const NEAR: usize = 8;

/// Instructions between the atomic one and the call, at most. The longest that compilers made of these functions has 20.
const MOST_WAY: usize = 48;

/// Instructions looked at for a call, at most.
const MOST_STEPS: usize = 400;

/// Instructions before the atomic one that tell what registers have, at most.
const MOST_BEFORE: usize = 24;

/// What has led to the call, as far back as has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Cause {
    /// No jump.
    None,
    /// A jump for which the zero flag was this.
    ZeroFlag(bool),
    /// A jump for which a register was zero, or not.
    Byte(Register, bool),
    /// Something else: this may not be the fast path, or it is one that is not optimised.
    Unclear,
}

impl Cause {
    /// The cause as it was before an instruction, if that says.
    fn before(self, instruction: &Instruction) -> Option<Self> {
        let is_self = instruction.op_count() == 2
            && instruction.op0_kind() == OpKind::Register
            && instruction.op0_register() == instruction.op1_register();
        match self {
            Self::None | Self::Unclear => Some(self),
            Self::ZeroFlag(flag) if instruction.rflags_modified() != 0 => {
                // test al, al
                let is_test = instruction.mnemonic() == Mnemonic::Test && is_self;
                let register = instruction.op0_register().full_register();
                is_test.then_some(Self::Byte(register, !flag))
            }
            Self::Byte(register, is_set) => {
                let to = instruction.op0_register();
                let writes = instruction.op0_kind() == OpKind::Register
                    && to.full_register() == register
                    && !matches!(instruction.mnemonic(), Mnemonic::Test | Mnemonic::Cmp);
                match instruction.mnemonic() {
                    _ if !writes => Some(self),
                    Mnemonic::Sete => Some(Self::ZeroFlag(is_set)),
                    Mnemonic::Setne => Some(Self::ZeroFlag(!is_set)),
                    _ => None,
                }
            }
            Self::ZeroFlag(_) => Some(self),
        }
    }

    /// The cause as it was before a jump that went to the next instruction of the way.
    fn before_jump(self, jump: &Instruction, is_taken: bool) -> Option<Self> {
        match (self, jump.condition_code()) {
            (Self::None, ConditionCode::e) => Some(Self::ZeroFlag(is_taken)),
            (Self::None, ConditionCode::ne) => Some(Self::ZeroFlag(!is_taken)),
            (Self::None, _) => None,
            // Another jump on the way.
            _ => Some(self),
        }
    }
}

/// A place of the search: an instruction, and the way from it to the call, back to front.
#[derive(Clone)]
struct Open {
    at: usize,
    way: Vec<usize>,
    cause: Cause,
    /// Whether a call is on the way, after what is behind.
    has_call: bool,
    /// How many instructions of the way come from the jump on that is the cause.
    from_jump: usize,
}

/// All fast paths that lead to a call. Several can share one.
pub fn find(function: &Function, call: usize, wanted: Wanted) -> Vec<FastPath> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let by_failure = matches!(wanted, Wanted::Failed | Wanted::FailedBeforeCalls);
    let mut first =
        Open { at: call, way: vec![call], cause: Cause::None, has_call: false, from_jump: 1 };
    // The call can be a conditional jump itself.
    if by_failure && is_conditional(&function.code[call]) {
        match first.cause.before_jump(&function.code[call], true) {
            Some(cause) => first.cause = cause,
            None => return found,
        }
    }
    let mut open = vec![first];
    for _ in 0..MOST_STEPS {
        let Some(from) = open.pop() else { break };
        for before in function.before(from.at) {
            let instruction = &function.code[before];
            // Nothing but the fast path calls one just before.
            if by_failure && function.exchanges.contains(&before) {
                let way = from.way.iter().rev().copied().collect();
                found.push(FastPath { atomic: before, way, decision: None });
                continue;
            }
            if is_wanted(instruction, wanted) {
                if !by_failure || from.cause == Cause::ZeroFlag(false) {
                    let way: Vec<_> = from.way.iter().rev().copied().collect();
                    let decision = by_failure.then(|| way.len() - from.from_jump);
                    found.push(FastPath { atomic: before, way, decision });
                }
                continue;
            }
            let mut next = from.clone();
            next.at = before;
            next.way.push(before);
            match instruction.flow_control() {
                FlowControl::Next if is_atomic(instruction) => continue,
                FlowControl::Next if by_failure => {
                    next.cause = from.cause.before(instruction).unwrap_or(Cause::Unclear);
                }
                FlowControl::ConditionalBranch if by_failure => {
                    let is_taken = instruction.near_branch_target() == function.code[from.at].ip();
                    let cause = from.cause.before_jump(instruction, is_taken);
                    next.cause = cause.unwrap_or(Cause::Unclear);
                    if from.cause == Cause::None {
                        next.from_jump = next.way.len();
                    }
                }
                FlowControl::Next
                | FlowControl::ConditionalBranch
                | FlowControl::UnconditionalBranch => {}
                // Jumps after the first call are about the deadline.
                FlowControl::Call | FlowControl::IndirectCall
                    if wanted == Wanted::FailedBeforeCalls
                        && (from.cause == Cause::None || !from.has_call) =>
                {
                    next.cause = Cause::None;
                    next.has_call = true;
                }
                _ => continue,
            }
            if next.way.len() < MOST_WAY && seen.insert((before, next.cause)) {
                open.push(next);
            }
        }
    }
    found.sort_by_key(|path| (path.atomic, path.way.len()));
    found.dedup_by_key(|path| path.atomic);
    found
}

/// Whether it is a jump on a condition.
pub fn is_conditional(instruction: &Instruction) -> bool {
    instruction.flow_control() == FlowControl::ConditionalBranch
}

/// Whether other processors see the instruction as one step.
fn is_atomic(instruction: &Instruction) -> bool {
    let is_exchange = instruction.mnemonic() == Mnemonic::Xchg && has_memory(instruction);
    instruction.has_lock_prefix() || is_exchange
}

fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
}

fn is_wanted(instruction: &Instruction, wanted: Wanted) -> bool {
    if !is_atomic(instruction) {
        return false;
    }
    let mnemonic = instruction.mnemonic();
    match wanted {
        Wanted::Failed | Wanted::FailedBeforeCalls | Wanted::Result(Atomic::CompareExchange) => {
            mnemonic == Mnemonic::Cmpxchg
        }
        Wanted::Result(Atomic::Exchange) => mnemonic == Mnemonic::Xchg,
        Wanted::Result(Atomic::Subtract) => {
            matches!(mnemonic, Mnemonic::Xadd | Mnemonic::Sub | Mnemonic::Dec | Mnemonic::Add)
        }
    }
}

/// What is known of a fast path at its call.
pub struct Known {
    /// The values there.
    pub values: Values,
    /// Whether the argument is proven to be the address of the atomic instruction.
    pub is_same_lock: bool,
}

impl FastPath {
    /// Follows values along the path.
    pub fn follow(&self, function: &Function, argument: Register) -> Known {
        let mut first = self.atomic;
        while self.atomic - first < MOST_BEFORE
            && !function.is_target(first)
            && let Some(before) = function.falls_into(first)
            && !is_call(&function.code[before])
        {
            first = before;
        }
        let mut values = Values::new();
        for instruction in &function.code[first..self.atomic] {
            values.step(instruction);
        }
        let atomic = &function.code[self.atomic];
        let lock =
            if is_call(atomic) { values.register(Register::RDI) } else { values.address(atomic) };
        values.step(atomic);
        let (_call, way) = self.way.split_last().expect("the call is on the way");
        for &at in way {
            values.step(&function.code[at]);
        }
        let is_same_lock = lock.is_some() && values.register(argument) == lock;
        Known { values, is_same_lock }
    }

    /// Whether the path is that of std's mutex, which wakes one thread if others wait: an exchange whose result is compared.
    pub fn is_wake_of_mutex(&self, function: &Function) -> bool {
        let word = function.code[self.atomic].op1_register();
        let code = |nth: usize| &function.code[self.way[nth]];
        (0..self.way.len()).any(|nth| {
            let compare = code(nth);
            let is_compare = compare.mnemonic() == Mnemonic::Cmp
                && compare.op0_register() == word
                && compare.op1_kind() != OpKind::Register
                && compare.immediate(1).cast_signed() == CONTENDED;
            if !is_compare {
                return false;
            }
            let mut after = nth + 1..self.way.len() - 1;
            let jump =
                after.find(|&nth| code(nth).rflags_modified() != 0 || is_conditional(code(nth)));
            let Some(jump) = jump else { return false };
            let is_taken = code(jump).near_branch_target() == code(jump + 1).ip();
            match code(jump).condition_code() {
                ConditionCode::e => is_taken,
                ConditionCode::ne => !is_taken,
                _ => false,
            }
        })
    }
}
