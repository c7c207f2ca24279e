//! What this process was given by whoever started it, as it was before Rust's runtime changed it: the
//! runtime ignores SIGPIPE and opens closed standard streams. The program must get the original.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);
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
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks for the disposition only.
        let known =
            unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), action.as_mut_ptr()) } == 0;
        // SAFETY: zeroed is a valid sigaction, and the call filled it in.
        let handler = unsafe { action.assume_init() }.sa_sigaction;
        SIGPIPE_IGNORED.store(known && handler == libc::SIG_IGN, Relaxed);
    }
    note
};

/// Gives the calling process, a child about to exec, what this one was given. Async-signal-safe.
///
/// # Errors
/// None in practice: the signature is the one that `pre_exec` wants.
pub fn restore() -> io::Result<()> {
    if SIGPIPE_IGNORED.load(Relaxed) {
        // SAFETY: a disposition without a handler.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
    for (fd, closed) in (0..).zip(&CLOSED) {
        if closed.load(Relaxed) {
            // SAFETY: in the child about to exec, nobody uses the stand-in that the runtime opened.
            unsafe { libc::close(fd) };
        }
    }
    Ok(())
}
