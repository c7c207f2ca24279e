//! From ledgers to what a meter report shows.

mod histogram;
mod numbers;
mod report;

pub use histogram::Histogram;
pub use numbers::{Numbers, Times};
pub use report::{
    At, Blame, Clock, Cost, Holds, Instance, Lock, MeterReport, Mode, Nested, Process, Readers,
    Site, Wait, WaitKind,
};
