//! Interposition: the C library's functions that we interpose, and those that annotations call, as
//! the program sees them. [`table`] is the one list of them, a row a function;
//! `stubs.rs` has the code of each kind of row.
//!
//! A wrapper passes the program's own arguments on to the next function of that name. They meet or
//! break its contract exactly as without us, which is what most safety comments here rest on.

pub mod allocate;
mod annotated_object;
pub mod bare_execute;
pub mod bare_fork;
mod barrier;
mod block_size;
pub mod both;
pub mod both_user_locks;
pub mod bounces;
pub mod c11;
mod cond;
mod create;
pub mod ending;
mod engine;
pub mod execute;
pub mod freed;
mod futex;
pub mod guarded;
mod internal;
mod iterate;
mod jump;
pub mod leave;
mod lives;
mod load;
mod mutex;
mod once;
mod rwlock;
mod seccomp;
mod semaphore;
mod sleeping;
mod specific;
mod spin;
#[macro_use]
mod stubs;
pub mod libraries;
mod syscall;
mod table;
mod unload;

pub use self::internal::follow as follow_internal;
pub use self::table::{
    Guarded, choose, choose_every, forward_blocking, target, watch_idling, watch_sleeping,
};
