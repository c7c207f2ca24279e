//! `lockwright top` and `lockwright ps`: programs that are looked at while they run.

pub mod screen;
pub mod snapshots;
