//! Threads: their lives, and how their ends are noticed.

pub mod by_tid;
pub mod keys;
pub mod lifetime;
pub mod names;
pub mod unnoticed_ends;
