//! Locks whose waiters sleep, and the parts that they share.

pub mod bkl;
pub mod completion;
pub mod condvar;
pub mod hybrid_mutex;
pub mod mutex;
pub mod osq;
pub mod owner;
pub mod rtmutex;
pub mod semaphore;
pub mod sleeper;
pub mod swait;
pub mod wait_list;
pub mod wait_lock;
pub mod ww_mutex;
