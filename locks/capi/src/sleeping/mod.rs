//! Locks whose waiters sleep, and waits.

pub mod bkl;
pub mod completion;
pub mod condvar;
pub mod debug_mutex;
pub mod debug_rtmutex;
pub mod hybrid_condvar;
pub mod hybrid_mutex;
pub mod mutex;
pub mod rtmutex;
pub mod semaphore;
pub mod ww_mutex;
