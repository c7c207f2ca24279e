//! Checks around a reader-writer semaphore (DEBUG_RWSEMS of `kernel/locking/rwsem.c`): a misuse is
//! refused and returned as an error.
//!
//! ```text
//!   magic    as a mutex's: crate::debug
//!   readers  how many have it to read, as far as they have said so
//!   owner    the task that has it to write, or 0; written by the owner only
//! ```
//!
//! As in the kernel, the writer is known and readers are only counted. So the release of another
//! thread's read lock goes unnoticed, unless no reader is left. A reader that counts itself has the
//! lock, and one that no longer counts itself has not released it yet; so the number is
//! never more than the lock's own.

use core::sync::atomic::Ordering::Relaxed;

use crate::debug::{Magic, Misuse};
use crate::platform::{Atomic, Platform};
use crate::rwsem::RawRwSem;

const NOBODY: usize = 0;

/// A reader-writer semaphore that reports its misuse. Its memory must outlive each call of its
/// functions, as that of a [`RawRwSem`].
pub struct RawDebugRwSem<P: Platform> {
    magic: Magic<P>,
    readers: P::Word,
    owner: P::Long,
    lock: RawRwSem<P>,
}

impl<P: Platform> RawDebugRwSem<P> {
    /// A free lock.
    pub fn new_in() -> Self {
        let (readers, owner) = (P::Word::new(0), P::Long::new(NOBODY));
        Self { magic: Magic::new_in(), readers, owner, lock: RawRwSem::new_in() }
    }

    /// As [`RawDebug::bind`](crate::debug::RawDebug::bind).
    pub fn bind(&self) {
        self.magic.bind();
    }

    /// Takes the lock to read, and waits for that as long as it takes.
    ///
    /// # Errors
    /// [`Misuse::BadMagic`]; [`Misuse::Recursion`] of the thread that writes: the lock is not
    /// taken.
    pub fn down_read(&self) -> Result<(), Misuse> {
        self.down_read_until(None).map(drop)
    }

    /// Takes the lock to read, or gives up when `deadline` (nanoseconds of [`Platform::now`]; none:
    /// never) has come. Whether it did.
    ///
    /// # Errors
    /// As [`RawDebugRwSem::down_read`].
    pub fn down_read_until(&self, deadline: Option<u64>) -> Result<bool, Misuse> {
        self.check_new_hold()?;
        Ok(self.counted(self.lock.down_read_until(deadline)))
    }

    /// Takes the lock to read if that needs no waiting. Whether it did.
    ///
    /// # Errors
    /// [`Misuse::BadMagic`].
    pub fn try_down_read(&self) -> Result<bool, Misuse> {
        self.magic.check()?;
        Ok(self.counted(self.lock.try_down_read()))
    }

    /// Releases what was taken to read.
    ///
    /// # Errors
    /// [`Misuse::BadMagic`]; [`Misuse::AlreadyUnlocked`] where nobody has the lock,
    /// [`Misuse::WrongOwner`] where a writer has it: it stays as it is.
    pub fn up_read(&self) -> Result<(), Misuse> {
        self.magic.check()?;
        // Relaxed, all: a number. A reader's own addition to it comes before.
        let mut readers = self.readers.load(Relaxed);
        while let Some(left) = readers.checked_sub(1) {
            match self.readers.compare_exchange(readers, left, Relaxed, Relaxed) {
                Ok(_) => {
                    // SAFETY: we took one reader off the count, so one read lock is left to
                    // release; it is the caller's, if the caller is correct.
                    unsafe { self.lock.up_read() };
                    return Ok(());
                }
                Err(now) => readers = now,
            }
        }
        Err(self.not_held())
    }

    /// Takes the lock to write, and waits for that as long as it takes.
    ///
    /// # Errors
    /// As [`RawDebugRwSem::down_read`].
    pub fn down_write(&self) -> Result<(), Misuse> {
        self.down_write_until(None).map(drop)
    }

    /// Takes the lock to write, or gives up when `deadline` has come. Whether it did.
    ///
    /// # Errors
    /// As [`RawDebugRwSem::down_read`].
    pub fn down_write_until(&self, deadline: Option<u64>) -> Result<bool, Misuse> {
        self.check_new_hold()?;
        Ok(self.owned(self.lock.down_write_until(deadline)))
    }

    /// Takes the lock to write if that needs no waiting. Whether it did.
    ///
    /// # Errors
    /// [`Misuse::BadMagic`].
    pub fn try_down_write(&self) -> Result<bool, Misuse> {
        self.magic.check()?;
        Ok(self.owned(self.lock.try_down_write()))
    }

