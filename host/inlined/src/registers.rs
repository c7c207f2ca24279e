//! Sets of registers.

use iced_x86::Register;

/// Registers that a callee need not keep: a bit for each, general ones in the lower half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Registers(u64);

const GENERAL: u64 = 0xffff_ffff;

impl Registers {
    /// Whether there is a general register.
    pub fn has_general(self) -> bool {
        self.0 & GENERAL != 0
    }

    /// Whether there is another one.
    pub fn has_vector(self) -> bool {
        self.0 & !GENERAL != 0
    }

    /// All of them.
    pub const ALL: Self = Self(!0);

    /// Whether there is the general register of this number.
    pub fn has_number(self, number: u8) -> bool {
        self.0 & 1 << number != 0
    }

    /// The general registers of these numbers.
    pub const fn of(numbers: &[u8]) -> Self {
        let (mut set, mut nth) = (0, 0);
        while nth < numbers.len() {
            set |= 1 << numbers[nth];
            nth += 1;
        }
        Self(set)
    }

    /// One register; none if a callee keeps it.
    pub fn one(register: Register) -> Self {
        Self(bit(register))
    }

    /// Adds all of another set.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Without those of another set.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Adds a register.
    pub fn note(&mut self, register: Register) {
        self.0 |= bit(register);
    }
}

/// The bit of a register, whatever part of it is meant; none if a callee keeps it.
fn bit(register: Register) -> u64 {
    /// `rbx`, `rsp`, `rbp`, and `r12` to `r15`.
    const KEPT: u64 = 0b1111_0000_0011_1000;
    let number = register.number();
    if register.is_gpr() {
        return 1 << register.full_register().number() & !KEPT;
    }
    if register.is_vector_register() {
        // Those that only some processors have share bits.
        return 1 << (32 + number % 16);
    }
    if register.is_k() || register.is_mm() || register.is_st() { 1 << 63 } else { 0 }
}
