//! The C ABI of the lock family: `liblockwright`, declared in `include/lockwright/locks.h`.
//!
//! Each lock is a file, as in the Rust library. Its C type is an opaque struct as large as the
//! lock, and zero is its initial state, but of debug locks. Functions return 0 or an errno value and
//! leave errno itself alone. The header is made from this text (`tests/header.rs`), which cannot look into macros: so
//! every function is written out. Their bodies are written once (`acquire.rs`).

#![allow(non_camel_case_types, reason = "they are C's names")]

mod acquire;
mod bkl;
mod completion;
mod condvar;
mod debug;
mod debug_mutex;
mod debug_rtmutex;
mod debug_rwsem;
mod debug_spinlock;
mod holds;
mod hybrid_condvar;
mod hybrid_mutex;
mod hybrid_rwlock;
mod irq;
mod lock_events;
mod mcs;
mod mutex;
mod percpu_rwsem;
mod pvqspinlock;
mod pvqspinlock_single_steal;
mod pvqspinlock_unfair;
mod qrwlock;
mod qspinlock;
mod result;
mod rtmutex;
mod rwsem;
mod semaphore;
mod seqlock;
mod tas;
mod ticket;
mod tool;
mod ww_mutex;
