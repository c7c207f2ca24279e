//! What a thread wants of a lock, and how it has it.

/// What a thread wants to do under a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// To have it alone.
    Write,
    /// To share it with readers; without it, where readers only check whether a writer wrote.
    Read,
    /// To share it with readers, and to have it alone then, with no other writer in between.
    Upgrade,
}

/// For how long a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As long as it takes.
    Endless,
    /// Not at all.
    None,
    /// Until this time, in nanoseconds of [`lockwright::platform::Platform::now`].
    Until(u64),
}

impl Patience {
    pub(super) const fn deadline(self) -> Option<u64> {
        match self {
            Self::Until(deadline) => Some(deadline),
            _ => None,
        }
    }
}

/// How a lock is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// For what.
    pub role: Role,
    /// For how long.
    pub patience: Patience,
}

/// How a thread has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Alone.
    Write,
    /// With others that read.
    Read,
    /// With others that read, none of which can upgrade, too.
    Upgradable,
    /// Not at all: it reads, and learns afterwards if the read was invalid.
    Peek,
}

impl Mode {
    /// Whether two threads can have it so.
    pub(super) const fn shares(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Peek, _)
                | (_, Self::Peek)
                | (Self::Read, Self::Read | Self::Upgradable)
                | (Self::Upgradable, Self::Read)
        )
    }
}
