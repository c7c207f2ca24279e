//! The shipped files: all that is installed, linked with the oldest C library that it has to run
//! with.

use std::path::{Path, PathBuf};

use super::files::{self, File, What};
use super::glibc::{self, Glibc, OLDEST};
use super::{build, place};
use crate::roots;
use crate::workspace::target_dir;

/// The files, built.
pub struct Shipped {
    /// All of them.
    pub files: Vec<File>,
    /// The latest version of glibc that one of them needs.
    pub glibc: Glibc,
}

/// Builds everything with the sysroot that there is; without one, with this machine's C library, and says so.
///
/// # Errors
/// When the build fails, or something needs a later glibc than it should.
pub fn build_all() -> Result<Shipped, String> {
    let sysroot = roots::sysroot();
    if let Err(why) = &sysroot {
        eprintln!(
            "note: built for this machine's glibc and later ones, not for {}.{}: {why}",
            OLDEST.0, OLDEST.1
        );
    }
    build(sysroot.as_deref().ok())?;
    let files = files::all(&target_dir())?;
    let mut latest = (0, 0);
    for path in programs(&files) {
        let needed = glibc::needed(path)?.unwrap_or_default();
        if sysroot.is_ok() && needed > OLDEST {
            return Err(glibc::too_new(path, needed));
        }
        latest = latest.max(needed);
    }
    if sysroot.is_ok() {
        glibc::is_old_enough(&command(&files))?;
    }
    Ok(Shipped { files, glibc: latest })
}

/// Places all files under a prefix. Returns how many bytes they are.
///
/// # Errors
/// When a file cannot be written.
pub fn place_all(files: &[File], prefix: &Path) -> Result<u64, String> {
    let mut bytes = 0;
    for file in files {
        let placed = place::install(prefix, file)?;
        bytes += std::fs::symlink_metadata(&placed).map_or(0, |metadata| metadata.len());
    }
    Ok(bytes)
}

fn programs(files: &[File]) -> impl Iterator<Item = &Path> {
    files.iter().filter_map(|file| match &file.what {
        What::Program(path) => Some(path.as_path()),
        _ => None,
    })
}

fn command(files: &[File]) -> PathBuf {
    let mut commands = programs(files).filter(|path| path.ends_with("lockwright"));
    commands.next().expect("the command is installed").to_owned()
}
