//! What the kernel calls a thread that lives.

use std::fs;

/// Its name; empty if there is no such thread.
pub fn of(pid: u32, tid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}
