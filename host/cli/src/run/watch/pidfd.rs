//! A descriptor that is readable once a child has ended.

use std::os::fd::{FromRawFd, OwnedFd};

/// That of the process `pid`, a child that nobody has waited for; none on kernels without (before
/// 5.3).
pub fn open(pid: u32) -> Option<OwnedFd> {
    // SAFETY: a system call on an unreaped child.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    // SAFETY: opened just now, owned by nobody else.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
