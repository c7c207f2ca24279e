//! Opens a page in the user's browser.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::run::watch::preload::Preload;
use lockwright_console::error::{Error, Result};
use lockwright_console::seed;

/// What opens a file with the user's program for it.
const OPENER: &str = "xdg-open";

/// How long it may take to start a browser. One that runs in the terminal runs longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A new file for a page, in the directory for temporary files, that this user alone may read.
///
/// # Errors
/// If there is no place for it.
pub fn new_file() -> Result<PathBuf> {
    /// Names that are tried: each is as good as unique.
    const TRIES: u32 = 8;
    let folder = std::env::temp_dir();
    let mut random = fastrand::Rng::with_seed(seed::from_clock());
    let mut last = None;
    for _ in 0..TRIES {
        let path = folder.join(format!("lockwright-{:016x}.html", random.u64(..)));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(_) => return Ok(path),
            Err(error) => last = Some(error),
        }
    }
    let why = last.map_or_else(String::new, |error| format!(": {error}"));
    Err(Error::new(format!("no place for the page in {}{why}", folder.display()))
        .help("name a file for it: --html FILE"))
}

/// Opens the page.
///
/// # Errors
/// If there is nothing to open it with, or that fails.
pub fn open(page: &Path) -> Result<()> {
    let shown = page.display();
    let by_hand = format!("open {shown} in a browser");
    let mut command = Command::new(OPENER);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null());
    Preload::leave_alone(&mut command);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::new(format!("there is no {OPENER} to open the page with (--open)"))
                .help(format!("{by_hand}, or install {OPENER} (Debian package xdg-utils)"))
        }
        _ => Error::new(format!("cannot run {OPENER}: {error}")).help(by_hand.clone()),
    })?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                let error = Error::new(format!("{OPENER} could not open the page: {status}"));
                return Err(error.help(by_hand));
            }
            _ => thread::sleep(Duration::from_millis(10)),
        }
    }
    Ok(())
}
