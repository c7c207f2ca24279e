//! 64-bit Arm.

use lockwright_ledger::rows::inlined_state;

#[macro_use]
mod code;
#[macro_use]
mod own;
mod counter;
mod frames;
mod jumps;
#[cfg(not(test))]
mod mem;
mod registers;
mod system_call;

pub use self::counter::{counter, is_counter_even};
pub use self::frames::*;
pub use self::jumps::{MASK, MASK_WAS_SAVED, jumps_to};
pub use self::registers::stack_pointer;
pub use self::system_call::{FORK, FUTEX_DIGITS, SYS_FORK, symbol_version, system_call};

/// What is known at first of locks that are inlined in a module, whose code is not changed.
pub const INLINED_AT_FIRST: u32 = inlined_state::OTHER_MACHINE;
