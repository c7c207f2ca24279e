//! A program that runs with a library of ours in it: how it comes to run so, and what it leaves behind.

pub mod c_library;
pub mod child;
pub mod end_file;
pub mod engines;
pub mod follow;
pub mod generated_code;
pub mod inlined;
pub mod library;
pub mod pidfd;
pub mod preload;
pub mod signals;
mod start;
pub mod steering;
pub mod unwatched;
