//! The command-line side of lockwright: runs programs under the preload library, reads ledgers,
//! analyses and reports. It shares nothing with the preload library but the ledger format.

pub mod analysis;
pub mod args;
mod completeness;
pub mod demo;
pub mod error;
pub mod finding;
mod glob;
pub mod ledger_dir;
pub mod listing;
pub mod manual;
pub mod meter;
pub mod model;
pub mod process_end;
pub mod progress;
pub mod report;
pub mod run;
pub mod symbolize;
pub mod verdict;
mod whole_file;

/// File name of the preload library once it is unpacked: how its own frames are known from others.
pub const PRELOAD_FILE_NAME: &str = "liblockwright.so";
