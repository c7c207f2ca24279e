//! Lock events: what the slow paths of all locks of this library do, under the kernel's names.

use core::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

use locks::event::{Event, Events};
use locks::platform::Platform;
use locks::platform::linux::Linux;

/// Whether this library was built to count.
const COUNTS: bool = <Linux as Platform>::COUNTS;

/// Writes the kernel's table of lock events to a file descriptor, a line for each: its name, and
/// its count since the start or the last `lw_lock_events_reset`, or the average that the kernel
/// shows. With `LOCKWRIGHT_EVENTS=FILE` in its environment a program does so at its exit. Returns
/// 0, ENOTSUP if the library was built without the feature `lock_events`, or why it could not be
/// written.
#[unsafe(no_mangle)]
pub extern "C" fn lw_lock_events_write(fd: c_int) -> c_int {
    if !COUNTS {
        return libc::ENOTSUP;
    }
    if fd < 0 {
        return libc::EBADF;
    }
    // SAFETY: this thread's, for as long as it runs.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: `errno` is this thread's own, and nobody else has a reference to it.
    let before = unsafe { *errno };
    // SAFETY: our caller's descriptor, which stays open.
    let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    let written = file.write_all(Events::of::<Linux>().to_string().as_bytes());
    // SAFETY: `errno` is this thread's own, and nobody else has a reference to it.
    unsafe { *errno = before };
    written.map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0)
}

/// Tells how often the event of this name was counted, `pv_lock_stealing` for example; latencies
/// are sums, in nanoseconds. Returns 0, EINVAL if there is no such event, or ENOTSUP if the library
/// was built without the feature `lock_events`.
///
/// # Safety
/// A string, and a place for the count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lw_lock_event_count(name: *const c_char, count: *mut u64) -> c_int {
    if !COUNTS {
        return libc::ENOTSUP;
    }
    // SAFETY: `name` points to a C string that lives during the call, as locks.h requires.
    let name = unsafe { CStr::from_ptr(name) };
    let Some(event) = Event::ALL.iter().find(|event| event.name().as_bytes() == name.to_bytes())
    else {
        return libc::EINVAL;
    };
    // SAFETY: `count` points to memory for the count, as locks.h requires.
    unsafe { count.write(Events::of::<Linux>().get(*event) as u64) };
    0
}

/// Lets counting begin at 0 again, as the kernel's file `.reset_counts` does. Counts of other
/// threads during the call may stay, or get lost. Returns 0, or ENOTSUP if the library was built
/// without the feature `lock_events`.
#[unsafe(no_mangle)]
pub extern "C" fn lw_lock_events_reset() -> c_int {
    if !COUNTS {
        return libc::ENOTSUP;
    }
    Events::reset::<Linux>();
    0
}
