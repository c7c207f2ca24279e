//! `--explain KIND`: what a kind of finding, or a grade, means.

use std::io::{self, Write};

use crate::run::ending::Ending;
use lockwright_analysis::finding::{Grade, Kind};
use lockwright_console::error::{Error, Result, exit};
use lockwright_report::kinds_page;

/// Prints the section of docs/report-kinds.md.
///
/// # Errors
/// If there is no such kind or grade.
pub fn run(name: &str) -> Result<Ending> {
    let known = || {
        let kinds = Kind::ALL.iter().map(|kind| kind.name());
        kinds.chain(Grade::ALL.iter().map(|grade| grade.name()))
    };
    let section = kinds_page::section(name).filter(|_| known().any(|other| other == name));
    let Some(section) = section else {
        let list = |names: Vec<&str>| names.join(", ");
        let error =
            Error::with_code(exit::USAGE, format!("`{name}` is no kind of finding, nor a grade"));
        return Err(error
            .help(format!("kinds: {}", list(Kind::ALL.iter().map(|kind| kind.name()).collect())))
            .help(format!(
                "grades: {}",
                list(Grade::ALL.iter().map(|grade| grade.name()).collect())
            )));
    };
    let text = format!("{name}\n\n{section}\n");
    match io::stdout().write_all(text.as_bytes()) {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Ending::Code(0)),
        Err(error) => Err(Error::new(format!("cannot print the explanation: {error}"))),
        Ok(()) => Ok(Ending::Code(0)),
    }
}
