//! The threads that lockdep watches.

pub mod attached_threads;
pub mod thread;
