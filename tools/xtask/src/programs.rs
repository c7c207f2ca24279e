//! The programs that users run: their command lines and their manuals.

use clap::{Command, CommandFactory};
use lockwright_cli::manual;
use lockwright_console::manual::Manual;
use lockwright_lab_cli::manual as lab;

/// A program.
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// Its command line.
    pub definition: fn() -> Command,
    /// Subcommands that users meet, with what their pages say beyond options. Empty: the whole program.
    pub manuals: &'static [(&'static str, &'static Manual)],
}

/// All of them.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "lockwright",
        definition: lockwright_cli::args::Cli::command,
        manuals: &[
            ("", &manual::LOCKWRIGHT),
            ("check", &manual::CHECK),
            ("meter", &manual::METER),
            ("run", &manual::RUN),
            ("report", &manual::REPORT),
            ("swap", &manual::SWAP),
            ("merge", &manual::MERGE),
            ("diff", &manual::DIFF),
            ("doctor", &manual::DOCTOR),
            ("demo", &manual::DEMO),
            ("tune", &manual::TUNE),
        ],
    },
    Program {
        name: "lockwright-lab",
        definition: lockwright_lab_cli::args::Cli::command,
        manuals: &[
            ("", &lab::LAB),
            ("bench", &lab::BENCH),
            ("torture", &lab::TORTURE),
            ("sim", &lab::SIM),
        ],
    },
];
