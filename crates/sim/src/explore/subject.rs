//! The locks that are explored.

use std::ptr::NonNull;

use lockwright::exclusive::Exclusive;
use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::hybrid_rwlock::RawHybridRwLock;
use lockwright::mcs::{Mcs, Node, RawMcs};
use lockwright::mutex::RawMutex;
use lockwright::percpu_rwsem::RawPercpuRwSem;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use lockwright::qrwlock::RawQrwLock;
use lockwright::qspinlock::RawQspinlock;
use lockwright::rtmutex::RawRtMutex;
use lockwright::rwsem::RawRwSem;
use lockwright::semaphore::RawBinary;
use lockwright::tas::RawTas;
use lockwright::ticket::RawTicket;

use super::faults;
use super::platform::Explored;
use crate::arena::Arena;
use crate::library::{LibraryLock, Made};

/// How a lock is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// With other readers, not alone.
    pub reads: bool,
    /// Only if it can be had at once.
    pub tries: bool,
}

/// A lock that is explored. What it cannot do it does in the next best way: to read as to write.
pub trait Subject {
    /// Takes the lock, calls `section`, and releases it. A trylock may refuse: false.
    fn with(&self, how: How, section: &mut dyn FnMut()) -> bool;
}

/// A kind of lock.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What is wrong with it, if that is planted.
    pub fault: Option<&'static str>,
    /// Whether readers share it.
    pub readers: bool,
    /// How often who waits may be overtaken by those who came later, where the lock promises it.
    pub overtakes: Option<u32>,
    origin: Origin,
}

/// Where a kind of lock is from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// The family, or a crate that has this one as a library.
    Family(fn(&mut Arena) -> (NonNull<dyn Subject>, usize)),
    /// A library that was loaded.
    Library(LibraryLock),
}

impl Kind {
    /// A lock that one thread holds at a time, for instance a user's.
    pub const fn exclusive<L: Exclusive + 'static>(
        name: &'static str,
        about: &'static str,
    ) -> Self {
        Self::of::<Of<L>>(name, about)
    }

    pub(super) const fn of<L: New>(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            fault: None,
            readers: false,
            overtakes: None,
            origin: Origin::Family(|arena| (arena.place(L::new()), size_of::<L>())),
        }
    }

    /// The kind of a library's lock.
    pub fn of_library(lock: LibraryLock) -> Self {
        Self {
            name: lock.name,
            about: lock.about,
            fault: None,
            readers: lock.has_readers(),
            overtakes: lock.overtakes(),
            origin: Origin::Library(lock),
        }
    }

    /// Who waits may be overtaken at most so often.
    #[must_use]
    pub const fn overtakes(mut self, most: u32) -> Self {
        self.overtakes = Some(most);
        self
    }

    pub(super) const fn readers(mut self) -> Self {
        self.readers = true;
        self
    }

    pub(super) const fn fault(mut self, fault: &'static str) -> Self {
        self.fault = Some(fault);
        self
    }

    /// The kind of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().chain(faults::KINDS).find(|kind| kind.name == name)
    }

    /// Puts one at its place.
    pub(super) fn place(&self, arena: &mut Arena) -> Placed {
        match self.origin {
            Origin::Family(place) => {
                let (subject, size) = place(arena);
                Placed { subject, address: subject.addr().get(), size }
            }
            Origin::Library(lock) => {
                let at = arena.place_zeros(lock.size(), lock.align());
                let (address, size) = (at.addr().get(), lock.size());
                Placed { subject: arena.place(lock.make(at)), address, size }
            }
        }
    }
}

