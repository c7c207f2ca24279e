//! Calls of the methods of CPython's locks that are under way.
//!
//! Up to 3.13.0 such a lock is a semaphore, which CPython tries for first, whatever it does when that fails: the method's arguments
//! tell. Later it is a byte, and makes its waiters wait for semaphores of their own, one for each wait, which are part of the
//! lock and none of the program's: what is done to them by such a call is done to the lock.

use lockwright_ledger::rows::mode;

use crate::callsite::Return;
use crate::os::tls;

/// A call of a method.
#[derive(Clone, Copy)]
pub struct Call {
    /// Address of the lock.
    pub lock: u64,
    /// It is no semaphore.
    pub is_byte: bool,
    /// [`mode::TRY`] if it waits for nothing, [`mode::TIMED`] if its wait ends by itself.
    pub mode: u16,
    /// How many levels of a recursive lock it takes or releases, 0 for all; `None` if the lock is not recursive.
    pub levels: Option<u64>,
    /// Where it returns to.
    pub site: u64,
    /// The way there.
    pub back: Return,
}

impl Call {
    /// It takes the lock at once or not at all.
    pub fn tries(&self) -> bool {
        self.mode & mode::TRY != 0
    }
}

/// Makes the call, which `method` is.
pub fn during<T>(call: &Call, method: impl FnOnce() -> T) -> T {
    let outer = tls::python_call();
    tls::set_python_call(core::ptr::from_ref(call) as u64);
    let result = method();
    tls::set_python_call(outer);
    result
}

/// The calling thread leaves its frames below `target` without a return from their calls.
pub fn left(target: u64) {
    if (1..target).contains(&tls::python_call()) {
        tls::set_python_call(0);
    }
}

/// The innermost call that the calling thread has under way, if it is of a lock that is no semaphore.
pub fn of_byte() -> Option<&'static Call> {
    current().filter(|call| call.is_byte)
}

/// The innermost call that the calling thread has under way.
pub fn current() -> Option<&'static Call> {
    // SAFETY: `during` keeps the call for as long as the word names it, and what is asked for here is used within that time:
    // by a function that the method calls.
    unsafe { (tls::python_call() as *const Call).as_ref() }
}
