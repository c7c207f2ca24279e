//! The C library that calls are forwarded to.

pub mod real;
