//! The process and its threads: forks, executed programs, the exit, new threads and their keys.

pub mod bare_execute;
pub mod bare_fork;
pub mod execute;
pub mod process_exit;
pub mod pthread_cancel;
pub mod pthread_create;
pub mod thread_keys;
