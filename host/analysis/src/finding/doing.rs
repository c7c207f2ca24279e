//! What a thread that others wait for does meanwhile, as the kernel shows it at that moment.

use serde::Serialize;

use super::Frame;

/// What a thread ran for up to the end, without taking or releasing a lock that is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Busy {
    /// CPU time in user mode, ns.
    pub cpu_ns: u64,
    /// The length of the observed time, ns.
    pub of_ns: u64,
    /// The function that it was in each time that it was stopped to look, and the frames around it
    /// that are known; empty if it was in several, or never stopped.
    pub loops_in: Vec<Frame>,
}

/// A call that waits for a descriptor, and has not returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blocked {
    /// Its name: `read`, `epoll_wait`, ...
    pub call: &'static str,
    /// The descriptor.
    pub descriptor: u32,
    /// What that is.
    pub file: File,
    /// The descriptors of the same process that have its other end, in order: only what is done
    /// with one of them ends the call.
    pub other_ends: Vec<u32>,
}

/// What a descriptor is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum File {
    /// A pipe without a name.
    Pipe,
    /// An eventfd: a writer ends a read.
    Eventfd,
    /// A socket.
    Socket,
    /// An epoll instance.
    Epoll,
    /// Anything else.
    Other,
}
