//! `lockwright meter`: what locks cost. [`model`] reads ledgers of lockmeter; every format shows the
//! [`model::MeterReport`] that it makes of them.

pub mod model;
pub mod text;
pub mod view;
