//! The locks that can be simulated, by name.

use lockwright::exclusive::Exclusive;
use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::mcs::{Mcs, Node, RawMcs};
use lockwright::mutex::RawMutex;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use lockwright::qspinlock::RawQspinlock;
use lockwright::rtmutex::RawRtMutex;
use lockwright::rwsem::RawRwSem;
use lockwright::semaphore::RawBinary;
use lockwright::tas::RawTas;
use lockwright::ticket::RawTicket;

use crate::cna::{self, Cna, CnaQspinlock};
use crate::library::{LibraryLock, Made};
use crate::peers::{Glibc, ParkingLot, Std};
use crate::platform::Sim;
use crate::setup::Setup;

/// A lock in a simulation.
pub trait Lock: Send + Sync {
    /// Takes the lock and calls `section`, then releases it.
    fn with(&self, section: &mut dyn FnMut());
}

/// A kind of lock.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Whether a waiter sleeps at some time: no thread spins for ever.
    pub sleeps: bool,
    origin: Origin,
}

/// Where a kind of lock is from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// The family.
    Family(for<'s> fn(&'s Setup<'s>, &str) -> &'s dyn Lock),
    /// A user's library.
    Library(LibraryLock),
}

impl Kind {
    /// Makes one.
    pub fn place<'s>(&self, setup: &'s Setup<'s>, name: &str) -> &'s dyn Lock {
        match self.origin {
            Origin::Family(place) => place(setup, name),
            Origin::Library(lock) => {
                let at = setup.place_of_library(name, lock.size(), lock.align());
                setup.place("the library's functions", lock.make(at))
            }
        }
    }

    /// The kind of a library's lock.
    pub const fn of_library(lock: LibraryLock) -> Self {
        let LibraryLock { name, about, .. } = lock;
        Self { name, about, sleeps: true, origin: Origin::Library(lock) }
    }

    /// The kind of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }
}

/// All of them, and last one that is none, for checkers.
pub const KINDS: &[Kind] = &[
    exclusive::<RawQspinlock<Sim>>("qspinlock", "queued spinlock", false),
    exclusive::<RawPvQspinlock<Sim, Hybrid>>("hybrid", "hybrid queued/unfair pvqspinlock", true),
    exclusive::<RawPvQspinlock<Sim, SingleSteal>>("pvqlock", "pvqspinlock of one steal", true),
    exclusive::<RawPvQspinlock<Sim, Unfair>>("unfair", "test-and-set on the queued word", false),
    exclusive::<RawTicket<Sim>>("ticket", "ticket lock", false),
    exclusive::<RawTas<Sim>>("tas", "test, then test-and-set", false),
    kind("mcs", "MCS lock", false, place::<Mcs<Sim>>),
    kind("cna", "CNA: MCS that prefers the holder's socket", false, place::<Cna<Sim>>),
    exclusive::<CnaQspinlock<Sim>>("cna_qspinlock", "queued spinlock whose queue is CNA", false),
    exclusive::<RawMcs<Sim>>("k42", "MCS lock without nodes of callers (K42)", false),
    exclusive::<RawMutex<Sim>>("mutex", "kernel's mutex: spins, then sleeps", true),
    exclusive::<RawHybridMutex<Sim>>("hybrid_mutex", "hybrid mutex of user space", true),
    exclusive::<RawRtMutex<Sim>>("rtmutex", "mutex with priority inheritance", true),
    exclusive::<RawBinary<Sim>>("semaphore", "semaphore of one", true),
    kind("glibc", "glibc's mutex: sleeps", true, place::<Glibc<Sim>>),
    kind("std", "Rust's mutex: looks 100 times, then sleeps", true, place::<Std<Sim>>),
    kind(
        "parking_lot",
        "parking_lot's mutex: gives way, then sleeps",
        true,
        place::<ParkingLot<Sim>>,
    ),
    kind("rwsem", "rwsem, written", true, place::<RawRwSem<Sim>>),
    kind("busted", "no lock at all: checkers must find it", false, place::<Busted>),
];

/// The name of the place where a workload's lock lies.
pub const PLACE: &str = "the lock";

const fn exclusive<L: Exclusive + 'static>(
    name: &'static str,
    about: &'static str,
    sleeps: bool,
) -> Kind {
    kind(name, about, sleeps, place::<Of<L>>)
}

const fn kind(
    name: &'static str,
    about: &'static str,
    sleeps: bool,
    place: for<'s> fn(&'s Setup<'s>, &str) -> &'s dyn Lock,
) -> Kind {
    Kind { name, about, sleeps, origin: Origin::Family(place) }
}

fn place<'s, L: Lock + New + 'static>(setup: &'s Setup<'s>, name: &str) -> &'s dyn Lock {
    setup.place(name, L::new_lock())
}

/// What can be made.
trait New {
    fn new_lock() -> Self;
}

/// A lock of the family.
struct Of<L>(L);

impl<L: Exclusive> New for Of<L> {
    fn new_lock() -> Self {
        Self(L::new())
    }
}

impl<L: Exclusive> Lock for Of<L> {
    fn with(&self, section: &mut dyn FnMut()) {
        self.0.lock();
        section();
        // SAFETY: `lock` above took the lock for this thread.
        unsafe { self.0.unlock() };
    }
}

/// Locks with nodes of their callers.
macro_rules! with_nodes {
    ($($lock:ty, $node:ty;)*) => {
        $(
            impl New for $lock {
                fn new_lock() -> Self {
                    Self::new_in()
                }
            }

            impl Lock for $lock {
                fn with(&self, section: &mut dyn FnMut()) {
                    let node = <$node>::new();
                    // SAFETY: it is in no other queue, and stays where it is until it is unlocked.
                    unsafe { self.lock(&node) };
                    section();
                    // SAFETY: locked above, with this node.
                    unsafe { self.unlock(&node) };
                }
            }
        )*
    };
}

with_nodes! {
    Mcs<Sim>, Node<Sim>;
    Cna<Sim>, cna::Node<Sim>;
}

/// Others' mutexes.
macro_rules! peers {
    ($($lock:ty;)*) => {
        $(
            impl New for $lock {
                fn new_lock() -> Self {
                    Self::new_in()
                }
            }

            impl Lock for $lock {
                fn with(&self, section: &mut dyn FnMut()) {
                    self.lock();
                    section();
                    // SAFETY: `lock` above took the lock for this thread.
                    unsafe { self.unlock() };
                }
            }
        )*
    };
}

peers! {
    Glibc<Sim>;
    Std<Sim>;
    ParkingLot<Sim>;
}

impl New for RawRwSem<Sim> {
    fn new_lock() -> Self {
        Self::new_in()
    }
}

impl Lock for RawRwSem<Sim> {
    fn with(&self, section: &mut dyn FnMut()) {
        self.down_write();
        section();
        // SAFETY: `down_write` above took the lock for this thread.
        unsafe { self.up_write() };
    }
}

impl Lock for Made {
    fn with(&self, section: &mut dyn FnMut()) {
        self.lock();
        section();
        self.unlock();
    }
}

/// locktorture's `lock_busted`.
struct Busted;

impl New for Busted {
    fn new_lock() -> Self {
        Self
    }
}

impl Lock for Busted {
    fn with(&self, section: &mut dyn FnMut()) {
        section();
    }
}
