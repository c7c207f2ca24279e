//! Where moments come from.

use std::time::Duration;

use lockwright_console::error::{Error, Result};
use lockwright_report::live::Moment;

/// There was nothing to see to the end.
pub fn nothing() -> Error {
    Error::new("nothing was recorded: the program was not watched")
        .help("`lockwright doctor PROGRAM` shows what can be watched of it, and what is in the way")
}

/// Something that can be looked at again and again.
pub trait Source {
    /// What it is like now; `None` if there is nothing to see yet.
    ///
    /// # Errors
    /// If it can no longer be looked at.
    fn look(&mut self) -> Result<Option<Moment>>;

    /// Waits, for `patience` at most, and does meanwhile what has to be done.
    fn wait(&mut self, patience: Duration) {
        std::thread::sleep(patience);
    }

    /// Nothing new will be seen after the next look.
    fn is_over(&mut self) -> bool;

    /// Somebody has asked for the end, by a signal that the source has read.
    fn was_asked_to_end(&self) -> bool {
        false
    }

    /// What the program has printed since the last call, line by line.
    fn output(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// The user leaves.
    ///
    /// # Errors
    /// If what was asked for at the end cannot be done.
    fn leave(&mut self) -> Result<()> {
        Ok(())
    }
}
