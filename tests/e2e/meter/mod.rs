//! lockmeter: programs that know the truth about themselves, and what the tool says of them.

mod inflation;
mod lives;
mod run;
mod times;
mod ways;
