//! The page that GitHub shows for a step: each command of the step adds to its file.

use std::fs::OpenOptions;
use std::io::Write;

use lockwright_console::error::{Error, Result};
use lockwright_console::plain::{self, Styles};

/// The variable that names the file.
const VARIABLE: &str = "GITHUB_STEP_SUMMARY";

/// Adds a page, if there is a file for it.
///
/// # Errors
/// If the file cannot be written.
pub fn add(page: &str) -> Result<()> {
    let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let page = plain::text(page, Styles::None);
    let file = OpenOptions::new().append(true).create(true).open(&path);
    // In one write, as other commands of the step may add theirs.
    file.and_then(|mut file| file.write_all(page.as_bytes())).map_err(|error| {
        Error::new(format!("cannot write {}: {error}", path.display()))
            .help(format!("{VARIABLE} names the file; without it no page is written"))
    })
}