    /// Releases what was taken to write.
    ///
    /// # Errors
    /// [`Misuse::BadMagic`]; [`Misuse::AlreadyUnlocked`] where nobody has the lock,
    /// [`Misuse::WrongOwner`] where readers or another writer have it: it stays as it is.
    pub fn up_write(&self) -> Result<(), Misuse> {
        self.check_writer()?;
        // Relaxed: as in `is_owned`. Before the lock is released, as it is the next one's then.
        self.owner.store(NOBODY, Relaxed);
        // SAFETY: only the thread that took the lock for writing sets the owner, and the owner is
        // us.
        unsafe { self.lock.up_write() };
        Ok(())
    }

    /// Makes a writer a reader, without letting another writer in between.
    ///
    /// # Errors
    /// As [`RawDebugRwSem::up_write`].
    pub fn downgrade_write(&self) -> Result<(), Misuse> {
        self.check_writer()?;
        // Relaxed, both: as above; nobody else reads yet.
        self.owner.store(NOBODY, Relaxed);
        self.readers.fetch_add(1, Relaxed);
        // SAFETY: `check_writer` found this thread the owner, and only a thread that took it to
        // write becomes that.
        unsafe { self.lock.downgrade_write() };
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

    /// Whether anyone has it now.
    pub fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }

    /// Whether the calling thread has it to write.
    pub fn is_owned(&self) -> bool {
        // Relaxed: a thread sees its own stores, and no other stores its number.
        self.owner.load(Relaxed) == P::current().number()
    }

    /// Whether anyone says to have it to read.
    pub fn is_read(&self) -> bool {
        // Relaxed: a number.
        self.readers.load(Relaxed) != 0
    }

    fn counted(&self, taken: bool) -> bool {
        if taken {
            // Relaxed: a number, in which we are only once we have the lock.
            self.readers.fetch_add(1, Relaxed);
        }
        taken
    }

    fn owned(&self, taken: bool) -> bool {
        if taken {
            // Relaxed: as in `is_owned`.
            self.owner.store(P::current().number(), Relaxed);
        }
        taken
    }

    fn check_new_hold(&self) -> Result<(), Misuse> {
        self.magic.check()?;
        if self.is_owned() { Err(Misuse::Recursion) } else { Ok(()) }
    }

    fn check_writer(&self) -> Result<(), Misuse> {
        self.magic.check()?;
        if self.is_owned() { Ok(()) } else { Err(self.not_held()) }
    }

    /// The misuse of a release without a hold.
    fn not_held(&self) -> Misuse {
        if self.lock.is_locked() { Misuse::WrongOwner } else { Misuse::AlreadyUnlocked }
    }
}

#[cfg(feature = "std")]
impl RawDebugRwSem<crate::platform::linux::Linux> {
    /// A free lock; for statics.
    pub const fn new() -> Self {
        use core::sync::atomic::{AtomicU32, AtomicUsize};
        let (readers, owner) = (AtomicU32::new(0), AtomicUsize::new(NOBODY));
        Self { magic: Magic::new(), readers, owner, lock: RawRwSem::new() }
    }
}

