//! Interposition: the C library's functions that we interpose, and those that annotations call, as
//! the program sees them. [`table`] is the one list of them, a row a function;
//! `stubs.rs` has the code of each kind of row.
//!
//! A wrapper passes the program's own arguments on to the next function of that name. They meet or
//! break its contract exactly as without us, which is what most safety comments here rest on.

#[cfg_attr(target_arch = "aarch64", path = "not_inlined.rs")]
pub mod inlined;
mod loading;
mod locks;
mod memory;
mod process;
#[macro_use]
mod signals;
mod syscalls;
#[macro_use]
mod stubs;
pub mod libraries;
pub mod python;
mod table;

use self::loading::{dl_iterate_phdr, dlclose, dlopen};
pub use self::locks::{abandoned_waits, both_engines, both_user_locks, bounces, c11, steered};
use self::locks::{
    annotated_object, barrier, cond, engine, internal_names, lifetimes, metered_semaphore, mutex,
    once, rwlock, semaphore, spin,
};
pub use self::memory::{allocation, freed_memory};
use self::memory::{block_size, locks_within};
pub use self::process::{bare_execute, bare_fork, execute, process_exit};
use self::process::{pthread_cancel, pthread_create, thread_keys};
pub use self::signals::signal_unsafe;
use self::signals::{guarded, longjmp};
use self::syscalls::{children, futex, may_sleep, seccomp, syscall};
pub use self::table::{
    choose, choose_every, follow as follow_internal, forward_blocking, forward_c11, target,
    watch_idling, watch_sleeping,
};
