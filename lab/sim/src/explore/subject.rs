//! The locks that are explored.

use std::ptr::NonNull;

use lockwright::biased_rwlock::RawBiasedRwLock;
use lockwright::bkl::RawBkl;
use lockwright::exclusive::Exclusive;
use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::hybrid_rwlock::RawHybridRwLock;
use lockwright::mcs::{Mcs, Node, RawMcs};
use lockwright::mutex::{Compact, RawMutex};
use lockwright::percpu_rwsem::RawPercpuRwSem;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use lockwright::qrwlock::RawQrwLock;
use lockwright::qspinlock::RawQspinlock;
use lockwright::rtmutex::RawRtMutex;
use lockwright::rwsem::RawRwSem;
use lockwright::semaphore::{RawBinary, RawSemaphore};
use lockwright::seqlock::RawSeqLock;
use lockwright::tas::RawTas;
use lockwright::ticket::RawTicket;

use super::platform::Explored;
use super::roles::{How, Mode, Patience, Role};
use crate::arena::Arena;
use crate::cna::{self, Cna, CnaQspinlock};
use crate::library::{LibraryLock, Made};

/// What a lock reports about the mode that the thread has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has the lock so: now it reads, or writes.
    Has(Mode),
    /// It is about to have the lock so only.
    Weakens(Mode),
    /// It is about to release it.
    Releases,
    /// It is about to release it, and takes it again after that.
    LetsGo,
}

/// The callback for a phase.
pub type Tell<'t> = &'t mut dyn FnMut(Phase);

