//! System calls that leave errno as it was.

/// A system call, its error returned and errno left as it was: a lock is taken between a failed
/// call and the look at errno as well.
pub fn quiet(call: impl FnOnce() -> libc::c_long) -> Result<libc::c_long, libc::c_int> {
    // SAFETY: this thread's, for as long as it runs.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: `errno` is this thread's own, which no other thread accesses.
    let before = unsafe { *errno };
    match call() {
        // SAFETY: `errno` is this thread's own, which no other thread accesses.
        -1 => Err(unsafe { core::mem::replace(&mut *errno, before) }),
        result => Ok(result),
    }
}
