//! `lockwright-lab torture`: the lab's torture of locks.

mod interrupts;
mod stress;
mod types;
mod verdict;
mod ww;

use crate::args::TortureArgs;
use lockwright_console::error::{Error, Result, exit};
use lockwright_console::seed;
use lockwright_console::streams::Streams;
use lockwright_lab::torture::Type;

/// Exit code where a lock has failed.
const FAILED: u8 = 101;

/// Runs the command.
///
/// # Errors
/// If there is no such type, or a file cannot be written.
pub fn run(args: &TortureArgs) -> Result<u8> {
    let mut output = Streams::open(&args.output)?;
    if args.list {
        output.list(&types::list())?;
        return Ok(0);
    }
    let seed = args.extent.seed.unwrap_or_else(seed::from_clock);
    let verdict = match args.torture_type.as_str() {
        ww::NAME => ww::run(args, seed, lockwright_lab::torture::ww::run),
        ww::BUSTED => ww::run(args, seed, lockwright_lab::torture::ww::run_busted),
        name => stress::run(args, seed, known(name)?, &output),
    };
    output.write_json_text(&format!("{:#}\n", verdict.json))?;
    output.list(&verdict.text)?;
    Ok(if verdict.ok { 0 } else { FAILED })
}

fn known(name: &str) -> Result<&'static Type> {
    Type::find(name).ok_or_else(|| {
        Error::with_code(exit::USAGE, format!("there is no torture type `{name}`"))
            .help("`lockwright-lab torture --list` shows them")
    })
}
