//! Signals: handlers, masks, and waits that change the mask.

pub mod open_signals;
pub mod signal;
pub mod signal_sysv;
pub mod signal_wait;