/// A lock that is explored. What it cannot do it does in the next best way: to read as to write.
pub trait Subject {
    /// Takes the lock, tells the phases of that, and releases it. It may refuse: false.
    fn with(&self, how: How, tell: Tell<'_>) -> bool;
}

/// The phases of a thread that has a lock in one mode only.
pub(super) fn hold(mode: Mode, tell: Tell<'_>) {
    tell(Phase::Has(mode));
    tell(Phase::Releases);
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
    /// Whether it tells readers from writers.
    pub readers: bool,
    /// Whether readers can upgrade.
    pub upgrades: bool,
    /// Whether it can be waited for up to a deadline.
    pub deadlines: bool,
    /// How often later threads may overtake a waiter, if the lock promises a bound.
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
            upgrades: false,
            deadlines: false,
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
            upgrades: false,
            deadlines: lock.has_deadlines(),
            overtakes: lock.overtakes(),
            origin: Origin::Library(lock),
        }
    }

    /// A waiter may be overtaken at most so often.
    #[must_use]
    pub const fn overtakes(mut self, most: u32) -> Self {
        self.overtakes = Some(most);
        self
    }

    pub(super) const fn readers(mut self) -> Self {
        self.readers = true;
        self
    }

    pub(super) const fn upgrades(mut self) -> Self {
        self.readers = true;
        self.upgrades = true;
        self
    }

    pub(super) const fn deadlines(mut self) -> Self {
        self.deadlines = true;
        self
    }

    pub(super) const fn fault(mut self, fault: &'static str) -> Self {
        self.fault = Some(fault);
        self
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

type CompactMutex = RawMutex<Explored, Compact<Explored>>;

/// Those that are sound.
pub const KINDS: &[Kind] = &[
    Kind::exclusive::<RawQspinlock<Explored>>("qspinlock", "queued spinlock"),
    Kind::exclusive::<RawPvQspinlock<Explored, Hybrid>>("hybrid", "hybrid pvqspinlock"),
    Kind::exclusive::<RawPvQspinlock<Explored, SingleSteal>>("pvqlock", "pvqspinlock, one steal"),
    Kind::exclusive::<RawPvQspinlock<Explored, Unfair>>("unfair", "unfair pvqspinlock"),
    Kind::exclusive::<RawTicket<Explored>>("ticket", "ticket lock").overtakes(0),
    Kind::exclusive::<RawTas<Explored>>("tas", "test, then test-and-set"),
    Kind::of::<Mcs<Explored>>("mcs", "MCS lock").overtakes(0),
    Kind::of::<Cna<Explored>>("cna", "CNA: MCS that prefers the holder's socket"),
    Kind::exclusive::<CnaQspinlock<Explored>>(
        "cna_qspinlock",
        "queued spinlock whose queue is CNA",
    ),
    Kind::exclusive::<RawMcs<Explored>>("k42", "MCS lock without nodes of callers (K42)"),
    Kind::of::<RawMutex<Explored>>("mutex", "kernel's mutex").deadlines(),
    Kind::of::<CompactMutex>("mutex_compact", "kernel's mutex in few bytes").deadlines(),
    Kind::of::<RawHybridMutex<Explored>>("hybrid_mutex", "hybrid mutex of user space").deadlines(),
    Kind::of::<RawRtMutex<Explored>>("rtmutex", "mutex with priority inheritance").deadlines(),
    Kind::of::<Binary>("semaphore", "semaphore of one").deadlines(),
    Kind::of::<RawRwSem<Explored>>("rwsem", "kernel's rwsem").readers().deadlines(),
    Kind::of::<RawQrwLock<Explored>>("qrwlock", "queued rwlock").readers(),
    Kind::of::<RawHybridRwLock<Explored>>("hybrid_rwlock", "hybrid rwlock of user space")
        .upgrades()
        .deadlines(),
    Kind::of::<RawBiasedRwLock<Explored>>("biased_rwlock", "hybrid rwlock, biased towards readers")
        .upgrades()
        .deadlines(),
    Kind::of::<RawPercpuRwSem<Explored>>("percpu_rwsem", "per-CPU rwsem").readers(),
    Kind::of::<Sequence<false>>("seqlock", "sequence lock").readers(),
    Kind::of::<Sequence<true>>("seqlock_or_lock", "sequence lock, read locked at the second try")
        .readers(),
    Kind::of::<Bkl<RawQspinlock<Explored>>>("bkl", "big kernel lock, over a spinlock"),
    Kind::of::<Bkl<RawBinary<Explored>>>("bkl_semaphore", "big kernel lock, over a semaphore"),
];

/// A lock at its place.
pub(super) struct Placed {
    pub subject: NonNull<dyn Subject>,
    /// Where its words are.
    pub address: usize,
    /// Their size, in bytes.
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
    fn with(&self, how: How, tell: Tell<'_>) -> bool {
        if how.patience != Patience::None {
            self.0.lock();
        } else if !self.0.try_lock() {
            return false;
        }
        hold(Mode::Write, tell);
        // SAFETY: `lock` or `try_lock` above took the lock for this thread.
        unsafe { self.0.unlock() };
        true
    }
}

impl Subject for Made {
    fn with(&self, How { role, patience }: How, tell: Tell<'_>) -> bool {
        let reads = role != Role::Write;
        let acquired = match patience {
            Patience::None if reads => self.try_read_lock(),
            _ if reads => self.read_lock(),
            Patience::Endless => self.lock(),
            Patience::None => self.try_lock(),
            Patience::Until(deadline) => self.lock_until(deadline),
        };
        if !acquired {
            return false;
        }
        if reads {
            hold(Mode::Read, tell);
            self.read_unlock();
        } else {
            hold(Mode::Write, tell);
            self.unlock();
        }
        true
    }
}

/// Locks with nodes of their callers.
macro_rules! with_nodes {
    ($($lock:ty, $node:ty;)*) => {
        $(
            impl New for $lock {
                fn new() -> Self {
                    Self::new_in()
                }
            }

            impl Subject for $lock {
                fn with(&self, how: How, tell: Tell<'_>) -> bool {
                    let node = <$node>::new();
                    if how.patience != Patience::None {
                        // SAFETY: it is in no other queue, and stays where it is until it is unlocked.
                        unsafe { self.lock(&node) };
                    // SAFETY: `node` is in no other queue, and stays where it is until it is
                    // unlocked.
                    } else if !unsafe { self.try_lock(&node) } {
                        return false;
                    }
                    hold(Mode::Write, tell);
                    // SAFETY: locked above, with this node.
                    unsafe { self.unlock(&node) };
                    true
                }
            }
        )*
    };
}

with_nodes! {
    Mcs<Explored>, Node<Explored>;
    Cna<Explored>, cna::Node<Explored>;
}

/// Locks of one thread at a time that can be waited for up to a deadline.
macro_rules! timed {
    ($($lock:ty: |$it:ident, $deadline:ident| $until:expr, $try:expr, $unlock:expr;)*) => {
        $(
            impl Subject for $lock {
                fn with(&self, how: How, tell: Tell<'_>) -> bool {
                    let ($it, $deadline) = (self, how.patience.deadline());
                    let acquired = if how.patience == Patience::None { $try } else { $until };
                    if acquired {
                        hold(Mode::Write, tell);
                        // SAFETY: `acquired` is true, so this thread took the lock above.
                        #[allow(unused_unsafe, reason = "of the semaphore")]
                        unsafe {
                            $unlock
                        };
                    }
                    acquired
                }
            }
        )*
    };
}

/// The semaphore of one.
struct Binary(RawSemaphore<Explored>);

impl New for Binary {
    fn new() -> Self {
        Self(RawSemaphore::new_in(1))
    }
}

timed! {
    RawMutex<Explored>: |it, deadline| it.lock_until(deadline), it.try_lock(), it.unlock();
    CompactMutex: |it, deadline| it.lock_until(deadline), it.try_lock(), it.unlock();
    RawHybridMutex<Explored>: |it, deadline| it.lock_until(deadline), it.try_lock(), it.unlock();
    RawRtMutex<Explored>: |it, deadline| it.lock_until(deadline).is_ok(), it.try_lock(), it.unlock();
    Binary: |it, deadline| it.0.down_until(deadline), it.0.try_down(), it.0.up();
}

/// What is made by `new_in`.
macro_rules! new_in {
    ($($lock:ty),*) => {
        $(
            impl New for $lock {
                fn new() -> Self {
                    Self::new_in()
                }
            }
        )*
    };
}

new_in! {
    RawMutex<Explored>, CompactMutex, RawHybridMutex<Explored>, RawRtMutex<Explored>, RawRwSem<Explored>,
    RawQrwLock<Explored>, RawHybridRwLock<Explored>, RawBiasedRwLock<Explored>,
    RawPercpuRwSem<Explored>
}

/// Locks that readers share: how they are taken up to a deadline, tried, and released, to write and
/// to read.
macro_rules! shared {
    ($($lock:ty: |$it:ident, $deadline:ident|
        $write:expr, $try_write:ident $unwrite:ident, $read:expr, $try_read:ident $unread:ident;)*
    ) => {
        $(
            impl Subject for $lock {
                fn with(&self, How { role, patience }: How, tell: Tell<'_>) -> bool {
                    let ($it, $deadline) = (self, patience.deadline());
                    let tries = patience == Patience::None;
                    if role == Role::Write {
                        let acquired = if tries { self.$try_write() } else { $write };
                        if acquired {
                            hold(Mode::Write, tell);
                            // SAFETY: `acquired` is true, so this thread took the lock above to
                            // write.
                            unsafe { self.$unwrite() };
                        }
                        acquired
                    } else {
                        let acquired = if tries { self.$try_read() } else { $read };
                        if acquired {
                            hold(Mode::Read, tell);
                            // SAFETY: `acquired` is true, so this thread took the lock above to
                            // read.
                            unsafe { self.$unread() };
                        }
                        acquired
                    }
                }
            }
        )*
    };
}

shared! {
    RawRwSem<Explored>: |it, deadline|
        it.down_write_until(deadline), try_down_write up_write,
        it.down_read_until(deadline), try_down_read up_read;
    RawQrwLock<Explored>: |it, _deadline|
        { it.write_lock(); true }, try_write_lock write_unlock,
        { it.read_lock(); true }, try_read_lock read_unlock;
    RawPercpuRwSem<Explored>: |it, _deadline|
        { it.down_write(); true }, try_down_write up_write,
        { it.down_read(); true }, try_down_read up_read;
}

/// Locks whose readers can upgrade.
macro_rules! upgradable {
    ($($lock:ty),*) => {
        $(
            impl Subject for $lock {
                fn with(&self, How { role, patience }: How, tell: Tell<'_>) -> bool {
                    let (tries, deadline) = (patience == Patience::None, patience.deadline());
                    let acquired = match role {
                        Role::Write if tries => self.try_lock_exclusive(),
                        Role::Write => self.lock_exclusive_until(deadline),
                        Role::Read if tries => self.try_lock_shared(),
                        Role::Read => self.lock_shared_until(deadline),
                        Role::Upgrade if tries => self.try_lock_upgradable(),
                        Role::Upgrade => self.lock_upgradable_until(deadline),
                    };
                    if !acquired {
                        return false;
                    }
                    // SAFETY, of all: taken above, in this way.
                    match role {
                        Role::Write => {
                            hold(Mode::Write, tell);
                            // SAFETY: the match above took the lock for this thread to write.
                            unsafe { self.unlock_exclusive() };
                        }
                        Role::Read => {
                            hold(Mode::Read, tell);
                            // SAFETY: the match above took the lock for this thread to read.
                            unsafe { self.unlock_shared() };
                        }
                        Role::Upgrade => {
                            tell(Phase::Has(Mode::Upgradable));
                            // SAFETY: the match above took the lock for this thread upgradably.
                            let upgraded = unsafe {
                                if tries { self.try_upgrade() } else { self.upgrade_until(deadline) }
                            };
                            if upgraded {
                                tell(Phase::Has(Mode::Write));
                                tell(Phase::Weakens(Mode::Upgradable));
                                // SAFETY: `upgraded` is true, so this thread has the lock to write.
                                unsafe { self.downgrade_to_upgradable() };
                            }
                            hold(Mode::Upgradable, tell);
                            // SAFETY: not upgraded, or downgraded since.
                            unsafe { self.unlock_upgradable() };
                        }
                    }
                    true
                }
            }
        )*
    };
}

upgradable! { RawHybridRwLock<Explored>, RawBiasedRwLock<Explored> }

/// A sequence lock. If `LOCKS`, readers that were disturbed lock writers out.
struct Sequence<const LOCKS: bool>(RawSeqLock<Explored>);

impl<const LOCKS: bool> New for Sequence<LOCKS> {
    fn new() -> Self {
        Self(RawSeqLock::new_in())
    }
}

impl<const LOCKS: bool> Subject for Sequence<LOCKS> {
    fn with(&self, How { role, patience }: How, tell: Tell<'_>) -> bool {
        let tries = patience == Patience::None;
        match role {
            Role::Write => {
                if !tries {
                    self.0.write_lock();
                } else if !self.0.try_write_lock() {
                    return false;
                }
                hold(Mode::Write, tell);
                // SAFETY: `write_lock` or `try_write_lock` above took the lock for this thread.
                unsafe { self.0.write_unlock() };
                true
            }
            _ if tries => {
                let Some(begun) = self.0.count().try_begin() else { return false };
                tell(Phase::Has(Mode::Peek));
                !self.0.count().must_retry(begun)
            }
            _ if LOCKS => {
                self.0.read_or_lock(|| tell(Phase::Has(Mode::Peek)));
                true
            }
            _ => {
                self.0.read(|| tell(Phase::Has(Mode::Peek)));
                true
            }
        }
    }
}

/// A big kernel lock. It is taken twice, and given away in between.
struct Bkl<L>(RawBkl<Explored, L>);

impl<L: Exclusive + 'static> New for Bkl<L> {
    fn new() -> Self {
        Self(RawBkl::new_in())
    }
}

impl<L: Exclusive + 'static> Subject for Bkl<L> {
    fn with(&self, how: How, tell: Tell<'_>) -> bool {
        if how.patience != Patience::None {
            self.0.lock();
        } else if !self.0.try_lock() {
            return false;
        }
        self.0.lock();
        tell(Phase::Has(Mode::Write));
        tell(Phase::LetsGo);
        self.0.schedule(|| ());
        tell(Phase::Has(Mode::Write));
        // SAFETY: this thread took the lock twice above, and `schedule` gave back both.
        unsafe { self.0.unlock() };
        hold(Mode::Write, tell);
        // SAFETY: this thread took the lock twice and has released it once.
        unsafe { self.0.unlock() };
        true
    }
}
