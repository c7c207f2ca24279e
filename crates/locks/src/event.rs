//! Lock events: what the slow paths of locks do, counted per thread under the kernel's names
//! (`kernel/locking/lock_events_list.h`; read there under `/sys/kernel/debug/lock_event_counts`).
//!
//! A lock over [`Counted<P>`] counts; over `P` alone it has no code for it at all.

use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::Ordering;
use core::sync::atomic::Ordering::Relaxed;

use crate::platform::{Atomic, PerCpu, PerTask, Platform, Task};

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal,)*) => {
        /// A lock event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Event { $($(#[$doc])* $event,)* }

        impl Event {
            /// All of them, in the order of the kernel's list.
            pub const ALL: &[Self] = &[$(Self::$event,)*];

            /// The kernel's name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$event => $name,)* }
            }
        }
    };
}

events! {
    /// Locks put into the hash table, and probes beyond the first.
    PvHashHops = "pv_hash_hops",
    /// Kicks at unlock.
    PvKickUnlock = "pv_kick_unlock",
    /// Kicks that woke who was to be woken.
    PvKickWake = "pv_kick_wake",
    /// Nanoseconds that kicks took.
    PvLatencyKick = "pv_latency_kick",
    /// Nanoseconds from kick to running.
    PvLatencyWake = "pv_latency_wake",
    /// Locks taken ahead of the queue.
    PvLockStealing = "pv_lock_stealing",
    /// Wake-ups with nothing to do.
    PvSpuriousWakeup = "pv_spurious_wakeup",
    /// Queue heads that had to halt again.
    PvWaitAgain = "pv_wait_again",
    /// Waits ended early because the predecessor did not run.
    PvWaitEarly = "pv_wait_early",
    /// Queue heads that halted.
    PvWaitHead = "pv_wait_head",
    /// Others in the queue that halted.
    PvWaitNode = "pv_wait_node",
    /// Waits as the pending one.
    LockPending = "lock_pending",
    /// Slow paths that queued.
    LockSlowpath = "lock_slowpath",
    /// Uses of a CPU's second queue node.
    LockUseNode2 = "lock_use_node2",
    /// Uses of a CPU's third queue node.
    LockUseNode3 = "lock_use_node3",
    /// Uses of a CPU's fourth queue node.
    LockUseNode4 = "lock_use_node4",
    /// Slow paths without a queue node.
    LockNoNode = "lock_no_node",
    /// Readers that slept.
    RwsemSleepReader = "rwsem_sleep_reader",
    /// Writers that slept.
    RwsemSleepWriter = "rwsem_sleep_writer",
    /// Readers woken.
    RwsemWakeReader = "rwsem_wake_reader",
    /// Writers woken.
    RwsemWakeWriter = "rwsem_wake_writer",
    /// Writers that got the lock by optimistic spinning.
    RwsemOptLock = "rwsem_opt_lock",
    /// Optimistic spinning in vain.
    RwsemOptFail = "rwsem_opt_fail",
    /// Optimistic spinning not tried, as the owner is not to be spun on.
    RwsemOptNospin = "rwsem_opt_nospin",
    /// Readers that got the lock in the slow path.
    RwsemRlock = "rwsem_rlock",
    /// Readers that stole it.
    RwsemRlockSteal = "rwsem_rlock_steal",
    /// Readers that got it as soon as they looked again.
    RwsemRlockFast = "rwsem_rlock_fast",
    /// Readers that gave up.
    RwsemRlockFail = "rwsem_rlock_fail",
    /// Hand-offs to readers.
    RwsemRlockHandoff = "rwsem_rlock_handoff",
    /// Writers that got the lock in the slow path.
    RwsemWlock = "rwsem_wlock",
    /// Writers that gave up.
    RwsemWlockFail = "rwsem_wlock_fail",
    /// Hand-offs to writers.
    RwsemWlockHandoff = "rwsem_wlock_handoff",
}

/// Counts by event, of one CPU: as many as [`Event::ALL`], in its order.
pub(crate) struct Counts<L>([L; Event::ALL.len()]);

impl<L: Atomic<usize>> Counts<L> {
    pub(crate) fn new() -> Self {
        Self(core::array::from_fn(|_| L::new(0)))
    }

