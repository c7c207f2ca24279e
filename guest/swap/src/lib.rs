//! The library behind `lockwright swap`: it interposes the C library's mutexes, reader-writer
//! locks, spinlocks and condition variables. It runs them on locks of the crate `lockwright`, in
//! the bytes that the program has for them.
//!
//! It is a guest in the program: no allocation, no lock of the C library's, no output, no panic
//! across `extern "C"`, errno as it was. It forwards calls on objects that it cannot replace
//! (robust, priority-inheriting and process-shared ones) to the next definition, and counts them.

#![no_std]

// Its macros are for all; it uses none of the others.
#[macro_use]
mod arch;

// The floors, from the top: each uses those below it only.
mod exports;

mod c11;
mod execute;

mod cancel_type;

mod cond;

mod layout;
mod lock_choice;

mod async_cancel;

mod table;

mod mutex;
mod rwlock;
mod spin;

mod exclusive;

mod cancel;
mod platform;

mod thread_numbers;

mod selection;

mod bad_unlock;
mod counts;
mod deadline;
mod era;
mod next;

mod environment;
mod os;
mod tls;

/// A panic would be a bug, or a lock that the program has written over; it ends the process.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: abort takes no arguments and does not return.
    unsafe { libc::abort() }
}
