//! An operation on an object in the wrong state, as a finding has it. Numbers are
//! the ledger's ([`lockwright_ledger::rows::object`]).

use super::ThreadInfo;

/// What was done to an object that it was not in the state for.
#[derive(Clone, Debug)]
pub struct ObjectFault {
    /// Its type, one of [`lockwright_ledger::rows::object::object_type`] that [`super::object_types`]
    /// knows.
    pub builtin: u32,
    /// What is wrong, one of `object_fault`.
    pub fault: u8,
    /// What was done, one of `object_op`.
    pub op: u8,
    /// The state it was in, one of `object_state`.
    pub was: u8,
    /// How its memory went, one of `object_end`.
    pub how: u8,
    /// The state of the program's own that it should have been in, and the one that it was in, if
    /// that is what is wrong.
    pub states: Option<(u32, u32)>,
    /// Who initialised it.
    pub made: By,
    /// That was in the parent process, and no step of the finding shows it.
    pub made_unshown: bool,
    /// Who destroyed it.
    pub ended: By,
    /// Its user.
    pub in_use: InUse,
    /// A function of the program's has repaired its state.
    pub fixed: bool,
    /// The program's hint at which one it is: a function's name.
    pub hint: Option<String>,
}

/// Who did something to an object before.
#[derive(Clone, Debug)]
pub enum By {
    /// Nobody knows.
    Unknown,
    /// A thread.
    Thread(ThreadInfo),
    /// The parent process before the fork: the thread, if it is known.
    Parent(Option<ThreadInfo>),
}

/// The user of an object.
#[derive(Clone, Debug)]
pub enum InUse {
    /// A thread that is at it at that moment.
    Now(ThreadInfo),
    /// Who brought it into use, which it has been since.
    Since(By),
    /// It is in use.
    Unknown,
}
