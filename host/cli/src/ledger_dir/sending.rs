//! The file in a run's directory that says how much of the run a server has, and the file that its
//! sender has locked.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::folder::{Folder, effective_user};
use super::marker::try_lock;
use super::run_name::is_run_name;

/// Its name. It is there as long as the server does not have everything.
pub const UNSENT: &str = "push.json";

/// Its name once the server has everything.
pub const SENT: &str = "pushed.json";

/// The file while it is written.
pub const UNSENT_NEW: &str = "push.new";

/// The process that sends has this file locked.
pub const CLAIM: &str = "push.lock";

/// Has this process be the one that sends what is in the run's directory, until the file is closed.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] if another process is.
pub fn claim(dir: &Path) -> io::Result<File> {
    let folder = Folder::open(dir)?;
    let file = match folder.create(CLAIM) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            folder.own_file(CLAIM, libc::O_RDWR)
        }
        other => other,
    }?;
    try_lock(&file)?;
    Ok(file)
}

/// Writes a file of lockwright's own: its name has the old one until the new one is whole.
///
/// # Errors
/// If that fails.
pub fn replace_own(dir: &Path, name: &str, text: &[u8]) -> io::Result<()> {
    let folder = Folder::open(dir)?;
    // What was cut short before.
    let _ = folder.remove_file(OsStr::new(UNSENT_NEW));
    let written = folder.create(UNSENT_NEW).and_then(|mut file| file.write_all(text));
    let named =
        written.and_then(|()| folder.rename(OsStr::new(UNSENT_NEW), &folder, OsStr::new(name)));
    named.inspect_err(|_| {
        let _ = folder.remove_file(OsStr::new(UNSENT_NEW));
    })
}

/// Removes a file of lockwright's own.
pub fn remove_own(dir: &Path, name: &str) {
    if let Ok(folder) = Folder::open(dir) {
        let _ = folder.remove_file(OsStr::new(name));
    }
}

/// Gives a file of lockwright's own another name.
pub fn rename_own(dir: &Path, from: &str, to: &str) {
    if let Ok(folder) = Folder::open(dir) {
        let _ = folder.rename(OsStr::new(from), &folder, OsStr::new(to));
    }
}

/// The runs in the directory `base` that this user has made and a server does not have whole, the oldest first.
pub fn unsent_in(base: &Path) -> Vec<PathBuf> {
    let Ok(folder) = Folder::open(base) else { return Vec::new() };
    let mut names = folder.names().unwrap_or_default();
    names.sort();
    let is_unsent = |name: &OsStr| {
        name.to_str().is_some_and(is_run_name)
            && folder.folder(name).is_ok_and(|run| {
                run.metadata().is_ok_and(|meta| meta.uid() == effective_user())
                    && run.own_file(UNSENT, libc::O_RDONLY).is_ok()
            })
    };
    names.into_iter().filter(|name| is_unsent(name)).map(|name| base.join(name)).collect()
}
