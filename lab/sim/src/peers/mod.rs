//! Mutexes of other projects, written from how they behave, to compare the family's with.

mod futex;
mod parking_lot;

pub use futex::{Glibc, Std};
pub use parking_lot::ParkingLot;
