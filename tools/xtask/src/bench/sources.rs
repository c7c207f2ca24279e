//! Sources of Debian's packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt::{Apt, Kind};
use super::arm::said;

/// Puts what upstream released of a package into `into`, downloaded once into `cache`.
///
/// # Errors
/// Why that cannot be fetched: no network, no apt.
pub fn fetch(package: &str, cache: &Path, into: &Path) -> Result<(), String> {
    if into.is_dir() {
        return Ok(());
    }
    let release = match released(package, cache) {
        Some(release) => release,
        None => {
            download(package, cache)?;
            released(package, cache)
                .ok_or(format!("apt-get source {package} has left no release"))?
        }
    };
    let unfinished = into.with_extension("unfinished");
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir_all(&unfinished).map_err(|e| format!("{}: {e}", unfinished.display()))?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--strip-components=1", "--file"]).arg(release);
    said(tar.arg("--directory").arg(&unfinished))?;
    fs::rename(&unfinished, into).map_err(|e| format!("{}: {e}", into.display()))
}

/// Upstream's archive, if it is there.
fn released(package: &str, cache: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(cache).ok()?.flatten().map(|entry| entry.path());
    files.into_iter().find(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("{package}_"))
            && name.contains(".orig.tar.")
            && !name.ends_with(".asc")
    })
}

fn download(package: &str, cache: &Path) -> Result<(), String> {
    let apt = Apt::new(cache, Kind::Sources)?;
    let had = apt.get(&["source", "--download-only", package]);
    had.map(drop).map_err(|why| apt.why(&format!("the source of {package}"), &why))
}
