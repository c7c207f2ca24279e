//! What can be done with a lock, and the table of all that are tortured.

use lockwright::bkl::RawBkl;
use lockwright::exclusive::Exclusive;
use lockwright::mcs::RawMcs;
use lockwright::mutex::RawMutex;
use lockwright::percpu_rwsem::RawPercpuRwSem;
use lockwright::platform::linux::Linux;
use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};
use lockwright::qrwlock::RawQrwLock;
use lockwright::qspinlock::RawQspinlock;
use lockwright::rtmutex::RawRtMutex;
use lockwright::rwsem::RawRwSem;
use lockwright::semaphore::{RawBinary, RawSemaphore};
use lockwright::seqlock::RawSeqLock;
use lockwright::tas::RawTas;
use lockwright::ticket::RawTicket;
use lockwright::ww_mutex::RawWwMutex;

use super::busted;

/// A lock under torture (the kernel's `lock_torture_ops`). Without readers, reads are writes; what
/// it cannot do, it does by plain locking.
pub trait Ops: Send + Sync {
    /// A free lock.
    fn new() -> Self
    where
        Self: Sized;

    /// Takes it exclusively.
    fn writelock(&self);

    /// Takes it exclusively if that needs no waiting.
    fn try_writelock(&self) -> bool {
        self.writelock();
        true
    }

    /// Takes it exclusively, or gives up when `deadline` (nanoseconds of CLOCK_MONOTONIC) has come.
    fn writelock_until(&self, deadline: u64) -> bool {
        let _ = deadline;
        self.writelock();
        true
    }

    /// Releases what was taken exclusively.
    ///
    /// # Safety
    /// The calling thread holds it so.
    unsafe fn writeunlock(&self);

    /// Turns the exclusive hold into a shared one. False: it cannot.
    ///
    /// # Safety
    /// The calling thread holds it exclusively.
    unsafe fn downgrade(&self) -> bool {
        false
    }

    /// Takes it shared.
    fn readlock(&self) {
        self.writelock();
    }

    /// Takes it shared if that needs no waiting.
    fn try_readlock(&self) -> bool {
        self.try_writelock()
    }

    /// Takes it shared, or gives up when `deadline` has come.
    fn readlock_until(&self, deadline: u64) -> bool {
        self.writelock_until(deadline)
    }

    /// Releases what was taken shared.
    ///
    /// # Safety
    /// The calling thread holds it so.
    unsafe fn readunlock(&self) {
        // SAFETY: as our caller promises; taken by `writelock`.
        unsafe { self.writeunlock() }
    }
}

/// What is wrong with a lock that is broken on purpose, and hence what must find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Two can hold it: [`super::stress`].
    Exclusion,
    /// Readers can hold it with a writer: [`super::stress`].
    Readers,
    /// Who waits may wait for ever: [`super::stress`] gives it up.
    Wake,
    /// A deadline may be taken for an acquisition: [`super::stress`].
    Deadline,
    /// A signal in the middle of locking confuses it: [`super::stress`] with signals.
    Signal,
    /// It is touched after it is released: [`super::freed`].
    Touch,
}

/// A row of [`TYPES`].
#[derive(Clone, Copy)]
pub struct Type {
    /// Its name (the kernel's `torture_type`).
    pub name: &'static str,
    /// What is wrong with it; none: nothing should be.
    pub fault: Option<Fault>,
    /// Whether readers share it.
    pub readers: bool,
    /// Whether a signal's handler may take another one of the same kind, whatever it has
    /// interrupted.
    pub irq: bool,
    /// Whether who gets it may free it, also if the one before has not come back from unlocking it.
    pub frees: bool,
    pub(super) boxed: fn() -> Box<dyn Ops>,
    /// One at an address: memory of a page's size and alignment.
    pub(super) place: unsafe fn(*mut u8) -> *const dyn Ops,
}

impl std::fmt::Debug for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Type")
            .field("name", &self.name)
            .field("fault", &self.fault)
            .finish_non_exhaustive()
    }
}

