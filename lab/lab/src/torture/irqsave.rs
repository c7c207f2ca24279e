//! Locks that are taken with signals blocked (the kernel's `spin_lock_irq` and `rw_lock_irq`), so
//! that handlers may take them, too.

use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use lockwright::irq::IrqFlags;
use lockwright::platform::linux::Linux;
use lockwright::qrwlock::RawQrwLock;
use lockwright::qspinlock::RawQspinlock;

use super::ops::Ops;

/// A lock, and the signals that its writer blocked before: the exclusive holder writes them,
/// and reads them before it gives it up.
pub(super) struct Irqsave<L> {
    lock: L,
    flags: AtomicU64,
}

thread_local! {
    /// Those that the thread blocked before it read. It reads under one lock at a time, and its
    /// handler writes.
    static READER: Cell<u64> = const { Cell::new(0) };
}

impl<L> Irqsave<L> {
    fn over(lock: L) -> Self {
        Self { lock, flags: AtomicU64::new(0) }
    }

    fn taken(&self, flags: IrqFlags) {
        // Relaxed: passed on by the lock.
        self.flags.store(flags.to_bits(), Relaxed);
    }

    fn flags(&self) -> IrqFlags {
        // Relaxed: as above.
        IrqFlags::from_bits(self.flags.load(Relaxed))
    }
}

impl Ops for Irqsave<RawQspinlock<Linux>> {
    fn new() -> Self {
        Self::over(RawQspinlock::new())
    }
    fn writelock(&self) {
        self.taken(self.lock.lock_irqsave());
    }
    fn try_writelock(&self) -> bool {
        self.lock.try_lock_irqsave().map(|flags| self.taken(flags)).is_some()
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        // SAFETY: by contract this thread holds the lock exclusively; the flags are those of its
        // acquisition.
        unsafe { self.lock.unlock_irqrestore(self.flags()) }
    }
}

impl Ops for Irqsave<RawQrwLock<Linux>> {
    fn new() -> Self {
        Self::over(RawQrwLock::new())
    }
    fn writelock(&self) {
        self.taken(self.lock.write_lock_irqsave());
    }
    fn try_writelock(&self) -> bool {
        self.lock.try_write_lock_irqsave().map(|flags| self.taken(flags)).is_some()
    }
    /// # Safety
    /// The contract is that of `Ops::writeunlock`.
    unsafe fn writeunlock(&self) {
        // SAFETY: by contract this thread holds the lock exclusively; the flags are those of its
        // acquisition.
        unsafe { self.lock.write_unlock_irqrestore(self.flags()) }
    }
    fn readlock(&self) {
        READER.set(self.lock.read_lock_irqsave().to_bits());
    }
    fn try_readlock(&self) -> bool {
        let flags = self.lock.try_read_lock_irqsave();
        flags.map(|flags| READER.set(flags.to_bits())).is_some()
    }
    fn readlock_until(&self, _deadline: u64) -> bool {
        self.readlock();
        true
    }
    /// # Safety
    /// The contract is that of `Ops::readunlock`.
    unsafe fn readunlock(&self) {
        // SAFETY: by contract this thread holds the lock shared; the flags are those of its
        // acquisition.
        unsafe { self.lock.read_unlock_irqrestore(IrqFlags::from_bits(READER.get())) }
    }
}
