//! Frames of the stack: which registers lead from one to the next, and how that is written down.

use core::arch::asm;

use gimli::{CallFrameInstruction as Instruction, Register, Vendor, X86_64};

use crate::arch::steps::{Saved, kind, place};

/// The stack pointer in call frame information.
pub const SP: Register = X86_64::RSP;
/// The frame pointer.
pub const FP: Register = X86_64::RBP;
/// The return address.
pub const RETURN_ADDRESS: Register = X86_64::RA;

/// Whose call frame instructions there are.
pub const VENDOR: Vendor = Vendor::Default;

/// An instruction of this machine's own that says nothing of where a register is.
#[inline(always)]
pub const fn moves_nothing(_instruction: &Instruction<usize>) -> bool {
    false
}

/// What a call puts on the stack: its return address.
pub const CALL_BYTES: u64 = 8;

/// What a function may use below its stack pointer.
pub const RED_ZONE: u64 = 128;

/// Where a call of one of our functions returns to, as the function's stub found it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Arrived(*const u64);

impl Arrived {
    /// Where the stack is, as [`pass!`] has it.
    pub fn stack(self) -> *const u64 {
        self.0
    }

    /// The return address.
    ///
    /// # Safety
    /// The call has not returned.
    pub unsafe fn site(self) -> u64 {
        // SAFETY: a call puts it there, and the caller promises that this one has not returned.
        unsafe { self.0.read() }
    }
}

/// The address of code that a return address in a register or on the stack means.
#[inline(always)]
pub const fn code_address(word: u64) -> u64 {
    word
}

/// An address in the function that this is called in, its stack pointer and its frame pointer.
#[inline(always)]
pub fn here() -> [u64; 3] {
    let (pc, sp, fp): (u64, u64, u64);
    // SAFETY: the instructions only copy registers: no memory, no flags and no stack change.
    unsafe {
        asm!("lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp", out(reg) pc, out(reg) sp, out(reg) fp,
             options(nomem, nostack, preserves_flags));
    }
    [pc, sp, fp]
}

/// How to get from a frame to its caller's. The return address is just below the CFA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No caller, or none that we can find.
    End,
    /// CFA = sp + offset.
    Sp { cfa: i32, fp: Saved },
    /// CFA = fp + offset.
    Fp { cfa: i32, fp: Saved },
    /// CFA = *(fp + offset): functions that realign their stack.
    FpDeref { cfa: i32, fp: Saved },
}

impl Rule {
    /// That with the return address at CFA + `return_address`, where that can be written down.
    pub fn at(self, return_address: i64) -> Option<Self> {
        (return_address == -(CALL_BYTES as i64)).then_some(self)
    }

    /// The step from a call in a block of ours, which has moved the stack by so many bytes.
    pub const fn of_block(depth: i32) -> Self {
        Self::Sp { cfa: depth + CALL_BYTES as i32, fp: Saved::Same }
    }

    /// The frame's size and where its caller's fp is, if the return address is at its end.
    pub fn plain(self) -> Option<(i32, Saved)> {
        match self {
            Self::Sp { cfa, fp } => Some((cfa, fp)),
            _ => None,
        }
    }

    /// The frame is the usual one that fp points to the end of.
    pub fn is_usual(self) -> bool {
        self == Self::Fp { cfa: 16, fp: Saved::AtCfa(-16) }
    }

    /// As 64 bits: offset 32, fp's offset 16, fp's place 2, kind 2; bit 63 always set.
    pub fn pack(self) -> u64 {
        let (kind, cfa, fp) = match self {
            Self::End => (kind::END, 0, Saved::Same),
            Self::Sp { cfa, fp } => (kind::SP, cfa, fp),
            Self::Fp { cfa, fp } => (kind::FP, cfa, fp),
            Self::FpDeref { cfa, fp } => (kind::FP_DEREF, cfa, fp),
        };
        let (place, offset) = match fp {
            Saved::Same => (place::SAME, 0),
            Saved::AtCfa(offset) => (place::AT_CFA, offset),
            Saved::AtFp(offset) => (place::AT_FP, offset),
        };
        1 << 63 | u64::from(cfa as u32) | u64::from(offset as u16) << 32 | place << 48 | kind << 50
    }
}

/// In a packed rule: no table has one, or none that we can follow.
pub const UNKNOWN: u64 = 1 << 52;

/// A packed rule. It is taken apart field by field, as it is followed: every frame that is walked
/// over goes through here.
#[derive(Clone, Copy)]
pub struct Packed(pub u64);

impl Packed {
    pub fn kind(self) -> u64 {
        self.0 >> 50 & 3
    }

    pub fn cfa(self) -> i64 {
        (self.0 as i32).into()
    }

    /// Where the return address is, from the CFA.
    pub fn return_address(self) -> i64 {
        -(CALL_BYTES as i64)
    }

    pub fn fp_place(self) -> u64 {
        self.0 >> 48 & 3
    }

    pub fn fp_offset(self) -> i64 {
        ((self.0 >> 32) as i16).into()
    }
}

/// Bytes of a call through memory, with an index and a displacement of 32 bits; a prefix of it may be
/// longer, and says nothing.
pub const LONGEST_CALL: usize = 7;

/// Whether the bytes may end in a call: `e8` with a displacement, or `ff /2`.
pub fn ends_in_call(bytes: [u8; LONGEST_CALL]) -> bool {
    let is_indirect = |length: &usize| {
        let [opcode, operand] = [bytes[LONGEST_CALL - length], bytes[LONGEST_CALL - length + 1]];
        opcode == 0xff && (operand >> 3) & 7 == 2
    };
    bytes[LONGEST_CALL - 5] == 0xe8 || [2, 3, 4, 6, 7].iter().any(is_indirect)
}

#[cfg(test)]
mod tests {
    use super::ends_in_call;

    #[test]
    fn calls_are_known_by_their_bytes() {
        for call in [
            // call rel32; call rcx; call [rcx]; call [fp-8]; call [sp+8]; call [r13+disp32];
            // call [rax*8+disp32]
            [0x90, 0x90, 0xe8, 1, 2, 3, 4],
            [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd1],
            [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x11],
            [0x90, 0x90, 0x90, 0x90, 0xff, 0x55, 0xf8],
            [0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08],
            [0x41, 0xff, 0x95, 1, 2, 3, 4],
            [0xff, 0x14, 0xc5, 1, 2, 3, 4],
        ] {
            assert!(ends_in_call(call), "{call:x?}");
        }
        for other in [[0; 7], [0x90; 7], [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe1]] {
            assert!(!ends_in_call(other), "{other:x?}");
        }
    }
}
