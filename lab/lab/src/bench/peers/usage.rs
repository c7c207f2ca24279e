//! The kernel's counters of a thread.

use std::mem::MaybeUninit;

/// How often the calling thread was switched from since its start: as it slept or yielded, and as
/// others had to run.
pub fn switches() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: writes the usage; of the calling thread there always is one.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: zeros are a usage, too.
    let usage = unsafe { usage.assume_init() };
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}
