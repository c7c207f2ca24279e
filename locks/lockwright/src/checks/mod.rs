//! The kernel's debugging of locks.

pub mod debug;
pub mod debug_rwsem;
