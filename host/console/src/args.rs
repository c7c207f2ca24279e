//! Options that many commands have.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Where the report goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
pub struct OutputArgs {
    /// Write the report to FILE (`-`: standard output) instead of standard error. With a FILE notes
    /// and warnings go there, too, and standard error is the program's alone.
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Also write the report as JSON to FILE (`-`: standard output).
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// Colour the report; `auto`: if it goes to a terminal and NO_COLOR is not set.
    #[arg(long, visible_alias = "colour", value_name = "WHEN", value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

/// The `-o` of commands whose report is all that was asked for.
pub fn of_table(output: clap::Arg) -> clap::Arg {
    output.help(
        "Write the table to FILE instead of standard output (`-`; standard error, where the JSON \
         goes to standard output)",
    )
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// If it is for a terminal.
    Auto,
    /// Yes.
    Always,
    /// No.
    Never,
}

/// A time that can be waited for.
///
/// # Errors
/// If the text is no number, or none that can be waited for.
pub fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if (0.001..=3600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("not from 0.001 to 3600".to_owned())
    }
}
