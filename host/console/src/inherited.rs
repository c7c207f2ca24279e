//! What this process inherited from its parent, as it was before Rust's runtime and lockwright
//! itself changed it. The runtime ignores SIGPIPE and opens closed standard streams. lockwright
//! ignores SIGXFSZ, to get an error for a file that grows too large instead of dying. The program
//! must get the original.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Signals that this process ignores, and whether it was to begin with.
static IGNORED: [(i32, AtomicBool); 2] =
    [(libc::SIGPIPE, AtomicBool::new(false)), (libc::SIGXFSZ, AtomicBool::new(false))];
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Runs before Rust's runtime.
#[used]
// SAFETY: the loader calls what stands in this section with C's calling convention.
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = {
    extern "C" fn note() {
        for (fd, closed) in (0..).zip(&CLOSED) {
            // SAFETY: asks for flags only, of a descriptor that may be closed.
            closed.store(unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1, Relaxed);
        }
        for (signal, ignored) in &IGNORED {
            let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: asks for the disposition only.
            let known =
                unsafe { libc::sigaction(*signal, std::ptr::null(), action.as_mut_ptr()) } == 0;
            // SAFETY: zeroed is a valid sigaction, and the call filled it in.
            let handler = unsafe { action.assume_init() }.sa_sigaction;
            ignored.store(known && handler == libc::SIG_IGN, Relaxed);
        }
    }
    note
};

/// From here on a file that would grow larger than it may is an error. The runtime has done so for
/// SIGPIPE.
pub fn ignore_signals() {
    for (signal, _) in &IGNORED {
        // SAFETY: a disposition without a handler.
        unsafe { libc::signal(*signal, libc::SIG_IGN) };
    }
}

/// Gives the calling process, a child about to exec, what this one was given. Async-signal-safe.
///
/// # Errors
/// None in practice: the signature is the one that `pre_exec` wants.
pub fn restore() -> io::Result<()> {
    for (signal, ignored) in &IGNORED {
        let handler = if ignored.load(Relaxed) { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: a disposition without a handler.
        unsafe { libc::signal(*signal, handler) };
    }
    for (fd, closed) in (0..).zip(&CLOSED) {
        if closed.load(Relaxed) {
            // SAFETY: in the child about to exec, nobody uses the stand-in that the runtime opened.
            unsafe { libc::close(fd) };
        }
    }
    Ok(())
}
