//! The kinds of locks and other objects in a report.

use std::fmt;

use lockwright_ledger::rows::lock_kind;
use serde::{Serialize, Serializer};

use super::object_types;
use crate::named::named;

named! {
/// What a lock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum LockKind {
    /// An ordinary mutex.
    Mutex = "mutex",
    /// One that its owner may take again.
    RecursiveMutex = "recursive mutex",
    /// One that refuses that with EDEADLK.
    ErrorCheckMutex = "error-checking mutex",
    /// A lock for many readers or one writer.
    Rwlock = "rwlock",
    /// One whose readers wait behind a waiting writer.
    WriterPreferringRwlock = "writer-preferring rwlock",
    /// A spinlock.
    Spinlock = "spinlock",
    /// A context that is entered: no lock.
    ResourceContext = "resource context",
    /// A completion.
    Completion = "completion",
    /// A semaphore that counts as a lock.
    Semaphore = "semaphore",
    /// A semaphore that begins above 1.
    Counting = "counting semaphore",
    /// A mutex, a condition variable and a flag that a program or a library uses as a lock.
    Monitor = "monitor",
    /// The control of pthread_once, which is held while its routine runs.
    Once = "once control",
    /// A kind that only a newer lockwright knows.
    Other = "lock",
}
}

impl LockKind {
    /// That of a row, one of [`lock_kind`].
    pub fn of(kind: u8) -> Self {
        match kind {
            lock_kind::MUTEX => Self::Mutex,
            lock_kind::RECURSIVE => Self::RecursiveMutex,
            lock_kind::ERRORCHECK => Self::ErrorCheckMutex,
            lock_kind::RWLOCK => Self::Rwlock,
            lock_kind::RWLOCK_WRITER => Self::WriterPreferringRwlock,
            lock_kind::SPIN => Self::Spinlock,
            lock_kind::RESOURCE => Self::ResourceContext,
            lock_kind::COMPLETION => Self::Completion,
            lock_kind::SEMAPHORE => Self::Semaphore,
            lock_kind::COUNTING => Self::Counting,
            lock_kind::MONITOR => Self::Monitor,
            lock_kind::ONCE => Self::Once,
            _ => Self::Other,
        }
    }
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A lock.
    Lock(LockKind),
    /// An object of the C library's: the number of its type, one of
    /// [`lockwright_ledger::rows::object::object_type`].
    Object(u32),
    /// An object of a type of the program's own, as it calls that.
    Own(String),
    /// A thread, whose end is waited for.
    Thread,
    /// What the C library keeps to itself.
    Internal,
}

impl fmt::Display for Subject {
    /// The noun: "mutex", "timer".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lock(kind) => kind.name(),
            Self::Object(builtin) => object_types::name(*builtin),
            Self::Own(name) => name,
            Self::Thread => "thread",
            Self::Internal => "internal state of the C library",
        })
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
