//! The table of all locks that are tortured.

use lockwright::biased_rwlock::RawBiasedRwLock;
use lockwright::bkl::RawBkl;
use lockwright::hybrid_mutex::RawHybridMutex;
use lockwright::hybrid_rwlock::RawHybridRwLock;
use lockwright::mcs::RawMcs;
use lockwright::mutex::{Compact, RawMutex};
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
use super::irqsave::Irqsave;
use super::ops::Ops;

/// What is wrong with a lock that is broken on purpose, and hence what must find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Two can hold it: [`super::stress`].
    Exclusion,
    /// Readers can hold it with a writer: [`super::stress`].
    Readers,
    /// A waiter may wait for ever: [`super::stress`] gives it up.
    Wake,
    /// A deadline may be taken for an acquisition: [`super::stress`].
    Deadline,
    /// A signal in the middle of locking confuses it: [`super::stress`] with signals.
    Signal,
    /// It blocks no signals, and a handler waits for its own thread: [`super::stress`] with signals
    /// gives it up.
    Irq,
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
    /// Whether it is taken with signals blocked, so that a signal's handler may take this very one.
    pub irqsave: bool,
    /// Whether a waiter sleeps, at the latest after a while: a waiter of a higher priority
    /// then leaves the holder a CPU.
    pub sleeps: bool,
    /// Whether a new owner may free it, even if the one before has not returned from unlocking it.
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
            irqsave: false,
            sleeps: false,
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

    /// The row of a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TYPES.iter().find(|one| one.name == name)
    }

    const fn busted(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    const fn irq(mut self) -> Self {
        self.irq = true;
        self
    }

    const fn irqsave(mut self) -> Self {
        self.irqsave = true;
        self
    }

    const fn sleeps(mut self) -> Self {
        self.sleeps = true;
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
    Type::new::<busted::Wake>("lock_busted_wake").sleeps().busted(Fault::Wake),
    Type::new::<busted::Deadline>("lock_busted_deadline").busted(Fault::Deadline),
    Type::new::<busted::Signal>("lock_busted_signal").irq().busted(Fault::Signal),
    // One whose waiters sleep: threads that wait for ever then do so quietly.
    Type::new::<RawMutex<Linux>>("lock_busted_irq").sleeps().irqsave().busted(Fault::Irq),
    Type::new::<busted::Touch>("lock_busted_touch").busted(Fault::Touch),
    Type::new::<RawTas<Linux>>("tas").irq(),
    Type::new::<RawTicket<Linux>>("ticket").irq(),
    Type::new::<RawMcs<Linux>>("mcs").irq(),
    Type::new::<RawQspinlock<Linux>>("spin_lock").irq(),
    Type::new::<Irqsave<RawQspinlock<Linux>>>("spin_lock_irq").irqsave(),
    Type::new::<RawPvQspinlock<Linux, Hybrid>>("pv_spin_lock").irq(),
    Type::new::<RawPvQspinlock<Linux, SingleSteal>>("pv_spin_lock_steal_once").irq(),
    Type::new::<RawPvQspinlock<Linux, Unfair>>("pv_spin_lock_unfair").irq(),
    Type::new::<RawQrwLock<Linux>>("rw_lock").readers().irq(),
    Type::new::<Irqsave<RawQrwLock<Linux>>>("rw_lock_irq").readers().irqsave(),
    Type::new::<RawSeqLock<Linux>>("seqlock"),
    Type::new::<RawMutex<Linux>>("mutex_lock").sleeps(),
    Type::new::<RawMutex<Linux, Compact<Linux>>>("mutex_compact").sleeps(),
    Type::new::<RawHybridMutex<Linux>>("hybrid_mutex").sleeps(),
    Type::new::<RawHybridRwLock<Linux>>("hybrid_rwlock").sleeps().readers(),
    Type::new::<RawBiasedRwLock<Linux>>("biased_rwlock").sleeps().readers(),
    Type::new::<RawWwMutex<Linux>>("ww_mutex_lock").sleeps(),
    // As the kernel's, these look for waiters when they have let others in.
    Type::new::<RawRwSem<Linux>>("rwsem_lock").sleeps().readers().stays(),
    Type::new::<RawPercpuRwSem<Linux>>("percpu_rwsem_lock").sleeps().readers().stays(),
    Type::new::<RawRtMutex<Linux>>("rtmutex_lock").sleeps(),
    Type::new::<RawSemaphore<Linux>>("semaphore").sleeps(),
    Type::new::<RawBkl<Linux, RawTicket<Linux>>>("bkl_spinlock"),
    Type::new::<RawBkl<Linux, RawBinary<Linux>>>("bkl_semaphore").sleeps(),
];
