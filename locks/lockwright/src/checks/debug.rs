//! Checks around an exclusive lock (`kernel/locking/mutex-debug.c`, `spinlock_debug.c`, and
//! DEBUG_RT_MUTEXES): a misuse is refused and returned as an error. The checks of a reader-writer
//! semaphore are in [`crate::debug_rwsem`].
//!
//! ```text
//!   magic  MAGIC from initialisation to destruction, or the lock's address if it is bound to that
//!   owner  the task that holds the lock, or 0; written by the owner only
//!   cpu    where it took it, number + 1, or 0; likewise
//! ```
//!
//! The kernel warns and goes on. Here each function returns its verdict, and what to do about it is
//! the caller's choice. CPUs matter to spinlocks only, and where they are more than another word
//! for threads.

use core::sync::atomic::Ordering::Relaxed;

use crate::exclusive::Exclusive;
use crate::platform::{Atomic, Platform};

/// Neither memory that was never initialised nor likely anything else, and no lock's address: those
/// are multiples of four.
const MAGIC: usize = 0x10c6_a51f;
const DESTROYED: usize = 0;
const NOBODY: usize = 0;
const NO_CPU: u32 = 0;

/// A misuse of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// It was not initialised, has been destroyed, or was overwritten.
    BadMagic,
    /// The thread that locks it holds it already.
    Recursion,
    /// Another thread locks it on the CPU of the one that holds it and cannot go on there
    /// (spinlocks).
    CpuRecursion,
    /// It is unlocked, and nobody holds it.
    AlreadyUnlocked,
    /// It is unlocked by a thread that does not hold it.
    WrongOwner,
    /// It is unlocked on another CPU than it was locked on (spinlocks).
    WrongCpu,
    /// It is destroyed, and somebody holds it.
    DestroyedWhileHeld,
}

impl Misuse {
    /// In the kernel's words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BadMagic => "bad magic",
            Self::Recursion => "recursion",
            Self::CpuRecursion => "cpu recursion",
            Self::AlreadyUnlocked => "already unlocked",
            Self::WrongOwner => "wrong owner",
            Self::WrongCpu => "wrong CPU",
            Self::DestroyedWhileHeld => "destroyed while held",
        }
    }
}

impl core::fmt::Display for Misuse {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for Misuse {}

/// What says that memory is a lock, and which: the kernel's `magic`.
///
/// A value of Rust may be moved while nobody uses it, so a lock that is made as one is valid wherever
/// it lies. A lock that is made in its place, as those of C are, is [bound](Magic::bind) to that: a
/// copy of its bytes is none, as with the kernel's `lock->magic != lock`.
pub(crate) struct Magic<P: Platform>(P::Long);

impl<P: Platform> Magic<P> {
    /// For a lock that is valid wherever it lies.
    pub(crate) fn new_in() -> Self {
        Self(P::Long::new(MAGIC))
    }

    /// The lock is one at this address only.
    pub(crate) fn bind(&self) {
        // Relaxed: the caller is its maker, and nobody else uses it yet.
        self.0.store(self.address(), Relaxed);
    }

    /// Whether there is a lock.
    pub(crate) fn check(&self) -> Result<(), Misuse> {
        // Relaxed: if one thread uses the lock while another destroys it, we may or may not notice.
        match self.0.load(Relaxed) {
            MAGIC => Ok(()),
            bound if bound == self.address() => Ok(()),
            _ => Err(Misuse::BadMagic),
        }
    }

    /// Ends the lock's life.
    pub(crate) fn end(&self) {
        // Relaxed: as in `check`.
        self.0.store(DESTROYED, Relaxed);
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }
}

#[cfg(feature = "std")]
impl Magic<crate::platform::linux::Linux> {
    /// As [`Magic::new_in`]; for statics.
    pub(crate) const fn new() -> Self {
        Self(core::sync::atomic::AtomicUsize::new(MAGIC))
    }
}

/// An exclusive lock that reports its misuse.
pub struct RawDebug<P: Platform, L> {
    magic: Magic<P>,
    cpu: P::Word,
    owner: P::Long,
    lock: L,
}

impl<P: Platform, L: Exclusive> RawDebug<P, L> {
    /// Checks around `lock`, which is free.
    pub fn new_in(lock: L) -> Self {
        let cpu = P::Word::new(NO_CPU);
        Self { magic: Magic::new_in(), cpu, owner: P::Long::new(NOBODY), lock }
    }

    /// Binds the lock to where it lies: from here on a copy of its bytes elsewhere is
    /// [`Misuse::BadMagic`], as in the kernel, whose locks know their address from initialisation
    /// on. For the lock's maker, before anybody else uses it.
    pub fn bind(&self) {
        self.magic.bind();
    }

