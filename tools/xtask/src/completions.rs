//! `cargo xtask completions`: shell completions, from the command line's definition.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use clap_complete::Shell;

use crate::programs::{PROGRAMS, Program};

/// Writes shell completions.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Directory to write to.
    #[arg(long, value_name = "DIR", default_value = "target/completions")]
    pub out: PathBuf,

    /// Only for this shell.
    #[arg(long, value_enum)]
    pub shell: Option<Shell>,
}

/// Writes them.
///
/// # Errors
/// When a file cannot be written.
pub fn run(args: &CompletionsArgs) -> Result<(), String> {
    std::fs::create_dir_all(&args.out).map_err(|e| format!("{}: {e}", args.out.display()))?;
    let shells = match args.shell {
        Some(shell) => vec![shell],
        None => Shell::value_variants().to_vec(),
    };
    for shell in shells {
        for program in PROGRAMS {
            println!("{}", write(program, shell, &args.out)?.display());
        }
    }
    Ok(())
}

fn write(program: &Program, shell: Shell, out: &Path) -> Result<PathBuf, String> {
    clap_complete::generate_to(shell, &mut (program.definition)(), program.name, out)
        .map_err(|e| format!("{}: {e}", out.display()))
}
