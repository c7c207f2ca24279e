//! What depends on the machine that this runs on: a file for each, of which all have the same. Nothing else in this crate names
//! that machine; what a ledger is of may be another.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(target_arch = "aarch64")]
#[allow(non_upper_case_globals, reason = "named as the calls are")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("unknown-machine");
