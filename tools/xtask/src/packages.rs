//! The Debian packages that the tests use: `.ci/packages`.

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use crate::workspace::{output, root, succeeds};

/// Installs the missing ones where this user may, and says so before. Elsewhere says what to do; the tests that need
/// them are skipped.
///
/// # Errors
/// If they cannot be installed.
pub fn install() -> Result<(), String> {
    // In CI they have been installed.
    if std::env::var_os("LOCKWRIGHT_CI").is_some() {
        return Ok(());
    }
    if Command::new("dpkg-query").arg("--version").output().is_err() {
        eprintln!("note: this is no Debian; tests whose programs are missing are skipped");
        return Ok(());
    }
    let mut list = Command::new(root().join(".ci/install"));
    list.arg("--missing");
    let missing = output(list)?;
    let missing = missing.trim();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() {
        eprintln!(
            "note: some tests are skipped, as packages are missing. To run all:\n  sudo apt-get install {missing}"
        );
        return Ok(());
    }
    eprintln!("Packages that the tests use are missing, and are installed now: {missing}");
    succeeds(&mut Command::new(root().join(".ci/install")))
}

/// Whether this process is root's: it owns its directory in /proc.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