    /// Adds to the calling CPU's own count.
    fn add(&self, event: Event, n: usize) {
        // Relaxed: a statistic. No atomic addition, as only the CPU's own thread adds; what a
        // signal handler counts in between may be lost.
        let count = &self.0[event as usize];
        count.store(count.load(Relaxed).wrapping_add(n), Relaxed);
    }
}

/// What was counted over all CPUs. Shown, it is a table: a line for each event, as the kernel's
/// files of `lock_event_counts` have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events([usize; Event::ALL.len()]);

impl Events {
    /// What was counted since a platform's start. Threads go on counting meanwhile.
    pub fn of<P: Platform>() -> Self {
        // Relaxed: as in `Counts::add`.
        let sum = |index: usize| {
            (0..P::cpus()).map(|cpu| P::per_cpu(cpu).counts.0[index].load(Relaxed)).sum()
        };
        Self(core::array::from_fn(sum))
    }

    /// What was counted of an event.
    pub fn get(&self, event: Event) -> usize {
        self.0[event as usize]
    }

    /// What was counted after `earlier` was taken.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(core::array::from_fn(|index| self.0[index].wrapping_sub(earlier.0[index])))
    }
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Event::ALL
            .iter()
            .try_for_each(|event| writeln!(f, "{:<22} {:>12}", event.name(), self.get(*event)))
    }
}

/// The platform `P`, with lock events counted. What threads without a number do is not.
#[derive(Debug)]
pub struct Counted<P>(PhantomData<P>);

impl<P: Platform> Platform for Counted<P> {
    type Word = P::Word;
    type Long = P::Long;

    const SPIN_THRESHOLD: u32 = P::SPIN_THRESHOLD;
    const PENDING_LOOPS: u32 = P::PENDING_LOOPS;
    const COUNTS: bool = true;

    #[inline(always)]
    fn relax() {
        P::relax();
    }
    #[inline(always)]
    fn fence(order: Ordering) {
        P::fence(order);
    }
    #[inline(always)]
    fn light_barrier() {
        P::light_barrier();
    }
    fn heavy_barrier() {
        P::heavy_barrier();
    }
    #[inline(always)]
    fn cpu() -> Option<u32> {
        P::cpu()
    }
    fn cpus() -> u32 {
        P::cpus()
    }
    #[inline]
    fn per_cpu(cpu: u32) -> &'static PerCpu<P::Word, P::Long> {
        P::per_cpu(cpu)
    }
    #[inline(always)]
    fn current() -> Task {
        P::current()
    }
    fn per_task(task: Task) -> Option<&'static PerTask<P::Word, P::Long>> {
        P::per_task(task)
    }
    fn is_running(task: Task) -> bool {
        P::is_running(task)
    }
    fn is_preempted(cpu: u32) -> bool {
        P::is_preempted(cpu)
    }
    #[inline]
    fn need_resched(rounds: u32) -> bool {
        P::need_resched(rounds)
    }
    fn yield_now() {
        P::yield_now();
    }
    fn now() -> u64 {
        P::now()
    }
    fn in_interrupt() -> bool {
        P::in_interrupt()
    }
    fn priority() -> i32 {
        P::priority()
    }
    fn set_priority(task: Task, inherited: Option<i32>) {
        P::set_priority(task, inherited);
    }
    #[inline]
    fn count(event: Event, n: usize) {
        if let Some(cpu) = P::cpu() {
            P::per_cpu(cpu).counts.add(event, n);
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::string::ToString;

    use super::*;
    use crate::platform::linux::Linux;

    #[test]
    fn events_are_counted_by_counting_platforms_only_and_shown_by_name() {
        let before = Events::of::<Linux>();
        Linux::count(Event::LockNoNode, 3);
        assert_eq!(Events::of::<Linux>().since(&before).get(Event::LockNoNode), 0);
        Counted::<Linux>::count(Event::LockNoNode, 3);
        let counted = Events::of::<Linux>().since(&before);
        assert_eq!(counted.get(Event::LockNoNode), 3);
        let text = counted.to_string();
        assert!(text.contains("lock_no_node                      3\n"), "{text}");
        assert_eq!(text.lines().count(), Event::ALL.len());
    }
}
