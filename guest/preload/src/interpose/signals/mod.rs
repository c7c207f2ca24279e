//! Functions that matter in handlers of signals.

pub mod longjmp;
pub mod signal_unsafe;
