//! Interposition: the functions of the C library that we stand in front of, and those that annotations call, as the
//! program sees them. [`table`] is the one list of them, a row a function; `stubs.rs` has the code of each kind of row.

mod internal;
#[macro_use]
mod stubs;
mod table;

pub use internal::follow as follow_internal;
pub use table::{Guarded, choose, choose_every, forward_blocking, target};
