//! The reports of the commands: each has every form that a user may ask for.

mod attached;
mod comparison;
mod findings;
mod measurement;
mod traced;

use std::io::{self, Write};

pub use comparison::Compared;
pub use findings::Findings;
pub use measurement::{KernelToo, Measurement};
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
