//! The program of document 2's tables: examples/c/bkl_fs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::install::SONAME;
use crate::test::{cargo, root, succeeds, target_dir};

/// Builds it into `parts`.
///
/// # Errors
/// If it, or the library, cannot be built.
pub fn build(parts: &Path) -> Result<(), String> {
    cargo(&["build", "--release", "--package", "lockwright-capi"])?;
    let dir = root().join("examples/c/bkl_fs");
    let files = fs::read_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let sources = files.flatten().map(|entry| entry.path());
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-pthread", "-I"])
        .arg(root().join("include"));
    cc.args(sources.filter(|path| path.extension().is_some_and(|end| end == "c")));
    let libraries = target_dir().join("release");
    // The name that programs ask for. It may be there, and is the same then.
    let _ = symlink("liblockwright.so", libraries.join(SONAME));
    cc.arg("-L").arg(&libraries).arg("-llockwright");
    cc.arg(format!("-Wl,-rpath,{}", libraries.display()));
    succeeds(cc.arg("-o").arg(parts.join("bkl_fs")))
}