    /// Takes the lock, and waits for that as long as it takes.
    ///
    /// # Errors
    /// [`Misuse::BadMagic`], [`Misuse::Recursion`], [`Misuse::CpuRecursion`]: the lock is not
    /// taken.
    pub fn lock(&self) -> Result<(), Misuse> {
        let take = |lock: &L| {
            lock.lock();
            true
        };
        self.lock_by(take).map(drop)
    }

    /// Takes the lock by `take`, which may wait for it, and may give up: whether it did. For locks
    /// that can be taken in more ways than [`Exclusive`] has.
    ///
    /// # Errors
    /// As [`RawDebug::lock`]: nothing is done.
    pub fn lock_by(&self, take: impl FnOnce(&L) -> bool) -> Result<bool, Misuse> {
        self.magic.check()?;
        if self.is_owned() {
            return Err(Misuse::Recursion);
        }
        // Relaxed: a holder on this CPU has stored so on this CPU.
        if L::SPINS && self.owner.load(Relaxed) != NOBODY && self.is_here() {
            return Err(Misuse::CpuRecursion);
        }
        let taken = take(&self.lock);
        if taken {
            self.set_owner();
        }
        Ok(taken)
    }

    /// Takes the lock if nobody has it. Whether it did.
    ///
    /// # Errors
    /// [`Misuse::BadMagic`].
    pub fn try_lock(&self) -> Result<bool, Misuse> {
        self.magic.check()?;
        let taken = self.lock.try_lock();
        if taken {
            self.set_owner();
        }
        Ok(taken)
    }

    /// Releases the lock.
    ///
    /// # Errors
    /// [`Misuse::BadMagic`], [`Misuse::AlreadyUnlocked`], [`Misuse::WrongOwner`],
    /// [`Misuse::WrongCpu`]: the lock stays as it is.
    pub fn unlock(&self) -> Result<(), Misuse> {
        self.magic.check()?;
        if !self.is_owned() {
            return Err(match self.lock.is_locked() {
                true => Misuse::WrongOwner,
                false => Misuse::AlreadyUnlocked,
            });
        }
        if L::SPINS && P::cpu().is_some() && !self.is_here() {
            return Err(Misuse::WrongCpu);
        }
        // Relaxed, both: as in `is_owned`. Before the lock is released, as they are the next one's
        // then.
        self.owner.store(NOBODY, Relaxed);
        self.cpu.store(NO_CPU, Relaxed);
        // SAFETY: only the thread that took the lock sets the owner, and the owner is us.
        unsafe { self.lock.unlock() };
        Ok(())
    }

    /// Ends the lock's life: it cannot be used from here on.
    ///
    /// # Errors
    /// [`Misuse::BadMagic`], [`Misuse::DestroyedWhileHeld`]: the lock stays as it is.
    pub fn destroy(&self) -> Result<(), Misuse> {
        self.magic.check()?;
        if self.lock.is_locked() {
            return Err(Misuse::DestroyedWhileHeld);
        }
        self.magic.end();
        Ok(())
    }

    /// Whether anyone holds it now.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Whether the calling thread holds it.
    pub fn is_owned(&self) -> bool {
        // Relaxed: a thread sees its own stores, and no other stores its number.
        self.owner.load(Relaxed) == P::current().number()
    }

    /// Whether it was locked on this CPU.
    fn is_here(&self) -> bool {
        // Relaxed: as in `is_owned`.
        P::cpu().is_some_and(|cpu| self.cpu.load(Relaxed) == cpu + 1)
    }

