//! The laboratory's command, end to end.

#[path = "../e2e/harness.rs"]
#[allow(dead_code, reason = "these tests need a part of it")]
mod harness;
#[path = "../e2e/plain_output.rs"]
#[allow(dead_code, reason = "these tests need a part of it")]
mod plain_output;

#[path = "../e2e/bkl_program.rs"]
mod bkl_program;
#[path = "../e2e/c_library.rs"]
mod c_library;

/// The tool.
const TOOL: &str = env!("CARGO_BIN_EXE_lockwright-lab");

mod bench_locks;
mod bench_peers;
mod bench_tables;
mod bkl_fs;
mod explore;
mod hostile_names;
mod sim;
mod torture;
