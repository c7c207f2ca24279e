//! The services that a lock may use, on one page.
//!
//! Each lock of this crate is written once, over [`Platform`], and runs in several worlds: Linux
//! ([`linux::Linux`]), a model checker that tries every interleaving (`locks/models`), a simulator,
//! and any kernel or hypervisor that implements the trait.
//!
//! The parts of platforms have their own files: the atomics of `core` are cells ([`Atomic`]), the lowest byte of a word
//! ([`low_byte`]), numbers for threads ([`numbers`]), and how long threads spin ([`patience`]).
//!
//! The words of the trait are the kernel's. In user space a *CPU* is a thread: what the kernel
//! keeps per CPU because nothing else runs there meanwhile, a thread keeps for itself. A spinner
//! must then end its spinning by itself, as a thread can be preempted where a kernel's spinner
//! cannot.

mod arch;
mod atomic;
#[cfg(feature = "std")]
mod boost;
#[cfg(feature = "std")]
mod cpus;
#[cfg(feature = "std")]
mod fork;
#[cfg(feature = "std")]
pub mod linux;
pub mod low_byte;
pub mod numbers;
pub mod patience;
mod per_cpu;
mod per_task;
#[cfg(feature = "std")]
mod pi_futex;
pub(crate) mod short_lock;
#[cfg(feature = "std")]
mod system_call;
mod task;
mod word;

use core::sync::atomic::Ordering;

pub use per_cpu::PerCpu;
pub use per_task::PerTask;
pub use task::Task;
pub use word::{Atomic, Waited, Word};

use crate::event::Event;

