//! Programs that are looked at while they run: `lockwright top`, `lockwright ps`, `--listen`.

pub mod listen;
pub mod screen;
pub mod snapshots;
