//! Locks as the kernel sees them: waits for its own, and for futexes of every process.
//!
//! BPF programs in C (`programs/`), built by clang to the objects in `objects/`, add waits up in
//! maps of the kernel. The program `lockwright-bpf` loads them ([`helper`]), and writes what they found
//! as messages, one JSON document a line; the command `lockwright` starts it, reads those, and makes
//! the report. So what needs privileges is a small program of its own, and what fails in it fails
//! there. It is a binary of the command's package, so that one installation brings both.

pub mod messages;

#[cfg(feature = "load")]
pub mod helper;

#[cfg(feature = "load")]
pub mod load;
