//! The clocks. The C library's `clock_gettime` reads the page that the kernel shares with every
//! process, without a system call. A program may have a `clock_gettime` of its own, for example to
//! fake times: we do not call that.

use core::ffi::c_int;
use core::mem::transmute;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use libc::{CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME, clockid_t, timespec};

use super::{loader, sys, tls};

type ClockGettime = unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int;

/// The C library's function, 0 if it is not known.
static CLOCK_GETTIME: AtomicUsize = AtomicUsize::new(0);

/// Looks the C library's function up. To be called before the program's main; until then the
/// kernel is asked.
pub fn start() {
    if loader::next_is_c_librarys(c"clock_gettime") {
        CLOCK_GETTIME.store(loader::address(c"clock_gettime", None) as usize, Relaxed);
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
pub fn now_ns() -> u64 {
    read(CLOCK_MONOTONIC)
}

/// CLOCK_MONOTONIC in nanoseconds at the kernel's last tick, some milliseconds ago at most. No counter is read for that.
#[inline(always)]
pub fn last_tick_ns() -> u64 {
    read_now(CLOCK_MONOTONIC_COARSE)
}

/// Another clock in nanoseconds, by the kernel; 0 if there is none.
pub fn of_clock(clock: clockid_t) -> u64 {
    if tls::is_barred() {
        return 0;
    }
    let mut ts = timespec { tv_sec: 0, tv_nsec: 0 };
    sys::clock_gettime(clock, &mut ts);
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

/// What the calling thread has had of a processor, in nanoseconds.
pub fn own_cpu_ns() -> u64 {
    of_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CLOCK_REALTIME in nanoseconds.
pub fn realtime_ns() -> u64 {
    read(CLOCK_REALTIME)
}

#[inline(never)]
fn read(clock: clockid_t) -> u64 {
    read_now(clock)
}

#[inline(always)]
fn read_now(clock: clockid_t) -> u64 {
    // In strict mode the kernel takes the time-stamp counter away, too.
    if tls::is_barred() {
        return 0;
    }
    let mut ts = timespec { tv_sec: 0, tv_nsec: 0 };
    match CLOCK_GETTIME.load(Relaxed) {
        0 => sys::clock_gettime(clock, &mut ts),
        // SAFETY: the function of that name has this type. It writes one timespec, takes no lock
        // and, since there are both clocks, sets no errno.
        function => unsafe {
            transmute::<usize, ClockGettime>(function)(clock, &raw mut ts);
        },
    }
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}
