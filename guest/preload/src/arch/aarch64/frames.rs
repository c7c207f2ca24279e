//! Frames of the stack: which registers lead from one to the next, and how that is written down.

use core::arch::asm;

use gimli::{AArch64, CallFrameInstruction as Instruction, Register, Vendor};

use crate::arch::steps::{Saved, kind, place};

/// The stack pointer in call frame information.
pub const SP: Register = AArch64::SP;
/// The frame pointer.
pub const FP: Register = AArch64::X29;
/// The return address.
pub const RETURN_ADDRESS: Register = AArch64::X30;

/// Whose call frame instructions there are.
pub const VENDOR: Vendor = Vendor::AArch64;

/// An instruction of this machine's own that says nothing of where a register is, but whether a return address is signed.
#[inline(always)]
pub const fn moves_nothing(instruction: &Instruction<usize>) -> bool {
    matches!(instruction, Instruction::NegateRaState)
}

/// What a call puts on the stack: nothing.
pub const CALL_BYTES: u64 = 0;

/// What a function may use below its stack pointer.
pub const RED_ZONE: u64 = 0;

/// Where a call of one of our functions returns to, as the function's stub found it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Arrived {
    stack: *const u64,
    site: u64,
}

impl Arrived {
    /// Where the stack is, as [`pass!`] has it.
    pub fn stack(self) -> *const u64 {
        self.stack
    }

    /// The return address.
    ///
    /// # Safety
    /// The call has not returned.
    pub unsafe fn site(self) -> u64 {
        code_address(self.site)
    }
}

/// The address of code that a return address in a register or on the stack means: above the bits of an address it may have a
/// signature.
#[inline(always)]
pub const fn code_address(word: u64) -> u64 {
    word & ((1 << 48) - 1)
}

/// An address in the function that this is called in, its stack pointer and its frame pointer.
#[inline(always)]
pub fn here() -> [u64; 3] {
    let (pc, sp, fp): (u64, u64, u64);
    // SAFETY: the instructions only copy registers: no memory, no flags and no stack change.
    unsafe {
        asm!("adr {0}, .", "mov {1}, sp", "mov {2}, x29", out(reg) pc, out(reg) sp, out(reg) fp,
             options(nomem, nostack, preserves_flags));
    }
    // What is looked up is the instruction before.
    [pc + 4, sp, fp]
}

/// How to get from a frame to its caller's: the CFA, and where from there the return address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No caller, or none that we can find.
    End,
    /// CFA = sp + offset.
    Sp { cfa: i32, fp: Saved },
    /// CFA = fp + offset.
    Fp { cfa: i32, fp: Saved },
    /// CFA = *(fp + offset): no compiler does that here.
    FpDeref { cfa: i32, fp: Saved },
    /// One of those that are looked up, ready to be kept.
    Known(u64),
}

/// Bits of a packed rule: the CFA's offset and how far below it the return address is, in words of 8 bytes; how far below it
/// fp is, 0 if that is unchanged; the kind.
mod bits {
    pub const CFA: u32 = 20;
    pub const RETURN: u32 = 20;
    pub const FP: u32 = 18;
    pub const RETURN_AT: u32 = CFA;
    pub const FP_AT: u32 = CFA + RETURN;
    pub const KIND_AT: u32 = CFA + RETURN + FP;
}

/// A number of words that has so many bits.
fn words(offset: i64, bits: u32) -> Option<u64> {
    let words = u64::try_from(offset).ok().filter(|offset| offset % 8 == 0)? / 8;
    (words >> bits == 0).then_some(words)
}

impl Rule {
    /// That with the return address at CFA + `return_address`, where that can be written down.
    pub fn at(self, return_address: i64) -> Option<Self> {
        let (kind, cfa, fp) = match self {
            Self::Sp { cfa, fp } => (kind::SP, cfa, fp),
            Self::Fp { cfa, fp } => (kind::FP, cfa, fp),
            _ => return None,
        };
        let fp = match fp {
            Saved::Same => 0,
            Saved::AtCfa(offset) => words(-i64::from(offset), bits::FP).filter(|&fp| fp != 0)?,
            Saved::AtFp(_) => return None,
        };
        let (cfa, back) = (words(cfa.into(), bits::CFA)?, words(-return_address, bits::RETURN)?);
        let packed = cfa | back << bits::RETURN_AT | fp << bits::FP_AT | kind << bits::KIND_AT;
        Some(Self::Known(1 << 63 | packed))
    }

