//! The preload library: the only part of lockwright that runs in a foreign process, as a guest.
//!
//! No allocation (memory comes from the ledger), no libc lock, no output, no panic across
//! `extern "C"`, errno untouched. A wrapper tells, calls, tells; what it tells goes to the engine.
//! Where anything is unsure, the call is forwarded and nothing is said.

#![cfg_attr(not(test), no_std)]

#[macro_use]
mod arch;

// The floors, from the top: each uses those below it only.
mod init;

mod interpose;

mod debugobjects;
mod lockdep;
mod lockmeter;

mod process;
mod threads;

mod callsite;
mod futex;
mod hosts;
mod layouts;
mod lock_id;
mod recorder;
mod stack;
mod steering;

mod libc;
mod os;

/// A panic would be a bug; the guest's answer to it is to stop the process no later than it must.
/// (Everything here is written so that none can be reached; profiles abort on panic.)
#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: abort takes no arguments and does not return.
    unsafe { ::libc::abort() }
}
