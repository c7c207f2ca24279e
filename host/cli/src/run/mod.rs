//! Does what the command line says: one file per command, and one per thing they need.

mod attach;
mod baseline_file;
mod blocked;
mod both;
mod busy;
mod c_library;
mod calibrate;
mod check;
mod child;
mod cost_file;
mod demo;
mod diff;
mod doctor;
mod end_file;
mod ending;
mod engines;
mod exports;
mod follow;
mod generated_code;
mod library;
mod live;
mod load;
mod loops;
mod merge;
mod meter;
mod outlook;
mod output;
mod path_search;
mod pidfd;
mod preload;
mod price_counts;
mod price_loops;
mod prices;
mod prices_file;
mod report;
mod session;
mod shipped_rules;
mod signals;
mod step_summary;
mod swap;
mod target;
mod tasks;
mod traced;
mod tune;
mod unwatched;
mod usage_tips;
mod verdicts;
mod version;

use clap::Parser;
use lockwright_console::{inherited, own_stack, streams, usage_error};

pub use check::{Checked, check};
pub use child::Program;
pub use ending::Ending;
pub use output::Output;

use crate::args::{Cli, Command};

/// The program `lockwright`, from its command line to its end.
pub fn main() -> ! {
    inherited::ignore_signals();
    own_stack::run(command)
}

/// Runs the command that the command line names.
fn command() -> ! {
    let parsed = Cli::try_parse()
        .inspect_err(version::print_if_asked)
        .inspect_err(shipped_rules::print_if_asked);
    let command =
        parsed.unwrap_or_else(|error| usage_error::exit::<Cli>(&error, usage_tips::add)).command;
    let colour = command.colour();
    let ending = match command {
        Command::Check(args) => check::run(args),
        Command::Meter(args) => meter::run(args),
        Command::Run(args) => both::run(args),
        Command::Swap(args) => swap::run(args),
        Command::Report(args) => report::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Calibrate => {
            let prices = serde_json::to_string(&price_loops::measure());
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
