//! The structures of CPython, of which both halves of lockwright read the lines of Python that a thread runs.
//!
//! CPython keeps the frames of its functions in a list of its own for each thread. Its headers have the layout of its
//! structures (`cpython/pystate.h`, `cpython/code.h`, `internal/pycore_frame.h`, `internal/pycore_interp.h` of the version;
//! [`Layout::of`] has the offsets). The preload library reads them of the calling thread; `check --pid` reads them in
//! another process. Neither looks at anything of a version that is not in the table.
//!
//! Since 3.13 a process has these offsets in its memory, too. A reader compares them ([`Layout::agrees`]): a build without the
//! global lock, for one, has another layout.

#![cfg_attr(not(test), no_std)]

mod layout;
pub mod lines;
pub mod text;

pub use layout::{
    Code, Frame, HAS_WAITERS, Interpreter, LENGTH, LOCK, LOCKED, Layout, OFFSETS_BYTES, Runtime,
    TYPE, Thread, has_own_locks, has_own_recursive_locks,
};
