//! The reports of the commands: each has every form that a user may ask for.

mod attached;
mod comparison;
mod findings;
mod measurement;
mod merged;
mod traced;

use std::io::{self, Write};

use lockwright_console::plain;
use lockwright_console::sink::styles;

pub use comparison::Compared;
pub use findings::Findings;
pub use measurement::{KernelToo, Measurement};
pub use merged::Merge;
pub use traced::{FutexWaits, KernelLocks};

/// How a text is to look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// With ANSI colours.
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
}

/// What a command has to report.
pub trait Report {
    /// For a reader at a terminal.
    fn text(&self, look: Look) -> String;

    /// For a program.
    ///
    /// # Errors
    /// If it cannot be written.
    fn json(&self, out: &mut dyn Write) -> io::Result<()>;

    /// For a browser; `None`: there is no page of this report.
    fn html(&self) -> Option<String>;
}

/// Writes a JSON document that is there already, without the control characters in its strings.
fn write_json(document: String, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(plain::text(&plain::json(document), styles(false)).as_bytes())
}
