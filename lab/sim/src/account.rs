//! Where time goes: of each thread, and of each place in memory.

use serde::Serialize;

use crate::time::Time;

/// What an access to memory was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(usize)]
pub enum Class {
    /// The core has the line.
    Hit,
    /// The sibling thread has written to it last.
    Sibling,
    /// From a core below the same last-level cache.
    Complex,
    /// From another part of the socket.
    Socket,
    /// From another socket.
    Cross,
    /// From memory.
    Memory,
    /// The core has a copy; others had to give theirs up.
    Upgrade,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Hit,
        Self::Sibling,
        Self::Complex,
        Self::Socket,
        Self::Cross,
        Self::Memory,
        Self::Upgrade,
    ];

    /// What a line does in it.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Hit => "is in the cache of who asks",
            Self::Sibling => "goes between threads of a core",
            Self::Complex => "goes between cores below one last-level cache",
            Self::Socket => "goes between parts of a socket",
            Self::Cross => "goes between sockets",
            Self::Memory => "comes from memory",
            Self::Upgrade => "is taken from those who share it",
        }
    }
}

/// The traffic of a place in memory.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Place {
    /// What lies there.
    pub name: String,
    /// Accesses of each class, in [`Class::ALL`]'s order.
    pub count: [u64; Class::ALL.len()],
    /// What they took, without waiting, in picoseconds.
    pub time: [Time; Class::ALL.len()],
    /// Waiting for others' accesses to the same line, in picoseconds.
    pub wait: Time,
}

impl Place {
    /// The time of all accesses except hits, with waiting.
    pub fn traffic(&self) -> Time {
        self.time[1..].iter().sum::<Time>() + self.wait
    }
}

/// What a thread's time goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Spent {
    /// Instructions, and accesses that hit.
    Computing,
    /// Getting lines, and waiting for them.
    Memory,
    /// PAUSE.
    Pausing,
    /// The kernel's and the hypervisor's work.
    System,
    /// It could run, but others do.
    Preempted,
    /// It sleeps or has halted.
    Asleep,
}

/// How long a thread did what, in picoseconds, in the order of [`Spent`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskTimes(pub(crate) [Time; 6]);

impl TaskTimes {
    pub(crate) const fn add(&mut self, what: Spent, time: Time) {
        self.0[what as usize] += time;
    }

    /// How long it did this.
    pub const fn of(&self, what: Spent) -> Time {
        self.0[what as usize]
    }

    /// All of it.
    pub fn total(&self) -> Time {
        self.0.iter().sum()
    }
}
