//! Programs that tests make.
//!
//! Never written by the test process itself: another thread of it may fork meanwhile, its child has
//! the file open for writing until it executes something, and to execute the file fails so long
//! (`ETXTBSY`).

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Copies a program.
pub fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp");
    assert!(status.success(), "cp {} {}", from.display(), to.display());
}

/// Writes a program or a script, for everybody to execute.
pub fn write(path: &Path, content: &[u8]) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "cat >\"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut child = shell.spawn().expect("a shell");
    child.stdin.take().expect("it was piped").write_all(content).expect("cat reads");
    assert!(child.wait().expect("a status").success(), "{}", path.display());
}
