//! Threads: their lives, and how their ends are noticed.

pub mod by_tid;
pub mod ends;
pub mod keys;
pub mod life;
pub mod names;
