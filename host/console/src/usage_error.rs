//! A command line that is wrong: clap says why, and quotes its words.

use std::ffi::OsString;

use clap::Parser;

use crate::args::Colour;
use crate::error::Error;
use crate::{plain, streams};

/// Prints the error, with the advice that `advise` adds, and ends.
///
/// The parser prints words as they are, among styles of its own, so that nothing separates its
/// escapes from theirs. It is asked again about the same words without their controls.
pub fn exit<Cli: Parser>(error: &clap::Error, advise: impl Fn(&mut clap::Error)) -> ! {
    match Cli::try_parse_from(std::env::args_os().map(without_controls)) {
        Err(mut same) if same.kind() == error.kind() => {
            advise(&mut same);
            same.exit()
        }
        // The controls were what is wrong.
        _ => {
            let text = error.render().to_string();
            let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
            let own = Error::with_code(error.exit_code() as u8, message.to_owned());
            streams::fail(&own, Colour::Never);
            std::process::exit(error.exit_code())
        }
    }
}

/// A word of the command line as it can be printed; another one only if it has controls.
fn without_controls(word: OsString) -> OsString {
    match word.to_str() {
        Some(text) if !text.contains(plain::is_control) => word,
        _ => plain::line(&word.to_string_lossy()).into(),
    }
}
