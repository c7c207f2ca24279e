//! The cost of locks: [`model`] sums up what ledgers of lockmeter have, [`diff`] compares runs,
//! [`timeline`] has their waits and holds in time, [`what_if`] estimates what a change would bring.

pub mod diff;
pub mod model;
pub mod timeline;
pub mod what_if;