#[cfg(feature = "std")]
impl Default for RawDebugRwSem<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::thread;

    use super::*;
    use crate::platform::linux::Linux;

    type Lock = RawDebugRwSem<Linux>;

    fn elsewhere<R: Send>(ask: impl FnOnce() -> R + Send) -> R {
        thread::scope(|scope| scope.spawn(ask).join().unwrap())
    }

    #[test]
    fn misuse_of_a_writers_hold_is_told() {
        let lock = Lock::new();
        assert_eq!(lock.up_write(), Err(Misuse::AlreadyUnlocked));
        assert_eq!(lock.downgrade_write(), Err(Misuse::AlreadyUnlocked));
        assert_eq!(lock.down_write(), Ok(()));
        assert_eq!(lock.down_write(), Err(Misuse::Recursion));
        assert_eq!(lock.down_read(), Err(Misuse::Recursion));
        assert_eq!((lock.try_down_write(), lock.try_down_read()), (Ok(false), Ok(false)));
        assert_eq!(lock.up_read(), Err(Misuse::WrongOwner), "it was not taken to read");
        assert_eq!(elsewhere(|| lock.up_write()), Err(Misuse::WrongOwner));
        assert_eq!(elsewhere(|| lock.downgrade_write()), Err(Misuse::WrongOwner));
        assert_eq!(lock.destroy(), Err(Misuse::DestroyedWhileHeld));
        assert!(lock.is_owned(), "a misuse does not happen");
        assert_eq!(lock.up_write(), Ok(()));
        assert_eq!(lock.destroy(), Ok(()));
    }

    #[test]
    fn misuse_of_a_readers_hold_is_told() {
        let lock = Lock::new();
        assert_eq!(lock.up_read(), Err(Misuse::AlreadyUnlocked));
        assert_eq!(lock.down_read(), Ok(()));
        assert_eq!(elsewhere(|| lock.try_down_read()), Ok(true));
        assert_eq!(lock.up_write(), Err(Misuse::WrongOwner), "it was not taken to write");
        assert_eq!(lock.downgrade_write(), Err(Misuse::WrongOwner));
        assert_eq!(lock.destroy(), Err(Misuse::DestroyedWhileHeld));
        assert_eq!((lock.up_read(), lock.up_read()), (Ok(()), Ok(())));
        assert_eq!(lock.up_read(), Err(Misuse::AlreadyUnlocked));
        assert_eq!(lock.destroy(), Ok(()));
    }

    #[test]
    fn a_downgraded_hold_is_a_readers() {
        let lock = Lock::new();
        assert_eq!((lock.down_write(), lock.downgrade_write()), (Ok(()), Ok(())));
        assert!(lock.is_read() && !lock.is_owned());
        assert_eq!(lock.up_write(), Err(Misuse::WrongOwner));
        assert_eq!(lock.up_read(), Ok(()));
        assert!(!lock.is_locked());
    }

    #[test]
    fn who_gives_up_holds_nothing() {
        let lock = Lock::new();
        lock.down_write().unwrap();
        assert_eq!(elsewhere(|| lock.down_read_until(Some(0))), Ok(false));
        assert_eq!(elsewhere(|| lock.down_write_until(Some(0))), Ok(false));
        assert_eq!(lock.up_write(), Ok(()));
        assert_eq!(lock.up_read(), Err(Misuse::AlreadyUnlocked));
    }

    /// Memory that nobody has initialised is zeroed, most often.
    #[test]
    fn a_zeroed_or_destroyed_lock_has_bad_magic() {
        // SAFETY: atomics and words of 0.
        let zeroed = unsafe { core::mem::zeroed::<Lock>() };
        let destroyed = Lock::new();
        destroyed.destroy().unwrap();
        for lock in [zeroed, destroyed] {
            assert_eq!(lock.down_read(), Err(Misuse::BadMagic));
            assert_eq!(lock.down_write(), Err(Misuse::BadMagic));
            assert_eq!(lock.try_down_read(), Err(Misuse::BadMagic));
            assert_eq!(lock.try_down_write(), Err(Misuse::BadMagic));
            assert_eq!(lock.up_read(), Err(Misuse::BadMagic));
            assert_eq!(lock.up_write(), Err(Misuse::BadMagic));
            assert_eq!(lock.downgrade_write(), Err(Misuse::BadMagic));
            assert_eq!(lock.destroy(), Err(Misuse::BadMagic));
        }
    }

    #[test]
    fn a_copy_of_a_bound_lock_has_bad_magic() {
        let lock = Lock::new();
        lock.bind();
        // SAFETY: a lock consists of atomics and integers, without a destructor, so its bytes are a
        // valid value of its type anywhere.
        let copy = || unsafe { core::ptr::from_ref(&lock).read() };
        assert_eq!(copy().down_read(), Err(Misuse::BadMagic));
        assert_eq!(copy().try_down_read(), Err(Misuse::BadMagic));
        lock.down_write().unwrap();
        assert_eq!(copy().up_write(), Err(Misuse::BadMagic));
        assert_eq!((lock.up_write(), lock.down_read()), (Ok(()), Ok(())));
        assert_eq!(copy().up_read(), Err(Misuse::BadMagic));
        assert_eq!(lock.up_read(), Ok(()));
    }

    #[test]
    fn correct_use_is_not_reported() {
        let lock = Lock::new();
        thread::scope(|scope| {
            for id in 0..4 {
                let lock = &lock;
                scope.spawn(move || {
                    for round in 0..3_000 {
                        match (round + id) % 4 {
                            0 => {
                                assert_eq!(lock.down_write(), Ok(()));
                                assert_eq!(lock.up_write(), Ok(()));
                            }
                            1 => {
                                assert_eq!(lock.down_write(), Ok(()));
                                assert_eq!(lock.downgrade_write(), Ok(()));
                                assert_eq!(lock.up_read(), Ok(()));
                            }
                            _ => {
                                assert_eq!(lock.down_read(), Ok(()));
                                assert_eq!(lock.up_read(), Ok(()));
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(lock.destroy(), Ok(()));
    }
}
