//! Threads that work while the program runs, which is to notice nothing.

use std::time::Duration;

/// Their stack, bytes: as that of the command's own thread (`own_stack`).
pub const STACK: usize = 8 << 20;

/// Has the scheduler prefer all other threads to this one.
pub fn yield_to_others() {
    /// A tenth of the share of a processor that other threads get, which is more than the looks take (`live/budget.rs`).
    const NICE: i32 = 10;
    // SAFETY: it sets a number of this thread, which Linux knows by 0.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}

/// CPU time of this thread.
pub fn cpu_time() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes one timespec, for which `now` has room.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
