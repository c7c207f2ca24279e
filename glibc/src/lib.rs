//! The layouts of glibc's objects on x86-64 and 64-bit Arm.
//!
//! POSIX says what a mutex does, not what its bytes are. The preload library reads those bytes to
//! tell whether an object can have been initialised; `check --pid` reads them in another process;
//! `swap` keeps its own state where glibc keeps none. All of them take the offsets from here.
//!
//! The layout follows the process's own glibc, which need not be the one that lockwright was built
//! with: [`Field::at`] takes a [`Version`]. A field that never moved has [`Field::always`], a
//! constant; the day it moves, the code that relied on it no longer compiles.
//!
//! A version says what to expect. Whether the C library that is there does so, its reader checks on
//! an object of its own.

#![cfg_attr(not(test), no_std)]

mod arch;
pub mod library;
pub mod table;
mod version;

pub use table::{Field, Object};
pub use version::Version;