/// Those that are sound.
pub const KINDS: &[Kind] = &[
    Kind::exclusive::<RawQspinlock<Explored>>("qspinlock", "queued spinlock"),
    Kind::exclusive::<RawPvQspinlock<Explored, Hybrid>>("hybrid", "hybrid pvqspinlock"),
    Kind::exclusive::<RawPvQspinlock<Explored, SingleSteal>>("pvqlock", "pvqspinlock, one steal"),
    Kind::exclusive::<RawPvQspinlock<Explored, Unfair>>("unfair", "unfair pvqspinlock"),
    Kind::exclusive::<RawTicket<Explored>>("ticket", "ticket lock").overtakes(0),
    Kind::exclusive::<RawTas<Explored>>("tas", "test, then test-and-set"),
    Kind::of::<Mcs<Explored>>("mcs", "MCS lock").overtakes(0),
    Kind::exclusive::<RawMcs<Explored>>("k42", "MCS lock without nodes of callers (K42)"),
    Kind::exclusive::<RawMutex<Explored>>("mutex", "kernel's mutex"),
    Kind::exclusive::<RawHybridMutex<Explored>>("hybrid_mutex", "hybrid mutex of user space"),
    Kind::exclusive::<RawRtMutex<Explored>>("rtmutex", "mutex with priority inheritance"),
    Kind::exclusive::<RawBinary<Explored>>("semaphore", "semaphore of one"),
    Kind::of::<RawRwSem<Explored>>("rwsem", "kernel's rwsem").readers(),
    Kind::of::<RawQrwLock<Explored>>("qrwlock", "queued rwlock").readers(),
    Kind::of::<RawHybridRwLock<Explored>>("hybrid_rwlock", "hybrid rwlock of user space").readers(),
    Kind::of::<RawPercpuRwSem<Explored>>("percpu_rwsem", "per-CPU rwsem").readers(),
];

/// A lock at its place.
pub(super) struct Placed {
    pub subject: NonNull<dyn Subject>,
    /// Where its words are.
    pub address: usize,
    /// Of them, in bytes.
    pub size: usize,
}

/// What can be made.
pub(super) trait New: Subject + 'static {
    fn new() -> Self;
}

/// A lock of the family, or a user's.
struct Of<L>(L);

impl<L: Exclusive + 'static> New for Of<L> {
    fn new() -> Self {
        Self(L::new())
    }
}

impl<L: Exclusive> Subject for Of<L> {
    fn with(&self, how: How, section: &mut dyn FnMut()) -> bool {
        if !how.tries {
            self.0.lock();
        } else if !self.0.try_lock() {
            return false;
        }
        section();
        // SAFETY: taken above.
        unsafe { self.0.unlock() };
        true
    }
}

impl Subject for Made {
    fn with(&self, how: How, section: &mut dyn FnMut()) -> bool {
        let acquired = match how {
            How { reads: false, tries: false } => self.lock(),
            How { reads: false, tries: true } => self.try_lock(),
            How { reads: true, tries: false } => self.read_lock(),
            How { reads: true, tries: true } => self.try_read_lock(),
        };
        if !acquired {
            return false;
        }
        section();
        if how.reads {
            self.read_unlock();
        } else {
            self.unlock();
        }
        true
    }
}

impl New for Mcs<Explored> {
    fn new() -> Self {
        Self::new_in()
    }
}

impl Subject for Mcs<Explored> {
    fn with(&self, how: How, section: &mut dyn FnMut()) -> bool {
        let node = Node::new();
        if !how.tries {
            // SAFETY: it is in no other queue, and stays where it is until it is unlocked.
            unsafe { self.lock(&node) };
        // SAFETY: likewise.
        } else if !unsafe { self.try_lock(&node) } {
            return false;
        }
        section();
        // SAFETY: locked above, with this node.
        unsafe { self.unlock(&node) };
        true
    }
}

/// Locks that readers share: lock, trylock and unlock, to write and to read.
macro_rules! shared {
    ($($lock:ty: $write:ident $try_write:ident $unwrite:ident, $read:ident $try_read:ident $unread:ident;)*) => {
        $(
            impl New for $lock {
                fn new() -> Self {
                    Self::new_in()
                }
            }

            impl Subject for $lock {
                fn with(&self, how: How, section: &mut dyn FnMut()) -> bool {
                    match how {
                        How { reads: false, tries: false } => self.$write(),
                        How { reads: false, tries: true } if !self.$try_write() => return false,
                        How { reads: true, tries: false } => self.$read(),
                        How { reads: true, tries: true } if !self.$try_read() => return false,
                        How { tries: true, .. } => {}
                    }
                    section();
                    if how.reads {
                        // SAFETY: taken above, to read.
                        unsafe { self.$unread() };
                    } else {
                        // SAFETY: taken above, to write.
                        unsafe { self.$unwrite() };
                    }
                    true
                }
            }
        )*
    };
}

shared! {
    RawRwSem<Explored>: down_write try_down_write up_write, down_read try_down_read up_read;
    RawQrwLock<Explored>:
        write_lock try_write_lock write_unlock, read_lock try_read_lock read_unlock;
    RawHybridRwLock<Explored>:
        lock_exclusive try_lock_exclusive unlock_exclusive,
        lock_shared try_lock_shared unlock_shared;
    RawPercpuRwSem<Explored>: down_write try_down_write up_write, down_read try_down_read up_read;
}
