//! A stack that is large enough, whatever `ulimit -s` the command was started with. The program
//! under test gets the limit as it was.

use std::thread;

/// What the command needs at most: Linux gives a process as much.
const ENOUGH: usize = 8 << 20;

/// Runs `work`: on a thread of its own, if this one's stack may not grow that large.
pub fn run(work: fn() -> !) -> ! {
    if is_enough() {
        work();
    }
    match thread::Builder::new().name("main".to_owned()).stack_size(ENOUGH).spawn(move || work()) {
        // It does not return; a panic has been reported, and Rust's programs end so.
        Ok(thread) => match thread.join() {
            Ok(never) => never,
            Err(_) => std::process::exit(101),
        },
        Err(error) => {
            eprintln!("error: no memory for a stack of {ENOUGH} bytes: {error}");
            eprintln!("help: raise `ulimit -s` to 8192, or `ulimit -v`");
            std::process::exit(crate::error::exit::OWN_FAILURE.into())
        }
    }
}

/// Whether the limit of this thread's stack, which is the process's first, lets it grow so large.
fn is_enough() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: it writes one limit, for which `limit` has room.
    let done = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    done == 0 && limit.rlim_cur >= ENOUGH as u64
}
