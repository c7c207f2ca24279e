//! The parameters of torture, by the names of the kernel's module parameters.

use std::time::Duration;

use serde::{Serialize, Serializer};

/// Locks that a writer may take before the one under torture, at most.
pub const MAX_NESTED_LOCKS: usize = 8;

/// What is done to a lock. Times of zero and counts of zero switch things off.
#[derive(Clone, Debug, Serialize)]
pub struct Parameters {
    /// Threads that write.
    pub nwriters_stress: usize,
    /// Threads that read, of a lock that has readers.
    pub nreaders_stress: usize,
    /// When the threads are stopped. Zero: when each has its `acquisitions`, or the
    /// [`super::Watcher`] ends it.
    #[serde(serialize_with = "seconds")]
    pub shutdown_secs: Duration,
    /// Acquisitions after which a thread ends.
    pub acquisitions: u64,
    /// Acquisitions after which a thread ends and another takes its place.
    pub restart_after: u64,
    /// How long all CPUs are used before the first is left out.
    #[serde(serialize_with = "seconds")]
    pub onoff_holdoff: Duration,
    /// How often the threads leave a random CPU, or come back to it: for them it is off line.
    #[serde(serialize_with = "seconds")]
    pub onoff_interval: Duration,
    /// How often another CPU is left idle, one after the other.
    #[serde(serialize_with = "seconds")]
    pub shuffle_interval: Duration,
    /// How often the [`super::Watcher`] is shown statistics.
    #[serde(serialize_with = "seconds")]
    pub stat_interval: Duration,
    /// How long the threads run before they pause for as long.
    #[serde(serialize_with = "seconds")]
    pub stutter: Duration,
    /// How long a long hold is. They are rare.
    #[serde(serialize_with = "seconds")]
    pub long_hold: Duration,
    /// Locks of the same type, at most [`MAX_NESTED_LOCKS`], of which a writer takes some before.
    pub nested_locks: usize,
    /// Which threads sometimes have a real-time priority.
    pub rt_boost: RtBoost,
    /// Acquisitions of each thread, on average, before it is boosted.
    pub rt_boost_factor: u64,
    /// How long a writer may wait.
    #[serde(serialize_with = "seconds")]
    pub acq_writer_lim: Duration,
    /// Whether signals come all the time.
    pub signals: bool,
    /// Whether threads are stopped for short times, wherever they are. Implies `signals`.
    pub stops: bool,
    /// The seed of the random numbers: with the same one the threads decide alike. The system still
    /// decides when each of them runs.
    pub seed: u64,
    /// How long nothing may happen before the threads that are left are given up (`rcutorture`'s
    /// stall timeout).
    #[serde(serialize_with = "seconds")]
    pub stall: Duration,
}

/// Which threads sometimes have a real-time priority (SCHED_FIFO), which takes CAP_SYS_NICE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RtBoost {
    /// None.
    Never,
    /// Those of the rtmutex, whose owner inherits it.
    RtMutex,
    /// Those of all locks whose waiters sleep. With other locks the holder might never run again.
    Sleeping,
}

impl Parameters {
    /// Two undisturbed writers and two undisturbed readers, for as long as the watcher wants.
    pub const fn calm() -> Self {
        Self {
            nwriters_stress: 2,
            nreaders_stress: 2,
            shutdown_secs: Duration::ZERO,
            acquisitions: 0,
            restart_after: 0,
            onoff_holdoff: Duration::ZERO,
            onoff_interval: Duration::ZERO,
            shuffle_interval: Duration::ZERO,
            stat_interval: Duration::ZERO,
            stutter: Duration::ZERO,
            long_hold: Duration::from_millis(1),
            nested_locks: 0,
            rt_boost: RtBoost::Never,
            rt_boost_factor: 50,
            acq_writer_lim: Duration::ZERO,
            signals: false,
            stops: false,
            seed: 1,
            stall: Duration::from_secs(60),
        }
    }
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}
