//! loom models of the locks, one file a lock, and the proof that they notice faults.

mod exclusion;
mod mutant;
mod mutants;
mod sharing;
mod stores;
mod world;

mod biased_rwlock;
mod bkl;
mod completion;
mod condvar;
mod debug;
mod hybrid_mutex;
mod hybrid_rwlock;
mod k42;
mod mcs;
mod mutex;
mod osq;
mod percpu_rwsem;
mod preference_rwlock;
mod pvqspinlock;
mod qrwlock;
mod qspinlock;
mod rtmutex;
mod rwsem;
mod semaphore;
mod seqlock;
mod tas;
mod ticket;
mod ww_mutex;
