//! The program `lockwright-lab` as its manual pages have it.

use clap::CommandFactory;
use lockwright_console::man::Program;

use crate::{args, manual};

/// Its command line, and what its pages say beyond options.
pub const PROGRAM: Program = Program {
    name: "lockwright-lab",
    definition: args::Cli::command,
    manuals: &[
        ("", &manual::LAB),
        ("bench", &manual::BENCH),
        ("torture", &manual::TORTURE),
        ("sim", &manual::SIM),
    ],
};
