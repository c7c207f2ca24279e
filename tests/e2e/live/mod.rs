//! Programs that are looked at while they run: `lockwright top`, `lockwright ps`, `--listen`.

pub mod counted;
pub mod listen;
mod screen;
pub mod snapshots;
