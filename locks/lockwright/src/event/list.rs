//! The lock events.

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal $(/ $per:ident, $digits:literal)?;)*) => {
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

            /// The event that this one is shown as an average of, and with how many digits after
            /// the point; none: it is shown as counted.
            pub(super) const fn average(self) -> Option<(Self, usize)> {
                #[allow(unused_mut, unused_assignments, reason = "of those without one")]
                match self { $(Self::$event => {
                    let mut average = None;
                    $(average = Some((Self::$per, $digits));)?
                    average
                })* }
            }
        }
    };
}

events! {
    /// Buckets looked at where locks were put into the hash table. Shown for each kick at unlock.
    PvHashHops = "pv_hash_hops" / PvKickUnlock, 2;
    /// Kicks at unlock.
    PvKickUnlock = "pv_kick_unlock";
    /// Kicks that woke the right waiter.
    PvKickWake = "pv_kick_wake";
    /// Nanoseconds that kicks took. Shown for each kick at unlock.
    PvLatencyKick = "pv_latency_kick" / PvKickUnlock, 0;
    /// Nanoseconds from kick to running. Shown for each kick that woke somebody.
    PvLatencyWake = "pv_latency_wake" / PvKickWake, 0;
    /// Locks taken ahead of the queue.
    PvLockStealing = "pv_lock_stealing";
    /// Wake-ups with nothing to do.
    PvSpuriousWakeup = "pv_spurious_wakeup";
    /// Queue heads that had to halt again.
    PvWaitAgain = "pv_wait_again";
    /// Waits ended early because the predecessor did not run.
    PvWaitEarly = "pv_wait_early";
    /// Queue heads that halted.
    PvWaitHead = "pv_wait_head";
    /// Others in the queue that halted.
    PvWaitNode = "pv_wait_node";
    /// Waits as the pending one.
    LockPending = "lock_pending";
    /// Slow paths that queued.
    LockSlowpath = "lock_slowpath";
    /// Uses of a CPU's second queue node.
    LockUseNode2 = "lock_use_node2";
    /// Uses of a CPU's third queue node.
    LockUseNode3 = "lock_use_node3";
    /// Uses of a CPU's fourth queue node.
    LockUseNode4 = "lock_use_node4";
    /// Slow paths without a queue node.
    LockNoNode = "lock_no_node";
    /// Readers that slept.
    RwsemSleepReader = "rwsem_sleep_reader";
    /// Writers that slept.
    RwsemSleepWriter = "rwsem_sleep_writer";
    /// Readers woken.
    RwsemWakeReader = "rwsem_wake_reader";
    /// Writers woken.
    RwsemWakeWriter = "rwsem_wake_writer";
    /// Writers that got the lock by optimistic spinning.
    RwsemOptLock = "rwsem_opt_lock";
    /// Optimistic spinning in vain.
    RwsemOptFail = "rwsem_opt_fail";
    /// Optimistic spinning not tried, as the owner is not to be spun on.
    RwsemOptNospin = "rwsem_opt_nospin";
    /// Readers that got the lock in the slow path.
    RwsemRlock = "rwsem_rlock";
    /// Readers that stole it.
    RwsemRlockSteal = "rwsem_rlock_steal";
    /// Readers that got it as soon as they looked again.
    RwsemRlockFast = "rwsem_rlock_fast";
    /// Readers that gave up.
    RwsemRlockFail = "rwsem_rlock_fail";
    /// Hand-offs to readers.
    RwsemRlockHandoff = "rwsem_rlock_handoff";
    /// Writers that got the lock in the slow path.
    RwsemWlock = "rwsem_wlock";
    /// Writers that gave up.
    RwsemWlockFail = "rwsem_wlock_fail";
    /// Hand-offs to writers.
    RwsemWlockHandoff = "rwsem_wlock_handoff";
    /// Slow paths of the rtmutex.
    RtmutexSlowlock = "rtmutex_slowlock";
    /// Slow paths that had to wait.
    RtmutexSlowBlock = "rtmutex_slow_block";
    /// Rtmutexes that were free when the slow path looked.
    RtmutexSlowAcq1 = "rtmutex_slow_acq1";
    /// The ends of waits.
    RtmutexSlowAcq2 = "rtmutex_slow_acq2";
    /// The steps of a waiter's loop.
    RtmutexSlowAcq3 = "rtmutex_slow_acq3";
    /// Waiters that slept.
    RtmutexSlowSleep = "rtmutex_slow_sleep";
    /// Waits refused, as they would have had no end.
    RtmutexDeadlock = "rtmutex_deadlock";
}
