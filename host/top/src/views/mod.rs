//! The views, a file each. Each draws what the board says into an area.

pub mod findings;
pub mod help;
pub mod lock;
pub mod locks;
pub mod output;
pub mod page;
pub mod thread;
pub mod threads;
pub mod waits;
