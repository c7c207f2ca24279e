//! What was published of the kernel's locks, as data.

/// The hybrid spinlock where there are more virtual CPUs than real ones (Waiman Long,
/// *locking/pvqspinlock: Implement hybrid PV queued/unfair locks*, 2017), on 36 cores of Xeon
/// E5-2699 v3.
pub struct OverCommit {
    /// Virtual CPUs, each with a thread.
    pub vcpus: u64,
    /// Virtual CPUs for each core.
    pub times: f64,
    /// Operations of a thread in 5 s of the microbenchmark: least, mean, most.
    pub operations: Option<Locks<[u64; 3]>>,
    /// Acquisitions of the hybrid lock in queued and in unfair mode, during a build of the kernel.
    pub modes: Option<[u64; 2]>,
}

/// A figure of both locks.
pub struct Locks<T> {
    pub hybrid: T,
    pub unfair: T,
}

/// Points of the microbenchmark and of the builds from 36 virtual CPUs on.
pub const OVER_COMMIT: [OverCommit; 5] = [
    OverCommit {
        vcpus: 36,
        times: 1.0,
        operations: Some(Locks {
            hybrid: [822_135, 881_063, 950_363],
            unfair: [75_570, 313_496, 690_465],
        }),
        modes: Some([10_856_614, 386_809]),
    },
    OverCommit { vcpus: 45, times: 1.25, operations: None, modes: Some([8_467_264, 11_475_373]) },
    OverCommit {
        vcpus: 54,
        times: 1.5,
        operations: Some(Locks {
            hybrid: [542_435, 581_664, 625_937],
            unfair: [35_460, 204_280, 457_172],
        }),
        modes: Some([6_409_987, 19_670_855]),
    },
    OverCommit {
        vcpus: 72,
        times: 2.0,
        operations: Some(Locks {
            hybrid: [397_500, 428_177, 499_299],
            unfair: [17_933, 150_679, 708_001],
        }),
        modes: Some([4_782_063, 25_712_180]),
    },
    OverCommit {
        vcpus: 108,
        times: 3.0,
        operations: Some(Locks {
            hybrid: [257_898, 288_150, 340_871],
            unfair: [3_085, 181_176, 1_257_109],
        }),
        modes: None,
    },
];