impl Type {
    const fn new<L: Ops + 'static>(name: &'static str) -> Self {
        Self {
            name,
            fault: None,
            readers: false,
            irq: false,
            frees: true,
            boxed: || Box::new(L::new()),
            place: |at| {
                const { assert!(size_of::<L>() <= super::arena::PAGE) };
                let lock = at.cast::<L>();
                // SAFETY: memory of a page, by the field's contract.
                unsafe { lock.write(L::new()) };
                lock as *const dyn Ops
            },
        }
    }

    const fn busted(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    const fn irq(mut self) -> Self {
        self.irq = true;
        self
    }

    const fn readers(mut self) -> Self {
        self.readers = true;
        self
    }

    const fn stays(mut self) -> Self {
        self.frees = false;
        self
    }
}

/// All of them, the broken ones first.
pub const TYPES: &[Type] = &[
    Type::new::<busted::Lock>("lock_busted").busted(Fault::Exclusion),
    Type::new::<busted::Readers>("lock_busted_readers").readers().busted(Fault::Readers),
    Type::new::<busted::Wake>("lock_busted_wake").busted(Fault::Wake),
    Type::new::<busted::Deadline>("lock_busted_deadline").busted(Fault::Deadline),
    Type::new::<busted::Signal>("lock_busted_signal").irq().busted(Fault::Signal),
    Type::new::<busted::Touch>("lock_busted_touch").busted(Fault::Touch),
    Type::new::<RawTas<Linux>>("tas").irq(),
    Type::new::<RawTicket<Linux>>("ticket").irq(),
    Type::new::<RawMcs<Linux>>("mcs").irq(),
    Type::new::<RawQspinlock<Linux>>("spin_lock").irq(),
    Type::new::<RawPvQspinlock<Linux, Hybrid>>("pv_spin_lock").irq(),
    Type::new::<RawPvQspinlock<Linux, SingleSteal>>("pv_spin_lock_steal_once").irq(),
    Type::new::<RawPvQspinlock<Linux, Unfair>>("pv_spin_lock_unfair").irq(),
    Type::new::<RawQrwLock<Linux>>("rw_lock").readers().irq(),
    Type::new::<RawSeqLock<Linux>>("seqlock"),
    Type::new::<RawMutex<Linux>>("mutex_lock"),
    Type::new::<RawWwMutex<Linux>>("ww_mutex_lock"),
    // As the kernel's, these look for waiters when they have let others in.
    Type::new::<RawRwSem<Linux>>("rwsem_lock").readers().stays(),
    Type::new::<RawPercpuRwSem<Linux>>("percpu_rwsem_lock").readers().stays(),
    Type::new::<RawRtMutex<Linux>>("rtmutex_lock"),
    Type::new::<RawSemaphore<Linux>>("semaphore"),
    Type::new::<RawBkl<Linux, RawTicket<Linux>>>("bkl_spinlock"),
    Type::new::<RawBkl<Linux, RawBinary<Linux>>>("bkl_semaphore"),
];

/// The operations of locks that have no more to them than the names of their methods: of writers;
/// of readers, where they are others; and by a deadline, where the lock knows any.
macro_rules! ops {
    ($($lock:ty { $($row:tt)* })*) => {$(
        impl Ops for $lock {
            fn new() -> Self {
                Self::new_in()
            }
            ops!(@rows $($row)*);
        }
    )*};
    (@rows write: $write:ident $try_write:ident $unlock:ident; $($rest:tt)*) => {
        fn writelock(&self) {
            self.$write();
        }
        fn try_writelock(&self) -> bool {
            self.$try_write()
        }
        unsafe fn writeunlock(&self) {
            // SAFETY: as our caller promises.
            unsafe { self.$unlock() }
        }
        ops!(@rows $($rest)*);
    };
    (@rows write until: $write_until:ident; $($rest:tt)*) => {
        fn writelock_until(&self, deadline: u64) -> bool {
            self.$write_until(Some(deadline))
        }
        ops!(@rows $($rest)*);
    };
    (@rows read: $read:ident $try_read:ident $unlock:ident; $($rest:tt)*) => {
        fn readlock(&self) {
            self.$read();
        }
        fn try_readlock(&self) -> bool {
            self.$try_read()
        }
        unsafe fn readunlock(&self) {
            // SAFETY: as our caller promises.
            unsafe { self.$unlock() }
        }
        ops!(@rows $($rest)*);
    };
    (@rows read until: $read_until:ident; $($rest:tt)*) => {
        fn readlock_until(&self, deadline: u64) -> bool {
            self.$read_until(Some(deadline))
        }
        ops!(@rows $($rest)*);
    };
    (@rows read until: never $read:ident; $($rest:tt)*) => {
        fn readlock_until(&self, _deadline: u64) -> bool {
            self.$read();
            true
        }
        ops!(@rows $($rest)*);
    };
    (@rows downgrade: $downgrade:ident; $($rest:tt)*) => {
        unsafe fn downgrade(&self) -> bool {
            // SAFETY: as our caller promises.
            unsafe { self.$downgrade() };
            true
        }
        ops!(@rows $($rest)*);
    };
    (@rows) => {};
}

