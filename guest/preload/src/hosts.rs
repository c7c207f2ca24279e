//! The engines' hosts: what the module of each engine does when the process, or one of its
//! threads, begins, forks or ends. The table is in `init.rs`, which alone knows all modules.

use lockwright_ledger::Header;

use crate::os::upcall::Upcall;

/// Whether a thread has ended, by its kernel thread id, and whether it is the calling one.
pub type HasEnded<'a> = &'a dyn Fn(u32, bool) -> bool;

/// The part of one module.
pub struct Host {
    /// The engine, as the ledger's header has it.
    pub engine: u32,
    /// It was asked for.
    pub is_wanted: fn() -> bool,
    /// A ledger begins: at start, or in a forked child. No other thread is in the room.
    pub start: fn(&'static Header),
    /// The process begins to be watched, by the calling thread.
    pub attach: fn(),
    /// In a forked child, whose only thread calls: what there is is the parent's.
    pub forked: fn(),
    /// The calling thread ends.
    pub thread_ended: fn(),
    /// Threads have ended without notice. One caller at a time.
    pub threads_gone: fn(HasEnded<'_>),
    /// The process ends.
    pub finish: fn(),
}

/// All of them.
pub type Hosts = &'static [Host; 3];

/// Known from the constructor on.
pub static HOSTS: Upcall<Hosts> = Upcall::none();

/// Has all rooms do their part.
pub fn each(part: impl FnMut(&'static Host)) {
    HOSTS.get().into_iter().flatten().for_each(part);
}

/// As [`each`], from the last to the first: for what ends in the reverse of the order that it began
/// in.
pub fn each_backwards(part: impl FnMut(&'static Host)) {
    HOSTS.get().into_iter().flatten().rev().for_each(part);
}

/// For a part that a room does not have.
pub fn nothing() {}
