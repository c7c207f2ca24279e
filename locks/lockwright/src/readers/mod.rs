//! Locks that tell readers from writers.

pub mod biased_rwlock;
pub mod hybrid_rwlock;
pub mod percpu_rwsem;
pub mod preference_rwlock;
pub mod qrwlock;
pub mod rwsem;
pub mod seqlock;
pub mod visible_readers;
