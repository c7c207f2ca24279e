//! Threads: how their ends are noticed.

pub mod ends;
pub mod keys;
pub mod names;
