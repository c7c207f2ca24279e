//! Reads of memory that may not be there: the kernel copies, and answers if there is nothing.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::os::sys;

/// The process has a filter of system calls, which may end it for one that it does not make itself.
/// Relaxed: it says nothing of other memory, and is set before the filter is there.
static IS_FILTERED: AtomicBool = AtomicBool::new(false);

/// The process is about to get a filter of system calls.
pub fn filtered() {
    IS_FILTERED.store(true, Relaxed);
}

/// The kernel is not to be asked.
pub fn is_filtered() -> bool {
    IS_FILTERED.load(Relaxed)
}

/// Fills `into` with what is at `at`; false if that is not there, or the kernel is not to be asked.
pub fn copy(at: u64, into: &mut [u8]) -> bool {
    !is_filtered() && sys::copy_of(sys::gettid(), at, into) == into.len() as isize
}
