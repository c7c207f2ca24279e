//! What depends on the machine: a file for those that have instructions of their own for it, and one for all others. Nothing
//! else in this crate names a machine.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(not(target_arch = "x86_64"))]
mod other;
#[cfg(not(target_arch = "x86_64"))]
pub use other::*;
