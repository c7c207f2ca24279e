//! Waits that are left without their call having returned: by cancellation, the end of the thread,
//! or a long jump.

use lockwright_engines::lockdep::ThreadState;
use lockwright_ledger::rows::mode;

use crate::debugobjects::waiters;
use crate::lock_id::python_calls;
use crate::lockdep::{cond, thread};
use crate::lockmeter;
use crate::os::{sys, tls};

/// The calling thread is unwound out of a wrapper, because it was cancelled or ends: what it waited
/// for in there it waits for no more.
#[cfg_attr(test, expect(dead_code, reason = "tests have the standard library's unwinding"))]
pub fn unwound() {
    waiters::unwound();
    lockmeter::unwound();
    // The thread ends: its frames have all been left.
    python_calls::left(u64::MAX);
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return };
    if let Some(wait) = thread.wait_unwound() {
        wait_left(thread, wait);
    }
}

/// The calling thread makes a long jump to the frame at `target`: a wait in a frame below is over,
/// and takes nothing.
pub fn jumped(target: u64) {
    lockmeter::wait_left();
    python_calls::left(target);
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return };
    // Stacks grow down. A handler that interrupts the wait runs below it, or on a stack of its own.
    if thread.wait_frame().is_some_and(|frame| frame < target && !sys::is_on_alternate(target))
        && let Some(wait) = thread.wait_unwound()
    {
        wait_left(thread, wait);
    }
}

/// The calling thread has left a wait without its call having returned.
fn wait_left(thread: &mut ThreadState, (addr, mode): (u64, u16)) {
    match mode {
        _ if mode & mode::COND_WAIT != 0 => cond::left(addr),
        _ if mode & (mode::SEM_WAIT | mode::FUTEX_WAIT) != 0 => {}
        // It is left in a state that nobody can use.
        _ if mode & mode::BARRIER != 0 => {}
        _ if mode & mode::JOIN != 0 => thread::not_joined(addr as u32),
        _ => thread.abandon_waited(),
    }
}
