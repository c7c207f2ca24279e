//! The C ABI of the lock family: `liblockwright`, declared in `include/lockwright/locks.h`.
//!
//! Each lock is a file, in folders as in the Rust library. Its C type is an opaque struct as large as the
//! lock, and zero is its initial state, but of debug locks. Functions return 0 or an errno value and
//! leave errno itself alone. The header is made from this text (`tests/header.rs`), which cannot look into macros: so
//! every function is written out. Their bodies are written once (`acquire.rs`).

#![allow(non_camel_case_types, reason = "they are C's names")]

mod acquire;
mod debug;
mod holds;
mod irq;
mod lock_events;
mod readers;
mod result;
mod sleeping;
mod spinning;
mod tool;
