//! The services of the kernel and the loader that a guest needs, without the C library.

pub mod deadline;
pub mod digits;
pub mod mapping;
pub mod readable;
pub mod sys;
pub mod time;
pub mod timers;
pub mod tls;
pub mod upcall;

pub use lockwright_exec::loader;
