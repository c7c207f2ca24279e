//! A file that is open, as it may not have a name any longer.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;

/// The file. Copies are of the same.
#[derive(Clone, Debug)]
pub struct KeptFile(Arc<File>);

impl KeptFile {
    /// Keeps it open as long as there is a copy of this.
    pub fn new(file: File) -> Self {
        Self(Arc::new(file))
    }

    /// A path under which this process can open it.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}

impl PartialEq for KeptFile {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for KeptFile {}
