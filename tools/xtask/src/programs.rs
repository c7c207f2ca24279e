//! The programs that users run.

pub use lockwright_console::man::Program;

/// All of them.
pub const PROGRAMS: &[Program] =
    &[lockwright_cli::program::PROGRAM, lockwright_lab_cli::program::PROGRAM];
