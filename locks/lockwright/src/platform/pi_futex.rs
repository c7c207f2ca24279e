//! A lock for short sections whose holder inherits its waiters' priority from the kernel
//! (FUTEX_LOCK_PI).
//!
//! ```text
//!   word  0 free; else the id of the thread that has it | FUTEX_WAITERS if others sleep
//! ```
//!
//! The id is asked for each time, as that of a thread is another after a fork.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::fence;

use super::Platform;
use super::system_call::quiet;

const FREE: u32 = 0;

/// Takes the lock. Returns the id of the calling thread.
pub(super) fn lock<P: Platform>(word: &AtomicU32) -> u32 {
    // SAFETY: `gettid` takes no arguments and accesses no memory of ours.
    let me = quiet(|| unsafe { libc::syscall(libc::SYS_gettid) }).unwrap_or_default() as u32;
    let mut rounds = 0;
    // Acquire: pairs with the Release in `unlock`.
    while word.compare_exchange(FREE, me, Acquire, Relaxed).is_err() {
        // Relaxed: a look.
        while word.load(Relaxed) & libc::FUTEX_WAITERS == 0 && !P::need_resched(rounds) {
            if word.load(Relaxed) == FREE {
                break;
            }
            rounds += 1;
            P::relax();
        }
        // Relaxed: a look.
        if word.load(Relaxed) == FREE {
            continue;
        }
        match call(word, libc::FUTEX_LOCK_PI) {
            Ok(_) => {
                // The kernel has written our id into the word, which says the same as the exchange
                // would. Acquire: pairs with the Release in `unlock`.
                fence(Acquire);
                return me;
            }
            // The holder is about to change the word.
            Err(libc::EAGAIN | libc::EINTR) => {}
            // The kernel has no such futexes (ENOSYS): nobody inherits anything.
            Err(_) => P::yield_now(),
        }
    }
    me
}

/// Releases the lock of the thread `me`.
///
/// # Safety
/// That is the calling thread, and has it.
pub(super) unsafe fn unlock(word: *const AtomicU32, me: u32) {
    // SAFETY: held, hence there; the reference ends with the exchange.
    // Release: pairs with the Acquires in `lock`.
    if unsafe { &*word }.compare_exchange(me, FREE, Release, Relaxed).is_err() {
        // Release: as above, for the waiter that the kernel makes the owner.
        fence(Release);
        // It cannot fail: the word has our id, and nobody else changes that.
        let _ = call(word, libc::FUTEX_UNLOCK_PI);
    }
}

fn call(word: *const AtomicU32, operation: libc::c_int) -> Result<libc::c_long, libc::c_int> {
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    let no_deadline = core::ptr::null::<libc::timespec>();
    // SAFETY: a live word, as our caller has the lock or is to wait for it.
    quiet(|| unsafe { libc::syscall(libc::SYS_futex, word, operation, 0, no_deadline) })
}

#[cfg(test)]
mod tests {
    use core::cell::UnsafeCell;

    use super::*;
    use crate::platform::linux::Linux;

    struct Counted(AtomicU32, UnsafeCell<u32>);

    // SAFETY: the count is reached under the lock only.
    unsafe impl Sync for Counted {}

    #[test]
    fn threads_exclude_each_other() {
        const ROUNDS: u32 = 5000;
        let shared = Counted(AtomicU32::new(FREE), UnsafeCell::new(0));
        let work = |shared: &Counted| {
            for round in 0..ROUNDS {
                let me = lock::<Linux>(&shared.0);
                // SAFETY: this thread holds the lock in `shared.0`, under which alone the threads
                // access the count.
                unsafe { *shared.1.get() += 1 };
                if round % 64 == 0 {
                    // Others come to sleep.
                    Linux::yield_now();
                }
                // SAFETY: `lock` above took the word for this thread and returned `me`.
                unsafe { unlock(&raw const shared.0, me) };
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| work(&shared));
            }
        });
        assert_eq!(shared.1.into_inner(), 4 * ROUNDS);
        assert_eq!(shared.0.into_inner(), FREE);
    }
}
