//! Records in the run's directory, one file for each sort: what the command is to know of processes
//! that leave no ledger. They are appended to a file that the command has made, if it wants them;
//! each ends with a NUL. That file is its user's alone. Processes that have become another user's
//! append to one of their own next to it, in a directory in which they can make some: so nobody
//! writes into another user's. Each record begins with what the command has given to the processes
//! of its run, and a blank.
//!
//! Where the directory is hidden, records are kept in the ledger that the process has mapped: its
//! own, or that of its parent.

use core::ffi::CStr;

use super::run_dir;
use crate::os::digits::Digits;
use crate::os::{mapping, sys};

/// What the limit of file sizes must leave for a record: its own length many times over.
const ROOM: u64 = 1 << 20;

/// Room for the name of a record's file, with the user's id.
const MOST_NAME: usize = 32;

/// Appends the `parts` of one record to the file `name`, if that is there, or keeps them in the
/// ledger if it `is_hidden`. Uses nothing but the calling thread's stack: a vforked child may call
/// it.
pub fn append_or_keep<const N: usize>(name: &CStr, parts: [&[u8]; N], is_hidden: bool) {
    if !is_hidden {
        append(name, parts);
    } else if let Some(header) = mapping::file_header() {
        header.keep_record(&parts);
    }
}

/// Appends the `parts` of one record to the file `name`, if that is there.
pub fn append<const N: usize>(name: &CStr, parts: [&[u8]; N]) {
    let Some(fd) = open(name) else { return };
    // A write beyond the limit would be a signal for the program. Others may add theirs meanwhile.
    let len = sys::length(fd).saturating_add(ROOM);
    if len <= sys::limit(libc::RLIMIT_FSIZE) {
        // In one piece: others write there, too.
        sys::writev(fd, [run_dir::id(), b" "], parts);
    }
    sys::close(fd);
}

/// The file of records `name` that the process may append to.
fn open(name: &CStr) -> Option<isize> {
    let (directory, name) = (run_dir::directory(), name.to_bytes());
    let mut path = [0; run_dir::MOST_DIRECTORY + MOST_NAME];
    let end = directory.len() + 1 + name.len();
    if directory.is_empty() || name.len() > MOST_NAME / 2 {
        return None;
    }
    path[..directory.len()].copy_from_slice(directory);
    path[directory.len()] = b'/';
    path[directory.len() + 1..end].copy_from_slice(name);
    // SAFETY: NUL terminated, as what follows is zeros.
    let fd = unsafe { sys::open_append(path.as_ptr(), 0) };
    if fd != -(libc::EACCES as isize) {
        return (fd >= 0).then_some(fd);
    }
    let user = sys::effective_user();
    let digits = Digits::of(user.into());
    path[end] = b'-';
    path[end + 1..][..digits.as_bytes().len()].copy_from_slice(digits.as_bytes());
    // SAFETY: the name has room for the longest number, so the path still ends with a NUL.
    let fd = unsafe { sys::open_append(path.as_ptr(), libc::O_CREAT) };
    if fd < 0 {
        return None;
    }
    // Somebody else may have made it, to read there what records begin with.
    let is_own = sys::owner_of_regular(fd) == Some(user);
    if !is_own {
        sys::close(fd);
    }
    is_own.then_some(fd)
}
