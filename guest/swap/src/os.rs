//! System calls that leave errno alone, and the clock.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;

use libc::timespec;

/// A system call. Errors are negative numbers; errno is not touched.
pub use crate::arch::system_call as call;

/// All of a futex' bits.
pub const ANY: u32 = u32::MAX;

/// How a wait on a futex has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// Woken, or by a signal.
    Woken,
    /// The word was not what was expected.
    Changed,
    /// The deadline has come.
    TooLate,
}

/// Sleeps while the word is `expected`, to be woken for one of `bits`, until `deadline` of that
/// clock: CLOCK_REALTIME or CLOCK_MONOTONIC.
#[inline]
pub fn futex_wait(
    word: *const AtomicU32,
    expected: u32,
    bits: u32,
    clock: c_int,
    deadline: Option<&timespec>,
) -> Slept {
    let realtime = if clock == libc::CLOCK_REALTIME { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG | realtime;
    let until = deadline.map_or(core::ptr::null(), core::ptr::from_ref);
    let arguments =
        [word.addr(), operation as usize, expected as usize, until.addr(), 0, bits as usize];
    // SAFETY: a live word, and a time or null.
    match unsafe { call(libc::SYS_futex, arguments) } as c_int {
        error if error == -libc::EAGAIN => Slept::Changed,
        error if error == -libc::ETIMEDOUT => Slept::TooLate,
        _ => Slept::Woken,
    }
}

/// Wakes at most `count` threads that wait at the address for one of `bits`. Does not read the
/// word, which may be gone: a thread that is woken by mistake takes it for a spurious wake-up.
#[inline]
pub fn futex_wake(word: *const AtomicU32, count: u32, bits: u32) {
    let operation = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;
    let count = count.min(i32::MAX as u32) as usize;
    // SAFETY: the kernel uses only the address of the word, and takes any.
    unsafe { call(libc::SYS_futex, [word.addr(), operation as usize, count, 0, 0, bits as usize]) };
}

/// Whether there is memory with a `T` at `at`: the kernel, asked for no operation, copies 8 bytes
/// before it refuses.
pub fn can_read<T>(at: *const T) -> bool {
    const NO_OPERATION: usize = c_int::MAX as usize;
    const WORD: usize = 8;
    let is_there = |at: usize| {
        let arguments = [NO_OPERATION, at & !(WORD - 1), 0, WORD, 0, 0];
        // SAFETY: the kernel takes any address, and answers EFAULT where there is no memory.
        unsafe { call(libc::SYS_rt_sigprocmask, arguments) != -(libc::EFAULT as isize) }
    };
    let last = at.addr().saturating_add(size_of::<T>() - 1);
    !at.is_null() && is_there(at.addr()) && is_there(last)
}

/// The id of the calling thread.
pub fn gettid() -> u32 {
    // SAFETY: `gettid` takes no arguments, so no memory of ours is at stake.
    unsafe { call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Lets others run.
pub fn sched_yield() {
    // SAFETY: `sched_yield` takes no arguments, so no memory of ours is at stake.
    unsafe { call(libc::SYS_sched_yield, [0; 6]) };
}

/// Sleeps for a millisecond.
pub fn nap() {
    let time = timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    // SAFETY: the kernel only reads `time`, which lives in this frame; null asks for no rest.
    unsafe { call(libc::SYS_nanosleep, [(&raw const time).addr(), 0, 0, 0, 0, 0]) };
}

/// The time of a clock that is always there.
pub fn clock(clock: c_int) -> timespec {
    let mut time = MaybeUninit::<timespec>::uninit();
    // SAFETY: writes the time; the clocks that this is asked of exist.
    unsafe {
        libc::clock_gettime(clock, time.as_mut_ptr());
        time.assume_init()
    }
}

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn now() -> u64 {
    let time = clock(libc::CLOCK_MONOTONIC);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Asks the kernel to give a forked child these pages zeroed. False: it does not know how (before
/// Linux 4.14), or is an emulator that agrees to any advice and takes none (QEMU 7.2).
pub fn wipe_on_fork<T>(at: &'static T) -> bool {
    const NO_ADVICE: c_int = c_int::MAX;
    let advise = |advice: c_int| {
        let arguments = [core::ptr::from_ref(at).addr(), size_of::<T>(), advice as usize, 0, 0, 0];
        // SAFETY: pages of a static of this library's; only a child of ours will notice.
        unsafe { call(libc::SYS_madvise, arguments) == 0 }
    };
    !advise(NO_ADVICE) && advise(libc::MADV_WIPEONFORK)
}
