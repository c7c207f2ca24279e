//! Does what the command line says: one file per command, and one per thing they need.

mod attach;
mod avoid;
mod background;
mod both;
mod check;
mod clocks;
mod confirm;
mod demo;
mod diff;
mod doctor;
mod ending;
mod endpoint;
mod going_on;
mod hang;
mod live;
mod load;
mod man;
mod merge;
mod meter;
mod output;
mod path_search;
mod prices;
mod ps;
mod push;
mod report;
mod session;
mod swap;
mod target;
mod thread_name;
mod top;
mod traced;
mod tune;
mod usage;
mod watch;

use std::ffi::OsString;

use clap::Parser;
use lockwright_console::{inherited, own_stack, streams, usage_error};

use usage::{shipped_rules, version};

pub use check::{Checked, check};
pub use ending::Ending;
pub use output::Output;
pub use watch::child::Program;

use crate::args::{Cli, Command};

/// The program `lockwright`, from its command line to its end.
pub fn main() -> ! {
    inherited::ignore_signals();
    own_stack::run(command)
}

/// The command that the command line names. If there is none, says so and ends.
fn parse() -> Command {
    let parsed = Cli::try_parse()
        .inspect_err(version::print_if_asked)
        .inspect_err(shipped_rules::print_if_asked);
    parsed.unwrap_or_else(|error| usage_error::exit::<Cli>(&error, usage::tips::add)).command
}

/// Runs the command that the command line names.
fn command() -> ! {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let command = Command::parse_alone(&words).unwrap_or_else(parse);
    let colour = command.colour();
    let ending = match command {
        Command::Check(args) => check::run(args),
        Command::Confirm(args) => confirm::run(args),
        Command::Meter(args) => meter::run(args),
        Command::Run(args) => both::run(args),
        Command::Top(args) => top::run(args),
        Command::Ps(args) => ps::run(&args),
        Command::Push(args) => push::send(&args),
        Command::Swap(args) => swap::run(args),
        Command::Report(args) => report::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Man(args) => man::run(&args),
        Command::RestoreTerminal => top::restore_terminal(),
        Command::Calibrate => {
            let prices = serde_json::to_string(&prices::loops::measure());
            println!("{}", prices.expect("numbers always serialise"));
            Ok(Ending::Code(0))
        }
    };
    ending
        .unwrap_or_else(|error| {
            streams::fail(&error, colour);
            Ending::Code(error.code())
        })
        .end()
}
