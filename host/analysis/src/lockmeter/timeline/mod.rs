//! Waits and holds in time: what each thread waited for and held, and which thread ended its wait.

mod barriers;
mod build;
mod slices;

pub use build::Builder;
pub use slices::{HandOver, Holder, Lock, Place, Ring, Slice, SliceKind, Thread, Timeline};
