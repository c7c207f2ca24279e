//! The annotations for `lockwright check` and `lockwright meter`, if the program runs under them:
//! each lock is one of the program's own, known by its address.

use core::ffi::c_int;

use locks::annotate::{self, Flags, Lock};

use crate::holds::Holds;

/// The tool's handle for the lock at this address.
fn told<'a, T>(lock: *mut T) -> &'a Lock {
    const { assert!(size_of::<Lock>() == 1) };
    // SAFETY: it is one byte, which is there, and touches it never.
    unsafe { &*lock.cast() }
}

/// Makes a free lock of any memory, whose life begins. Returns 0.
///
/// # Safety
/// Memory for a lock, which nobody uses as one.
#[inline(always)]
pub unsafe fn init<C: Holds>(lock: *mut C) -> c_int {
    // SAFETY: by contract `lock` points to memory that nobody uses as a lock; a zeroed lock is a
    // free one.
    unsafe { lock.write_bytes(0, 1) };
    if !annotate::is_off() {
        told(lock).begin();
    }
    0
}

/// The life of the lock is over. Returns 0.
#[inline(always)]
pub fn destroy<T>(lock: *mut T) -> c_int {
    if !annotate::is_off() {
        told(lock).end();
    }
    0
}

/// Takes a lock by `wait`, which waits for it as long as that takes.
#[inline(always)]
pub fn lock_surely<T>(
    lock: *mut T,
    flags: Flags,
    try_lock: impl FnOnce() -> bool,
    wait: impl FnOnce(),
) {
    let wait = || {
        wait();
        true
    };
    self::lock(lock, flags, try_lock, wait);
}

/// Takes a lock by `wait`, which may wait for it; returns what that does: whether it has the lock.
#[inline(always)]
pub fn lock<T>(
    lock: *mut T,
    flags: Flags,
    try_lock: impl FnOnce() -> bool,
    wait: impl FnOnce() -> bool,
) -> bool {
    if annotate::is_off() { wait() } else { watched(told(lock), flags, try_lock, wait) }
}

#[cold]
fn watched(
    told: &Lock,
    flags: Flags,
    try_lock: impl FnOnce() -> bool,
    wait: impl FnOnce() -> bool,
) -> bool {
    told.acquire(flags);
    let taken = try_lock() || {
        told.contended();
        wait()
    };
    if taken {
        told.acquired();
    } else {
        told.abandoned();
    }
    taken
}

/// Takes a lock by `try_lock`, which does not wait; returns what that does.
#[inline(always)]
pub fn try_lock<T>(lock: *mut T, flags: Flags, try_lock: impl FnOnce() -> bool) -> bool {
    let taken = try_lock();
    if !annotate::is_off() {
        let failed = if taken { Flags::EXCLUSIVE } else { Flags::FAILED };
        told(lock).acquire(flags | Flags::TRY | failed);
    }
    taken
}

/// Reports `times` releases of a lock, calls `meanwhile`, which takes the lock again at its end,
/// and only then reports that acquisition. `meanwhile` itself reports nothing.
#[inline(always)]
pub fn give_up<T>(
    lock: *mut T,
    flags: Flags,
    times: u32,
    meanwhile: impl FnOnce() -> bool,
) -> bool {
    if annotate::is_off() { meanwhile() } else { given_up(told(lock), flags, times, meanwhile) }
}

#[cold]
fn given_up(told: &Lock, flags: Flags, times: u32, meanwhile: impl FnOnce() -> bool) -> bool {
    for _ in 0..times {
        told.release();
    }
    let result = meanwhile();
    for _ in 0..times {
        told.acquire(flags);
        told.acquired();
    }
    result
}

/// Reports that the calling thread holds a lock `times` times more than reported before.
#[inline(always)]
pub fn lock_deeper<T>(lock: *mut T, flags: Flags, times: u32) {
    if !annotate::is_off() {
        for _ in 0..times {
            told(lock).acquire(flags);
            told(lock).acquired();
        }
    }
}

/// The writer of a lock is about to be a reader.
#[inline(always)]
pub fn downgrade<T>(lock: *mut T) {
    becomes(lock, Flags::READ);
}

/// A held lock changes its mode, without having been free.
#[inline(always)]
pub fn becomes<T>(lock: *mut T, flags: Flags) {
    if !annotate::is_off() {
        told(lock).release();
        told(lock).acquire(flags | Flags::TRY);
    }
}

/// Waits for another thread by `wait`, which tells whether that has come.
#[inline(always)]
pub fn wait<T>(object: &T, wait: impl FnOnce() -> bool) -> bool {
    if annotate::is_off() {
        return wait();
    }
    annotate::wait_begin(object);
    let come = wait();
    annotate::wait_end(object);
    come
}

/// An event that others may wait for is about to come.
#[inline(always)]
pub fn complete<T>(object: &T) {
    if !annotate::is_off() {
        annotate::complete(object);
    }
}

/// The lock is about to be released.
#[inline(always)]
pub fn release<T>(lock: *mut T) {
    if !annotate::is_off() {
        told(lock).release();
    }
}
