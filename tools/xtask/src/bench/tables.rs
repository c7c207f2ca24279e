//! `cargo xtask bench tables`: builds what `lockwright-lab bench tables` runs, and runs it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use super::pages::{SIMULATED, TABLES, same_headings};
use super::peers::images;
use super::{in_tables, parts};
use crate::builds::{lab_build, release_build};
use crate::workspace::{read, root, succeeds, target_dir};

/// The directory of its plots, from the page.
const PLOTS: &str = "bench/tables";

/// How the tables are measured.
#[derive(Debug, Args)]
pub struct TablesOptions {
    /// Two short rounds of everything: do the tables still run? The figures mean nothing.
    #[arg(long, conflicts_with = "write")]
    pub smoke: bool,

    /// Rounds of each comparison.
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,

    /// Only this document.
    #[arg(long, value_name = "DOCUMENT")]
    pub only: Option<u8>,

    /// Also write the figures as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write docs/lab/tables.md and its plots instead of standard output.
    #[arg(long, conflicts_with = "only")]
    pub write: bool,
}

impl TablesOptions {
    /// `--smoke` and nothing else.
    pub fn smoke() -> Self {
        Self { smoke: true, rounds: 2, only: None, json: None, write: false }
    }
}

/// Builds and measures.
///
/// # Errors
/// If something cannot be built, does not run to its end, or, in CI, is missing.
pub fn run(options: &TablesOptions) -> Result<(), String> {
    let (lab, tool) = (lab_build(options.smoke)?, release_build(options.smoke)?);
    let dir = target_dir().join("bench/parts");
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    parts::build(&dir, options.only, options.smoke)?;
    let page = target_dir().join("bench/tables.md");
    let mut command = Command::new(lab);
    command.args(["bench", "tables", "--parts"]).arg(&dir).arg("--output").arg(&page);
    command.arg("--lockwright").arg(tool);
    if options.smoke {
        command.arg("--smoke");
    } else {
        command.args(["--rounds", &options.rounds.to_string()]);
    }
    if let Some(only) = options.only {
        command.args(["--only", &only.to_string()]);
    }
    if let Some(file) = &options.json {
        command.arg("--json").arg(file);
    }
    let plots = root().join("docs/lab").join(PLOTS);
    if options.write {
        // Plots of what is no longer measured shall go.
        let _ = fs::remove_dir_all(&plots);
        command.arg("--plot").arg(&plots);
    }
    if std::env::var_os("LOCKWRIGHT_CI").is_some() {
        command.arg("--complete");
    }
    succeeds(&mut command)?;
    let text = read(&page)?;
    if options.write {
        let text = format!("{text}\n### Plots\n\n{}", images(&plots, PLOTS)?);
        let file = root().join(TABLES);
        fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        return in_tables::update();
    }
    print!("{text}");
    if !options.smoke {
        return Ok(());
    }
    let simulated = read(root().join(SIMULATED))?;
    same_headings(&in_tables::put(&text, &simulated), TABLES, "tables")
}
