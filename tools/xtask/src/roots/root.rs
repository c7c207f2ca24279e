//! A root of a Debian suite: how it is made, and entered.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{output, root, target_dir};

/// One that there is.
pub struct Root {
    /// The suite's name.
    pub suite: String,
    /// Where it lies.
    pub dir: PathBuf,
    /// The version of its glibc, as in `2.31`.
    pub glibc: String,
    /// The version of its gcc, as in `10`.
    pub gcc: String,
}

impl Root {
    /// The root of the suite, made if there is none.
    ///
    /// # Errors
    /// Why there is none.
    pub fn make(suite: &str) -> Result<Self, String> {
        let mut make = script("make.sh");
        make.arg(suite);
        let out = make.output().map_err(|e| format!("{make:?}: {e}"))?;
        if !out.status.success() {
            return Err(String::from_utf8_lossy(&out.stderr).trim().to_owned());
        }
        let dir = PathBuf::from(String::from_utf8_lossy(&out.stdout).trim());
        let libc = dir.join("usr/lib/x86_64-linux-gnu/libc.so.6");
        let glibc = glibc_of(&libc)?;
        let gcc = newest(&dir.join("usr/lib/gcc/x86_64-linux-gnu"))?;
        Ok(Self { suite: suite.to_owned(), dir, glibc, gcc })
    }

    /// Runs a program in it, to which more arguments can be given.
    pub fn enter(&self, shipped: &Path, program: &Path) -> Command {
        let mut enter = Command::new("unshare");
        enter.args(["--mount", "--fork"]).arg(path_of("enter.sh")).arg(&self.dir);
        enter.args([root(), &target_dir(), shipped, program]);
        enter
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Debian {}: glibc {}, gcc {}", self.suite, self.glibc, self.gcc)
    }
}

fn path_of(script: &str) -> PathBuf {
    root().join("tools/xtask/src/roots").join(script)
}

fn script(name: &str) -> Command {
    Command::new(path_of(name))
}

/// As the C library says itself: `GNU C Library (Debian GLIBC 2.31-13) stable release version 2.31.`
fn glibc_of(libc: &Path) -> Result<String, String> {
    let mut strings = Command::new("grep");
    strings.args(["--text", "--only-matching", "release version [0-9.]*[0-9]"]).arg(libc);
    let said = output(strings)?;
    let version = said.trim().rsplit(' ').next().unwrap_or_default();
    Ok(version.to_owned())
}

/// The name of the only directory in there, or the last one.
fn newest(dir: &Path) -> Result<String, String> {
    let entries = std::fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let numbers = names.filter_map(|name| name.parse::<u32>().ok());
    let newest = numbers.max().ok_or_else(|| format!("no gcc in {}", dir.display()))?;
    Ok(newest.to_string())
}
