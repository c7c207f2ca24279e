//! Findings about signals of condition variables, and waits that are not over.

pub(crate) mod futex_waits;
pub(crate) mod lost_wakeups;
pub(crate) mod taken_signals;
pub(crate) mod unfinished_waits;