/// The world that locks live in. Implemented by a type without values; all functions speak of the
/// calling thread unless they name another.
///
/// Nothing here may take a lock of this crate that its caller may hold.
pub trait Platform: Sized + Send + Sync + 'static {
    /// The word that locks are made of.
    type Word: Word;
    /// A word of the size of a pointer: owners, queues, counts of 64 bits.
    type Long: Atomic<usize>;

    /// Rounds of spinning before a paravirtual lock halts its CPU (the kernel's SPIN_THRESHOLD).
    const SPIN_THRESHOLD: u32 = 1 << 15;
    /// Rounds that the second waiter of a qspinlock waits for the hand-over from pending to locked
    /// (the kernel's _Q_PENDING_LOOPS).
    const PENDING_LOOPS: u32 = 1 << 9;

    /// Whether a CPU is a thread: [`Platform::cpu`] always returns the same number to a thread.
    const CPUS_ARE_THREADS: bool = false;

    /// Whether [`Platform::count`] counts: what an event takes, other than the counting, is worth
    /// taking.
    const COUNTS: bool = false;

    /// One round of a spinning loop: PAUSE.
    fn relax();

    /// So many of them.
    #[inline]
    fn pause(rounds: u32) {
        (0..rounds).for_each(|_| Self::relax());
    }

    /// A round of a spinning loop that looks at the same words until one of them changes, or as
    /// many as `most` of them. Returns how many: one, where all are gone through. In virtual time
    /// those in which nothing can have changed need not be.
    #[inline(always)]
    fn relax_rounds(most: u32) -> u32 {
        let _ = most;
        Self::relax();
        1
    }

    /// A fence, as `core::sync::atomic::fence`.
    #[track_caller]
    fn fence(order: Ordering);

    /// A fence of SeqCst that follows an atomic exchange or arithmetic of the same thread (the
    /// kernel's smp_mb__after_atomic). Free where these are fences themselves.
    #[track_caller]
    fn fence_after_atomic() {
        Self::fence(Ordering::SeqCst);
    }

    /// The frequent side of an asymmetric barrier: with [`Platform::heavy_barrier`] on the other
    /// side it orders as two fences of SeqCst do. Free where the heavy side can interrupt all CPUs.
    #[track_caller]
    fn light_barrier() {
        Self::fence(Ordering::SeqCst);
    }

    /// The rare side of an asymmetric barrier (membarrier; the kernel's RCU grace period).
    #[track_caller]
    fn heavy_barrier() {
        Self::fence(Ordering::SeqCst);
    }

    /// The number of this CPU, from 0, dense, its own as long as it does not sleep outside of a
    /// lock's waiting. None: there are more than the platform numbers; a lock must then do without
    /// its queue.
    fn cpu() -> Option<u32>;

    /// All numbers of CPUs are below this.
    fn cpus() -> u32;

    /// The locks' data for a CPU.
    ///
    /// # Panics
    /// If `cpu` is not below [`Platform::cpus`].
    fn per_cpu(cpu: u32) -> &'static PerCpu<Self::Word, Self::Long>;

    /// The running task.
    fn current() -> Task;

    /// The locks' data for a task, also for one that has ended. None: it has no storage; it
    /// inherits no priority then, and a search for deadlocks ends at it.
    fn per_task(task: Task) -> Option<&'static PerTask<Self::Word, Self::Long>>;

    /// Whether a task is on a CPU, as far as the platform knows: to spin for one that is not is in
    /// vain. The task may have ended.
    fn is_running(task: Task) -> bool {
        let _ = task;
        true
    }

    /// Whether a thread that has spun for so many rounds should let others run (the kernel's
    /// need_resched; its spinners know that somebody waits for the CPU, ours only how long they
    /// have spun).
    fn need_resched(rounds: u32) -> bool;

    /// After how many rounds it should, or a little more: a measure of time for those who do not look in
    /// each round, as PAUSE takes 10 cycles on some processors and 140 on others.
    fn patience() -> u32 {
        let mut doubled = (0..12).map(|power| 1 << power);
        doubled.find(|rounds| Self::need_resched(*rounds)).unwrap_or(1 << 12)
    }

    /// Gives the CPU away for once.
    fn yield_now();

    /// Nanoseconds of a monotonic clock.
    fn now() -> u64;

    /// How often this process and its forebears have been forked from another, modulo 2^32: what a
    /// lock knows of waiters from before that is about threads of another process.
    fn generation() -> u32 {
        0
    }

    /// Whether this is a signal or interrupt handler: it must not wait for what it has interrupted.
    fn in_interrupt() -> bool {
        false
    }

    /// The priority that the running task has by itself, whatever it inherits; higher goes first.
    fn priority() -> i32 {
        0
    }

    /// Lets a task run at the higher one of its own priority and `inherited`, if that can be done
    /// here; none: at its own again.
    fn set_priority(task: Task, inherited: Option<i32>) {
        let _ = (task, inherited);
    }

    /// Takes the lock in a word, 0 if it is free, which is held for a few instructions (the kernel's
    /// raw spinlock). Acquires. Returns the argument for [`Platform::raw_unlock`].
    ///
    /// The promises of an rtmutex rest on it: where threads have priorities, the holder must run at
    /// its waiters' priority, or not be preempted at all. This one, for platforms without
    /// priorities, spins for a while and sleeps.
    #[inline]
    fn raw_lock(word: &Self::Word) -> u32 {
        short_lock::lock(word, spins::<Self>);
        0
    }

    /// Releases the lock in a word. Releases memory, too; the word may be gone before this returns.
    ///
    /// # Safety
    /// The calling thread holds it, and `key` is what [`Platform::raw_lock`] has returned.
    #[inline]
    unsafe fn raw_unlock(word: *const Self::Word, key: u32) {
        let _ = key;
        // SAFETY: by contract the calling thread holds the lock in `word`, which `short_lock::lock`
        // took.
        unsafe { short_lock::unlock(word) }
    }

    /// Counts a lock event `n` times. [`crate::event::Counted`] does; the others have no code here.
    #[inline(always)]
    fn count(event: Event, n: usize) {
        let _ = (event, n);
    }
}

/// Spins until `condition` holds (the kernel's smp_cond_load). For what is about to happen: who
/// might have to wait for a preempted thread sleeps instead.
#[inline]
pub fn await_until<P: Platform>(mut condition: impl FnMut() -> bool) {
    let mut rounds: u32 = 0;
    while !condition() {
        rounds += 1;
        if P::need_resched(rounds) {
            P::yield_now();
            rounds = 0;
        } else {
            // The first of them is counted above.
            rounds = rounds.saturating_add(P::relax_rounds(u32::MAX) - 1);
        }
    }
}

/// A round of spinning for a lock that is held for a few instructions. False: after so many rounds the thread
/// should sleep instead.
#[inline]
pub(crate) fn spins<P: Platform>(rounds: u32) -> bool {
    if P::need_resched(rounds) {
        return false;
    }
    P::relax();
    true
}
