//! lockmeter: programs that know the truth about themselves, and the tool's figures for them.

mod bounces;
mod by_thread;
mod conditions;
mod full;
mod holders;
mod inflation;
mod kernel_tables;
mod lives;
mod names;
pub mod run;
mod sizes;
mod stuck;
mod timeline;
mod times;
mod ways;
mod what_if;
