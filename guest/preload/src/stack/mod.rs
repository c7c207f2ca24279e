//! Call stacks: how they are walked, and what code they go through.

pub mod blocks;
pub mod build_id;
mod cfi;
pub mod checked_read;
pub mod cpython;
pub mod edges;
#[cfg(not(test))]
pub mod forced_unwind;
pub mod memo;
pub mod modules;
pub mod python;
mod python_key;
pub mod returned;
mod rows;
mod rule_cache;
mod scratch;
pub mod stack_bounds;
pub mod steps;
pub mod unwind;
pub mod unwound_call;
