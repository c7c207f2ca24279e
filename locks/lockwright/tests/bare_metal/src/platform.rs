//! The world of a small kernel, as lockwright's locks see it: CPUs that are numbered, a clock, and
//! nothing to sleep in. A kernel with a scheduler parks the task in [`Cell::wait`] and makes it
//! runnable in [`Cell::wake`].

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

use lockwright::platform::patience::Patience;
use lockwright::platform::{Atomic, PerCpu, PerTask, Platform, Task, Word};

/// As many as the host has at most.
pub const CPUS: usize = 8;

/// What the host provides: here main.c, in a kernel its own code.
mod host {
    unsafe extern "C" {
        /// The number of this CPU, from 0.
        pub safe fn this_cpu() -> u32;
        /// Nanoseconds since some point.
        pub safe fn clock_ns() -> u64;
        /// Lets whatever else there is run on this CPU.
        pub safe fn pause_cpu();
    }
}

pub struct Bare;

/// A word of the locks.
#[repr(transparent)]
pub struct Cell(AtomicU32);

impl Atomic<u32> for Cell {
    fn new(value: u32) -> Self {
        Self(AtomicU32::new(value))
    }
    fn load(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }
    fn store(&self, value: u32, order: Ordering) {
        self.0.store(value, order);
    }
    fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.0.swap(value, order)
    }
    fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        self.0.compare_exchange(current, new, success, failure)
    }
    fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_add(value, order)
    }
    fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_sub(value, order)
    }
    fn fetch_and(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_and(value, order)
    }
    fn fetch_or(&self, value: u32, order: Ordering) -> u32 {
        self.0.fetch_or(value, order)
    }
}

impl Word for Cell {
    fn wait(&self, expected: u32, deadline: Option<u64>) -> bool {
        // Relaxed: to wait orders nothing.
        while self.0.load(Ordering::Relaxed) == expected {
            if deadline.is_some_and(|at| host::clock_ns() >= at) {
                return false;
            }
            host::pause_cpu();
        }
        true
    }

    /// A waiter polls the word.
    fn wake(_: *const Self, _: u32) {}
}

type Storage = PerCpu<Cell, AtomicUsize>;

struct AllCpus([MaybeUninit<Storage>; CPUS]);

// SAFETY: what the locks keep per CPU is made of atomics, or used by that CPU only.
unsafe impl Sync for AllCpus {}

static STORAGE: AllCpus = AllCpus([const { MaybeUninit::zeroed() }; CPUS]);

/// How long CPUs spin.
static PATIENCE: Patience = Patience::new();

impl Platform for Bare {
    type Word = Cell;
    type Long = AtomicUsize;

    fn relax() {
        core::hint::spin_loop();
    }

    fn fence(order: Ordering) {
        fence(order);
    }

    fn cpu() -> Option<u32> {
        Some(host::this_cpu())
    }

    fn cpus() -> u32 {
        CPUS as u32
    }

    fn per_cpu(cpu: u32) -> &'static Storage {
        // SAFETY: zeroed memory is a valid PerCpu, as its documentation says.
        unsafe { STORAGE.0[cpu as usize].assume_init_ref() }
    }

    /// One task a CPU.
    fn current() -> Task {
        Task::new((host::this_cpu() as usize + 1) * Task::ALIGN)
    }

    /// Only rtmutexes have use for it.
    fn per_task(_: Task) -> Option<&'static PerTask<Self::Word, Self::Long>> {
        None
    }

    /// A CPU of one's own need not be shared; these are threads, which must be.
    fn need_resched(rounds: u32) -> bool {
        PATIENCE.is_over(rounds, Self::now)
    }

    fn yield_now() {
        host::pause_cpu();
    }

    fn now() -> u64 {
        host::clock_ns()
    }
}
