//! The lives of locks and other objects.

pub mod allocations;
pub mod births;
pub mod ends;
pub mod initialised_twice;
pub mod object_types;
pub mod objects;
pub mod own_objects;
