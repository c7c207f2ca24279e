//! End to end: small C and C++ programs, and Debian's servers, under the real tool.
//!
//! The programs lie in tests/programs and say in their first lines what they do. Golden reports lie
//! in tests/golden/e2e; `LOCKWRIGHT_BLESS=1` rewrites them. With `LOCKWRIGHT_CI=1` a package that
//! is not installed fails its test; without, the test says that it was skipped and why.

mod harness;

/// The tool.
const TOOL: &str = env!("CARGO_BIN_EXE_lockwright");

mod bkl_program;
mod c_library;
mod executable;
mod findings;
mod golden;
mod guest;
mod kinds;
mod live;
mod lives;
mod meter;
mod naming;
mod output;
mod outside;
mod plain_output;
mod programs;
mod push;
mod steering;
mod surroundings;
mod swap;
