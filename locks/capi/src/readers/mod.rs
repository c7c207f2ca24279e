//! Locks that tell readers from writers.

pub mod debug_rwsem;
pub mod hybrid_rwlock;
pub mod percpu_rwsem;
pub mod qrwlock;
pub mod rwsem;
pub mod seqlock;
