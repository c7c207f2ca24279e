//! Functions that matter in handlers of signals.

#[macro_use]
pub mod guarded;
pub mod longjmp;
pub mod signal_unsafe;
