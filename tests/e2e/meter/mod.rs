//! lockmeter: programs that know the truth about themselves, and what the tool says of them.

mod bounces;
mod full;
mod inflation;
mod lives;
pub mod run;
mod sizes;
mod stuck;
mod times;
mod ways;
