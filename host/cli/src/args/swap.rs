//! `lockwright swap`: which lock, and what runs on it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::manual;
use lockwright_console::args::OutputArgs;

/// Run a program with its pthread locks replaced by one of lockwright's.
///
/// Mutexes, reader-writer locks, spinlocks and condition variables of an unmodified program, and of
/// the programs that it starts, run on a lock of the lockwright family, in the bytes that the
/// program has for them. What cannot be replaced (robust, priority-inheriting and process-shared
/// objects) stays the C library's. The program's standard streams, signals and exit code pass
/// through; when it ends, a note on standard error says how much was replaced.
#[derive(Debug, Args)]
#[command(
    override_usage = "lockwright swap [OPTIONS] -- PROGRAM [ARGS]...\n       lockwright swap --lock list"
)]
#[command(after_long_help = manual::SWAP.help())]
pub struct SwapArgs {
    /// The lock, by a name that `--lock list` shows.
    #[arg(long, value_name = "NAME", default_value = "hybrid", help_heading = "Run")]
    pub lock: String,

    /// Replace only the locks that fit: the variable, as `cache_lock` or `store::mu_*`; the function or
    /// `file.c:42` that initialises the lock or takes it first; the module, as `libfoo.so`. `*` stands
    /// for any characters, `?` for one.
    #[arg(long, value_name = "PATTERN", help_heading = "Run")]
    pub only: Vec<String>,

    /// Leave the locks that fit as they are, also where --only chooses them.
    #[arg(long, value_name = "PATTERN", help_heading = "Run")]
    pub except: Vec<String>,

    /// Directory for the library and what it counts; each run makes its own directory in there.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, help_heading = "Run")]
    pub ledger_dir: Option<PathBuf>,

    /// Where the note goes.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The program to run, looked up in PATH, and its arguments.
    #[arg(trailing_var_arg = true, help_heading = "Arguments")]
    #[arg(value_name = "PROGRAM", value_hint = clap::ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}
