//! Call stacks: how they are walked, and what code they go through.

mod cfi;
#[cfg(not(test))]
pub mod forced_unwind;
pub mod memory;
pub mod modules;
pub mod own;
pub mod python;
pub mod returned;
mod scratch;
pub mod unwind;
pub mod unwound_call;