ops! {
    RawTas<Linux> { write: lock try_lock unlock; }
    RawTicket<Linux> { write: lock try_lock unlock; }
    RawMcs<Linux> { write: lock try_lock unlock; }
    RawQspinlock<Linux> { write: lock try_lock unlock; }
    RawPvQspinlock<Linux, Hybrid> { write: lock try_lock unlock; }
    RawPvQspinlock<Linux, SingleSteal> { write: lock try_lock unlock; }
    RawPvQspinlock<Linux, Unfair> { write: lock try_lock unlock; }
    RawMutex<Linux> {
        write: lock try_lock unlock;
        write until: lock_until;
    }
    RawQrwLock<Linux> {
        write: write_lock try_write_lock write_unlock;
        read: read_lock try_read_lock read_unlock;
        read until: never read_lock;
    }
    // Its writers, and the readers that exclude them; those that look again are its own tests'
    // business.
    RawSeqLock<Linux> { write: write_lock try_write_lock write_unlock; }
    RawPercpuRwSem<Linux> {
        write: down_write try_down_write up_write;
        read: down_read try_down_read up_read;
        read until: never down_read;
    }
    RawRwSem<Linux> {
        write: down_write try_down_write up_write;
        write until: down_write_until;
        downgrade: downgrade_write;
        read: down_read try_down_read up_read;
        read until: down_read_until;
    }
}

/// Without a context, as a mutex; what contexts are for is its own tests' business.
impl Ops for RawWwMutex<Linux> {
    fn new() -> Self {
        Self::new_in()
    }
    fn writelock(&self) {
        // SAFETY: no context.
        unsafe { self.lock(None) }.expect("only contexts are refused");
    }
    fn try_writelock(&self) -> bool {
        // SAFETY: no context.
        unsafe { self.try_lock(None) }
    }
    fn writelock_until(&self, deadline: u64) -> bool {
        // SAFETY: no context.
        unsafe { self.lock_until(None, Some(deadline)) }.is_ok()
    }
    unsafe fn writeunlock(&self) {
        // SAFETY: as our caller promises.
        unsafe { self.unlock() }
    }
}

impl Ops for RawRtMutex<Linux> {
    fn new() -> Self {
        Self::new_in()
    }
    fn writelock(&self) {
        self.lock();
    }
    fn try_writelock(&self) -> bool {
        self.try_lock()
    }
    fn writelock_until(&self, deadline: u64) -> bool {
        self.lock_until(Some(deadline)).is_ok()
    }
    unsafe fn writeunlock(&self) {
        // SAFETY: as our caller promises.
        unsafe { self.unlock() }
    }
}

impl Ops for RawSemaphore<Linux> {
    fn new() -> Self {
        Self::new(1)
    }
    fn writelock(&self) {
        self.down();
    }
    fn try_writelock(&self) -> bool {
        self.try_down()
    }
    fn writelock_until(&self, deadline: u64) -> bool {
        self.down_until(Some(deadline))
    }
    unsafe fn writeunlock(&self) {
        self.up();
    }
}

impl<L: Exclusive> Ops for RawBkl<Linux, L> {
    fn new() -> Self {
        Self::new_in()
    }
    fn writelock(&self) {
        self.lock();
        self.lock();
        self.schedule(|| ());
    }
    fn try_writelock(&self) -> bool {
        self.try_lock() && self.try_lock()
    }
    unsafe fn writeunlock(&self) {
        // SAFETY: as our caller promises; taken twice.
        unsafe {
            self.unlock();
            self.unlock();
        }
    }
}
