//! `--push`: profiles to servers that take them, refuse them, are away or lie.

pub mod admission;
pub mod faults;
pub mod keys;
pub mod later;
pub mod profiles;
pub mod program;
pub mod server;
pub mod shapes;
pub mod tls;
