//! The timeline in formats that others show: ui.perfetto.dev, and profiler.firefox.com.

mod firefox;
mod format;
mod lanes;
mod perfetto;
mod proto;
pub mod words;

pub use format::{TimelineFormat, render};
