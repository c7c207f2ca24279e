//! What depends on the machine: a file for each, of which all have the same parts, most of them the preload library's. Nothing
//! else in this library names a machine, a register of one, or its instructions.
//!
//! Code of functions that are assembly is here, too, as macros: `code!` has what a function does, and the function itself
//! stays where it is used.

#[cfg(target_arch = "x86_64")]
#[macro_use]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(target_arch = "aarch64")]
#[macro_use]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("lockwright's swap library does not know this machine");
