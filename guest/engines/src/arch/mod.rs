//! What depends on the machine: a file for those that have instructions of their own for it, and one for all others, and for
//! Miri, which knows no assembly. Nothing else in this crate names a machine.
//!
//! [`add`] and [`increment`] change numbers that only one thread and its signal handlers write: in one step, so that a handler
//! cannot come between reading and writing, and a reader of the file sees the number old or new.
//!
//! [`is_below`] and [`is_equal`] compare with a word that another thread may write meanwhile. They are what a relaxed atomic
//! load and a comparison are. The compiler makes two instructions of those, since it folds no atomic load into another
//! instruction, and on the fast path each counts.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub use x86_64::{add, increment, is_below, is_equal};

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod other;
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub use other::{add, increment, is_below, is_equal};
