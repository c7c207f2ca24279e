//! The data of a fault that are reported.

use super::descr::Descr;
use super::table::{Operation, State};

/// Who did something, where and when. It comes with the event.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Thread, as the host numbers them.
    pub thread: u32,
    /// Stack, as the host numbers them; 0: unknown.
    pub stack: u32,
    /// CLOCK_MONOTONIC, ns; 0: never.
    pub time_ns: u64,
}

/// When something was last done to an object; all 0: never.
pub type Moment = Place;

/// A fault, with the object's history as it was before.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// One of [`object_fault`](lockwright_ledger::rows::object::object_fault).
    pub kind: u8,
    /// What was done.
    pub op: Operation,
    /// What state the object was in.
    pub was: State,
    /// One of [`object_end`](lockwright_ledger::rows::object::object_end): how its memory went.
    pub how: u8,
    /// It was initialised on its thread's stack.
    pub on_stack: bool,
    /// A fixup of the type's has repaired it.
    pub fixed: bool,
    /// The object.
    pub addr: u64,
    /// Its type.
    pub descr: &'static Descr,
    /// Who did it.
    pub here: Place,
    /// When it was initialised. Never: statically, or not at all.
    pub init: Moment,
    /// When it was last activated or deactivated.
    pub active: Moment,
    /// Which of the two.
    pub active_op: Option<Operation>,
    /// When it was destroyed.
    pub destroy: Moment,
    /// The program's own state that it should have been in, and the one that it was in.
    pub expected: (u32, u32),
}
