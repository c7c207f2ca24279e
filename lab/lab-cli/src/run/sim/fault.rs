//! What goes wrong: a lock fails, or the user asks for what is not there.

use lockwright_console::error::{Error, exit};

/// Exit code where a lock has failed.
pub const FAILED: u8 = 101;

pub fn unknown(what: &str, name: &str) -> Error {
    Error::with_code(exit::USAGE, format!("there is no {what} `{name}`"))
        .help("`lockwright-lab sim --list` shows them")
}
