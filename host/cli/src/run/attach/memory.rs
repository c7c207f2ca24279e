//! The memory of a process, which goes on meanwhile.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use lockwright_analysis::attached::Memory;

/// /proc/PID/mem, open.
#[derive(Debug)]
pub struct ProcessMemory(File);

impl ProcessMemory {
    /// Opens it.
    ///
    /// # Errors
    /// If there is no such process, or it is not ours to look into.
    pub fn open(pid: u32) -> io::Result<Self> {
        Ok(Self(File::open(format!("/proc/{pid}/mem"))?))
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, to: &mut [u8]) -> bool {
        // Offsets of files are signed; no address of a program is so high.
        i64::try_from(address).is_ok() && self.0.read_exact_at(to, address).is_ok()
    }
}
