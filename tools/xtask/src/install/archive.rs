//! The archive of what is shipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::place;
use super::shipped::{self, Shipped};
use crate::workspace::output;

/// The archive of all files, below a directory of its name. It can be unpacked anywhere. Returns its file.
///
/// # Errors
/// When a file cannot be written, or tar fails.
pub fn make(out: &Path, Shipped { files, .. }: &Shipped) -> Result<PathBuf, String> {
    let name = format!("lockwright-{}-{}-linux", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    let tree = out.join(&name);
    // Only what an earlier run has left: the directory may be one that has other things in it.
    let _ = fs::remove_dir_all(&tree);
    let tree = place::prepare(&tree)?;
    shipped::place_all(files, &tree)?;
    let file = out.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--owner=0", "--group=0", "--numeric-owner", "--sort=name", "-czf"]).arg(&file);
    tar.arg("-C").arg(out).arg(&name);
    output(tar)?;
    Ok(file)
}

/// Unpacks it where nothing else is. Returns the prefix of the files.
///
/// # Errors
/// When tar fails.
pub fn unpack(archive: &Path, to: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).args(["--strip-components=1", "-C"]).arg(to);
    output(tar)?;
    Ok(to.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::files::{File, What};
    use super::*;

    #[test]
    fn an_archive_has_its_files_below_one_directory() {
        let out = tempfile::tempdir().unwrap();
        let file = File { to: "bin/a".into(), what: What::Text(b"text".to_vec()) };
        let shipped = Shipped { files: vec![file], glibc: (2, 31) };
        let archive = make(out.path(), &shipped).unwrap();
        assert!(archive.to_str().unwrap().ends_with("-linux.tar.gz"), "{}", archive.display());
        let unpacked = unpack(&archive, &out.path().join("there")).unwrap();
        assert_eq!(fs::read_to_string(unpacked.join("bin/a")).unwrap(), "text");
    }
}
