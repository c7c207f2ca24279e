//! Records in the run's directory, one file for each sort: what the command is to know of processes that leave no
//! ledger. They are appended to a file that the command has made, if it wants them; each ends with a NUL.

use core::ffi::CStr;

use crate::{init, sys};

/// What the limit of file sizes must leave for a record: its own length many times over.
const ROOM: u64 = 1 << 20;

/// Room for the name of a record's file.
const MOST_NAME: usize = 16;

/// Appends the `parts` of one record to the file `name`, if that is there. Uses nothing but the calling thread's stack:
/// a vforked child may call it.
pub fn append<const N: usize>(name: &CStr, parts: [&[u8]; N]) {
    let directory = init::directory();
    let name = name.to_bytes_with_nul();
    let mut path = [0; init::MOST_DIRECTORY + MOST_NAME];
    if directory.is_empty() || name.len() >= MOST_NAME {
        return;
    }
    path[..directory.len()].copy_from_slice(directory);
    path[directory.len()] = b'/';
    path[directory.len() + 1..][..name.len()].copy_from_slice(name);
    // SAFETY: NUL terminated.
    let fd = unsafe { sys::open_append(path.as_ptr()) };
    if fd < 0 {
        return;
    }
    // A write beyond the limit would be a signal for the program. Others may add theirs meanwhile.
    let len = sys::length(fd).saturating_add(ROOM);
    if len <= sys::limit(libc::RLIMIT_FSIZE) {
        // In one piece: others write there, too.
        sys::writev(fd, parts);
    }
    sys::close(fd);
}
