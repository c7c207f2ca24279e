//! Does what the command line says: one file or folder per command.

mod bench;
mod sim;
mod torture;

use clap::Parser;
use lockwright_console::{inherited, own_stack, streams, usage_error};

use crate::args::{Cli, Command};

/// The program `lockwright-lab`, from its command line to its end.
pub fn main() -> ! {
    inherited::ignore_signals();
    own_stack::run(command)
}

/// Runs the command that the command line names.
fn command() -> ! {
    let command =
        Cli::try_parse().unwrap_or_else(|error| usage_error::exit::<Cli>(&error, |_| ())).command;
    let colour = command.colour();
    let code = match command {
        Command::Bench(args) => bench::run(&args),
        Command::Torture(args) => torture::run(&args),
        Command::Sim(args) => sim::run(&args),
    };
    let code = code.unwrap_or_else(|error| {
        streams::fail(&error, colour);
        error.code()
    });
    std::process::exit(code.into())
}
