//! An operation on an object.

use super::descr::Descr;
use super::fault::Place;
use super::table::Operation;

/// See the module.
#[derive(Clone, Copy)]
pub struct Act {
    /// The object's type.
    pub descr: &'static Descr,
    /// The object.
    pub addr: u64,
    /// What is done to it.
    pub op: Operation,
    /// The thread and the place of the operation.
    pub place: Place,
    /// The fingerprint of the object's bytes as they are; 0 if the type's rules need none.
    pub fingerprint: u64,
    /// `ActiveState`: the program's own state as it should be, and as it is to be.
    pub counts: (u32, u32),
}
