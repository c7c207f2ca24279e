//! Forks, counted: a child begins with locks whose waiters are its parent's.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How often this process and its forebears have been forked, as far as `fork` of the C library
/// did it.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Runs before `main`, or while the library that this is in is loaded: registering needs locks of
/// the C library, and memory, that a wait for a lock must not.
#[used]
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = register;

extern "C" fn register() {
    // SAFETY: a function that may run in the child of a fork: it does nothing but count. Where
    // there is no memory for it, forks are not counted.
    unsafe { libc::pthread_atfork(None, None, Some(forked)) };
}

extern "C" fn forked() {
    // Relaxed: the child has one thread.
    GENERATION.fetch_add(1, Relaxed);
}

/// See [`super::Platform::generation`].
#[inline]
pub fn generation() -> u32 {
    // Relaxed: changes where there is one thread.
    GENERATION.load(Relaxed)
}
