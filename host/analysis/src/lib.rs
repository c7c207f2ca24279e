//! The meaning of ledgers: from their rows to findings and measurements, which are data for
//! `lockwright-report` to put in words.

mod across;
pub mod all_symbols;
mod analyse;
pub mod arch;
pub mod attached;
pub mod class_ops;
pub mod completeness;
pub mod debugobjects;
pub mod dependencies;
mod finders;
pub mod finding;
pub mod lockdep;
pub mod lockmeter;
pub mod merge;
pub mod model;
mod named;
pub mod process_end;
pub mod progress;
pub mod reach;
mod recording;
pub mod signal;
pub mod symbolize;
pub mod traced;
pub mod under_way;
pub(crate) mod view;

pub use analyse::{analyse, analyse_with, waiting_now};
pub use recording::Recording;
