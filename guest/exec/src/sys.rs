//! System calls that leave errno alone: those that every dynamically linked program makes when it
//! starts, as a filter of system calls may kill for others.

use core::ffi::{CStr, c_int};
use core::mem::MaybeUninit;

use crate::arch::system_call as call;

/// A descriptor that is closed at the end.
pub struct Open(c_int);

impl Open {
    pub fn fd(&self) -> c_int {
        self.0
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: the descriptor was opened by this type, which nobody else closes.
        unsafe { call(libc::SYS_close, [self.0 as usize, 0, 0, 0]) };
    }
}

/// Opens `path` below the directory `at`.
///
/// # Errors
/// The kernel's number.
pub fn open(at: c_int, path: &CStr, flags: c_int) -> Result<Open, c_int> {
    let flags = flags | libc::O_RDONLY | libc::O_CLOEXEC;
    let arguments = [at as usize, path.as_ptr().addr(), flags as usize, 0];
    // SAFETY: a terminated path, which the kernel only reads.
    let fd = unsafe { call(libc::SYS_openat, arguments) };
    if fd < 0 { Err(-fd as c_int) } else { Ok(Open(fd as c_int)) }
}

/// Opens the regular file at `path`, if it may be executed by anybody. Nothing else is opened for
/// reading: with a FIFO that would wake its writer.
///
/// # Errors
/// See [`Failed`].
pub fn open_executable(at: c_int, path: &CStr) -> Result<Open, Failed> {
    let found = open(at, path, libc::O_PATH).map_err(|_| Failed::Missing)?;
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    let arguments = [found.fd() as usize, stat.as_mut_ptr().addr(), 0, 0];
    // SAFETY: the kernel writes one stat, which the C library has in the kernel's form.
    let done = unsafe { call(libc::SYS_fstat, arguments) };
    // SAFETY: a zeroed stat is a valid one, as it is made of integers.
    let mode = unsafe { stat.assume_init() }.st_mode;
    if done != 0 || mode & libc::S_IFMT != libc::S_IFREG || mode & 0o111 == 0 {
        return Err(Failed::Missing);
    }
    open(at, path, libc::O_NONBLOCK | libc::O_NOCTTY).map_err(|_| Failed::Unreadable)
}

/// Why a file could not be looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// It is no file that could be executed.
    Missing,
    /// It may be executed, but not read.
    Unreadable,
}

/// Whether nothing is at `path` that could be opened with these flags. A process that has no
/// descriptor left, or may not ask, takes it for there.
pub fn is_absent(path: &CStr, flags: c_int) -> bool {
    let result = open(libc::AT_FDCWD, path, flags);
    matches!(result, Err(libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::ELOOP))
}

/// The file's bytes from `offset` on, as far as there is room.
pub fn read_at(fd: c_int, buffer: &mut [u8], offset: u64) -> &[u8] {
    let arguments = [fd as usize, buffer.as_mut_ptr().addr(), buffer.len(), offset as usize];
    // SAFETY: the kernel writes to the buffer alone.
    let len = unsafe { call(libc::SYS_pread64, arguments) };
    &buffer[..usize::try_from(len).unwrap_or(0)]
}

/// Whether the 8 bytes at `at` can be read: the kernel copies them before it finds that the operation
/// is none.
pub fn can_read(at: usize) -> bool {
    const NO_OPERATION: usize = 77;
    // SAFETY: the kernel checks the address, and changes nothing.
    let result = unsafe { call(libc::SYS_rt_sigprocmask, [NO_OPERATION, at, 0, 8]) };
    result != -(libc::EFAULT as isize)
}
