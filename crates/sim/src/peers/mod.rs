//! Mutexes of others, written from how they behave, beside which the family's are simulated.

mod futex;
mod parking_lot;

pub use futex::{Glibc, Std};
pub use parking_lot::ParkingLot;