    /// The step from a call in a block of ours: there are none.
    pub const fn of_block(_depth: i32) -> Self {
        Self::End
    }

    /// The frame's size and where its caller's fp is, if the return address is at its end.
    pub fn plain(self) -> Option<(i32, Saved)> {
        None
    }

    /// The frame is one that fp points to the end of.
    pub fn is_usual(self) -> bool {
        false
    }

    /// As 64 bits; bit 63 is always set.
    pub fn pack(self) -> u64 {
        match self {
            Self::Known(packed) => packed,
            _ => 1 << 63 | kind::END << bits::KIND_AT,
        }
    }
}

/// In a packed rule: no table has one, or none that we can follow.
pub const UNKNOWN: u64 = 1 << 62;

/// A packed rule. It is taken apart field by field, as it is followed: every frame that is walked
/// over goes through here.
#[derive(Clone, Copy)]
pub struct Packed(pub u64);

impl Packed {
    fn field(self, at: u32, bits: u32) -> u64 {
        self.0 >> at & ((1 << bits) - 1)
    }

    pub fn kind(self) -> u64 {
        self.field(bits::KIND_AT, 2)
    }

    pub fn cfa(self) -> i64 {
        8 * self.field(0, bits::CFA) as i64
    }

    /// Where the return address is, from the CFA.
    pub fn return_address(self) -> i64 {
        -8 * self.field(bits::RETURN_AT, bits::RETURN) as i64
    }

    pub fn fp_place(self) -> u64 {
        if self.field(bits::FP_AT, bits::FP) == 0 { place::SAME } else { place::AT_CFA }
    }

    pub fn fp_offset(self) -> i64 {
        -8 * self.field(bits::FP_AT, bits::FP) as i64
    }
}

/// Bytes of a call.
pub const LONGEST_CALL: usize = 4;

/// Whether the bytes are a call: `bl`, or `blr` with or without a check of the address.
pub fn ends_in_call(bytes: [u8; LONGEST_CALL]) -> bool {
    let instruction = u32::from_le_bytes(bytes);
    instruction >> 26 == 0b10_0101 || instruction & 0xfeff_f000 == 0xd63f_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_their_bytes() {
        // bl, blr x8, blraa x8, x9
        for call in [0x9400_0001_u32, 0xd63f_0100, 0xd73f_0909] {
            assert!(ends_in_call(call.to_le_bytes()), "{call:x}");
        }
        // b, br x8, ret
        for other in [0x1400_0001_u32, 0xd61f_0100, 0xd65f_03c0] {
            assert!(!ends_in_call(other.to_le_bytes()), "{other:x}");
        }
    }

    #[test]
    fn rules_are_packed() {
        let rule = Rule::Fp { cfa: 160, fp: Saved::AtCfa(-160) }.at(-152).expect("a rule");
        let packed = Packed(rule.pack());
        assert_eq!((packed.kind(), packed.cfa(), packed.return_address()), (kind::FP, 160, -152));
        assert_eq!((packed.fp_place(), packed.fp_offset()), (place::AT_CFA, -160));
        let rule = Rule::Sp { cfa: 16, fp: Saved::Same }.at(-16).expect("a rule");
        let packed = Packed(rule.pack());
        assert_eq!((packed.kind(), packed.cfa(), packed.return_address()), (kind::SP, 16, -16));
        assert_eq!((packed.fp_place(), packed.0 & UNKNOWN), (place::SAME, 0));
        assert_eq!(Rule::Sp { cfa: 12, fp: Saved::Same }.at(-8), None);
        assert_eq!(Packed(Rule::End.pack()).kind(), kind::END);
    }
}
