//! PID namespaces: outside of the initial one, processes have other numbers than the kernel's own.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use super::other;
use crate::messages::Refusal;

/// The inode of the initial PID namespace: the kernel's `PROC_PID_INIT_INO`.
const INITIAL: u64 = 0xefff_fffc;

/// A PID namespace, as the kernel identifies it.
#[derive(Clone, Copy, Debug)]
pub struct Namespace {
    /// The device of nsfs.
    pub device: u64,
    /// The inode on it.
    pub inode: u64,
}

impl Namespace {
    /// The one that a process, or `self`, is in.
    ///
    /// # Errors
    /// If /proc does not say.
    pub fn of(process: &str) -> Result<Self, Refusal> {
        let path = format!("/proc/{process}/ns/pid");
        let found = fs::metadata(&path).map_err(|error| other(format!("{path}: {error}")))?;
        // As the kernel has device numbers: 20 bits of the minor number.
        let (major, minor) = (libc::major(found.dev()), libc::minor(found.dev()));
        Ok(Self { device: u64::from(major) << 20 | u64::from(minor), inode: found.ino() })
    }

    /// Whether processes have the kernel's own numbers in it.
    pub fn is_initial(self) -> bool {
        self.inode == INITIAL
    }
}

/// The number of a process in its own PID namespace.
///
/// # Errors
/// If /proc does not say.
pub fn innermost_number(pid: u32) -> Result<u32, Refusal> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).map_err(|error| other(format!("{path}: {error}")))?;
    of_status(&status).ok_or_else(|| other(format!("{path} has no line NSpid")))
}

/// The numbers that the threads of a process have here, by those in its own PID namespace.
pub fn own_numbers(pid: u32) -> HashMap<u32, u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let numbers = tasks.filter_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        Some((of_status(&status)?, task.file_name().to_str()?.parse().ok()?))
    });
    numbers.collect()
}

/// The last of the numbers in a process's status: they go from the outermost namespace inwards.
pub fn of_status(status: &str) -> Option<u32> {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_the_innermost() {
        assert_eq!(of_status("Name:\tx\nPid:\t7\nNSpid:\t4711\t7\n"), Some(7));
        assert_eq!(of_status("NSpid:\t12\n"), Some(12));
        assert_eq!(of_status("Pid:\t12\n"), None);
    }

    #[test]
    fn threads_have_numbers_here_and_in_their_own_namespace() {
        let own = std::process::id();
        let innermost = innermost_number(own).unwrap();
        assert_eq!(own_numbers(own).get(&innermost), Some(&own));
    }

    #[test]
    fn every_process_is_in_a_namespace() {
        assert_ne!(Namespace::of("self").unwrap().inode, 0);
        assert!(Namespace::of("none").is_err());
    }
}