    fn set_owner(&self) {
        // Relaxed, both: as in `is_owned`.
        self.cpu.store(P::cpu().map_or(NO_CPU, |cpu| cpu + 1), Relaxed);
        self.owner.store(P::current().number(), Relaxed);
    }
}

#[cfg(feature = "std")]
impl<L: Exclusive> RawDebug<crate::platform::linux::Linux, L> {
    /// Checks around `lock`, which is free; for statics.
    pub const fn new(lock: L) -> Self {
        use core::sync::atomic::{AtomicU32, AtomicUsize};
        let (cpu, owner) = (AtomicU32::new(NO_CPU), AtomicUsize::new(NOBODY));
        Self { magic: Magic::new(), cpu, owner, lock }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::thread;

    use super::*;
    use crate::mcs::RawMcs;
    use crate::mutex::RawMutex;
    use crate::platform::linux::Linux;
    use crate::rtmutex::RawRtMutex;
    use crate::tas::RawTas;
    use crate::ticket::RawTicket;

    fn each_misuse_is_told<L: Exclusive + Sync>(make: fn() -> L) {
        let lock = RawDebug::<Linux, L>::new(make());
        assert_eq!(lock.unlock(), Err(Misuse::AlreadyUnlocked));
        assert_eq!(lock.lock(), Ok(()));
        assert_eq!(lock.lock(), Err(Misuse::Recursion));
        assert_eq!(lock.try_lock(), Ok(false));
        assert_eq!(lock.destroy(), Err(Misuse::DestroyedWhileHeld));
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(lock.unlock(), Err(Misuse::WrongOwner)));
        });
        assert!(lock.is_owned(), "a misuse does not happen");
        assert_eq!(lock.unlock(), Ok(()));
        assert_eq!(lock.destroy(), Ok(()));
        assert_eq!(lock.lock(), Err(Misuse::BadMagic));
        assert_eq!(lock.try_lock(), Err(Misuse::BadMagic));
        assert_eq!(lock.unlock(), Err(Misuse::BadMagic));
        assert_eq!(lock.destroy(), Err(Misuse::BadMagic));
    }

    #[test]
    fn misuse_of_a_mutex_is_told() {
        each_misuse_is_told(RawMutex::<Linux>::new);
    }

    #[test]
    fn misuse_of_an_rtmutex_is_told() {
        each_misuse_is_told(RawRtMutex::<Linux>::new);
    }

    #[test]
    fn who_gives_up_is_no_owner() {
        let lock = RawDebug::<Linux, _>::new(RawRtMutex::<Linux>::new());
        assert_eq!(lock.lock_by(|_| false), Ok(false));
        assert!(!lock.is_owned() && !lock.is_locked());
        assert_eq!(lock.lock_by(|lock| lock.lock_until(Some(0)).is_ok()), Ok(true));
        assert_eq!(lock.lock_by(|_| panic!("it is held")), Err(Misuse::Recursion));
        assert_eq!(lock.unlock(), Ok(()));
    }

    #[test]
    fn misuse_of_spinlocks_is_told() {
        each_misuse_is_told(RawMcs::<Linux>::new);
        each_misuse_is_told(RawTas::<Linux>::new);
        each_misuse_is_told(RawTicket::<Linux>::new);
    }

    /// Memory that nobody has initialised is zeroed, most often.
    #[test]
    fn a_zeroed_lock_has_bad_magic() {
        // SAFETY: the lock consists of atomics and integers, for which zeros are valid values.
        let lock = unsafe { core::mem::zeroed::<RawDebug<Linux, RawTas<Linux>>>() };
        assert_eq!(lock.lock(), Err(Misuse::BadMagic));
    }

    /// As of a `memcpy` in C, of a free lock and of a held one.
    #[test]
    fn a_copy_of_a_bound_lock_has_bad_magic() {
        type Lock = RawDebug<Linux, RawTas<Linux>>;
        let lock = Lock::new(RawTas::<Linux>::new());
        lock.bind();
        // SAFETY: a lock consists of atomics and integers, without a destructor, so its bytes are a
        // valid value of its type anywhere.
        let copy = || unsafe { core::ptr::from_ref(&lock).read() };
        let free = copy();
        assert_eq!(free.lock(), Err(Misuse::BadMagic));
        lock.lock().unwrap();
        let held = copy();
        assert_eq!((held.unlock(), held.lock()), (Err(Misuse::BadMagic), Err(Misuse::BadMagic)));
        assert_eq!(
            (held.try_lock(), held.destroy()),
            (Err(Misuse::BadMagic), Err(Misuse::BadMagic))
        );
        assert_eq!(lock.unlock(), Ok(()), "the lock itself is one");
    }

    /// A free lock of Rust may be moved.
    #[test]
    fn what_is_not_bound_may_be_moved() {
        let lock = RawDebug::<Linux, _>::new(RawTas::<Linux>::new());
        lock.lock().unwrap();
        lock.unlock().unwrap();
        let moved = std::boxed::Box::new(lock);
        assert_eq!((moved.lock(), moved.unlock()), (Ok(()), Ok(())));
    }

    #[test]
    fn correct_use_is_not_reported() {
        let lock = RawDebug::<Linux, _>::new(RawMutex::<Linux>::new());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5_000 {
                        if lock.try_lock() != Ok(true) {
                            assert_eq!(lock.lock(), Ok(()));
                        }
                        assert_eq!(lock.unlock(), Ok(()));
                    }
                });
            }
        });
        assert_eq!(lock.destroy(), Ok(()));
    }
}
