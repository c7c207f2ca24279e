//! A lock that a finding is about.

/// A lock that a finding speaks of: instance 0 means any of the class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockRef {
    /// Class row.
    pub class: u32,
    /// Instance, or 0.
    pub inst: u32,
    /// Row of the instance, or 0 where it is to be looked up.
    pub row: u32,
}
