//! Checks beyond the order of locks.

pub mod atomic_sleep;
pub mod left_held;
pub mod misuse;
