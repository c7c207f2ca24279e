//! The process: its forks, what it executes, and what of that is to be watched.

pub mod follow;
pub mod fork;
pub mod records;
pub mod run_dir;
pub mod successor;
