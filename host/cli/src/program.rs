//! The program `lockwright` as its manual pages have it.

use clap::CommandFactory;
use lockwright_console::man::Program;

use crate::{args, manual};

/// Its command line, and what its pages say beyond options.
pub const PROGRAM: Program = Program {
    name: "lockwright",
    definition: args::Cli::command,
    manuals: &[
        ("", &manual::LOCKWRIGHT),
        ("check", &manual::CHECK),
        ("confirm", &manual::CONFIRM),
        ("meter", &manual::METER),
        ("run", &manual::RUN),
        ("top", &manual::TOP),
        ("ps", &manual::PS),
        ("push", &manual::PUSH),
        ("report", &manual::REPORT),
        ("swap", &manual::SWAP),
        ("merge", &manual::MERGE),
        ("diff", &manual::DIFF),
        ("doctor", &manual::DOCTOR),
        ("demo", &manual::DEMO),
        ("tune", &manual::TUNE),
        ("man", &manual::MAN),
    ],
};
