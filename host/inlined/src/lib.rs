//! Finds locks that a compiler has inlined into a program (Rust's `std::sync`, `parking_lot`), and makes the code that watches them:
//! the table that [`lockwright_ledger::inlined`] describes.
//!
//! Such a lock is a compare-and-exchange in the middle of a function, and no library is called as long as it is free. What it has
//! instead is a cold half that is a function with a name, called where the compare-and-exchange has failed. So the way is back: from
//! the calls of these functions ([`calls`]) to the atomic instructions that lead there ([`fast_path`]). Each is a place: its bytes
//! become a call ([`place`]) of code that does what they did, and calls a hook ([`operations`]).
//!
//! The program is not run for that, and its file is only read. Only code for x86-64 is.
//!
//! What has no cold half is not found: tries of std's locks that were inlined, and changes from reader to writer and back. Nor are fast
//! paths whose cold block lies in another part of the function, as tools that reorder linked code leave it.

mod block;
mod calls;
mod counts;
mod error;
#[cfg(test)]
mod execution;
mod fast_path;
mod function;
mod jump_tables;
mod landing_pads;
mod module;
mod names;
mod operations;
mod place;
mod pointers;
mod registers;
mod rejoin;
mod table;
mod unnamed;
mod values;

pub use counts::{Count, Counts, Kind, Reason};
pub use error::Error;
pub use table::{Table, table};
