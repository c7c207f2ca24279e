//! `lockwright meter`: what locks cost. [`model`] reads ledgers of lockmeter; every format, one
//! file each, shows the [`model::MeterReport`] that it makes of them.

pub mod advice;
pub mod compat;
pub mod contention;
pub mod diff;
pub mod folded;
pub mod json;
pub mod openmetrics;
pub mod otlp;
pub mod pprof;
pub mod push;
pub mod text;
pub mod timeline;
pub mod view;
