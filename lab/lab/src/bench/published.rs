//! Published figures of the kernel's locks, as data.

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
    /// The hybrid one's.
    pub hybrid: T,
    /// The unfair one's.
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

/// Builds of the kernel with as many virtual CPUs as jobs, the best of three (the same mail): on 36
/// cores of Xeon E5-2699 v3, and on 16 cores with 32 threads of Xeon E5-2620 v4.
pub struct Build {
    /// Hardware threads of the machine.
    pub cpus: u64,
    /// Virtual CPUs.
    pub vcpus: u64,
    /// Seconds with the lock as it was before, the hybrid and the unfair one.
    pub seconds: [f64; 3],
    /// Acquisitions of the hybrid lock in queued and in unfair mode.
    pub modes: Option<[u64; 2]>,
}

const fn build(cpus: u64, vcpus: u64, seconds: [f64; 3], modes: Option<[u64; 2]>) -> Build {
    Build { cpus, vcpus, seconds, modes }
}

/// Cores of the machine of the microbenchmark and of most builds.
pub const PV_CPUS: usize = 36;

/// All of them.
pub const BUILDS: [Build; 10] = [
    build(36, 30, [342.1, 329.1, 329.1], Some([9_130_518, 294_954])),
    build(36, 36, [314.1, 305.3, 307.3], Some([10_856_614, 386_809])),
    build(36, 45, [345.0, 302.1, 306.6], Some([8_467_264, 11_475_373])),
    build(36, 54, [365.4, 308.6, 307.8], Some([6_409_987, 19_670_855])),
    build(36, 72, [358.9, 293.6, 303.9], Some([4_782_063, 25_712_180])),
    build(36, 108, [343.0, 285.9, 304.2], None),
    build(32, 16, [436.8, 433.4, 435.6], None),
    build(32, 36, [366.2, 364.8, 364.5], None),
    build(32, 48, [423.6, 376.3, 370.2], None),
    build(32, 64, [433.1, 376.6, 376.8], None),
];

/// A trylock of the rwsem that assumes it free, and one that loads it first (Muchun Song,
/// *locking/rwsem: Optimize down_read_trylock() under highly contended case*, 2021): page faults of
/// threads that share a mapping, on a Xeon E5-2650.
pub struct Trylock {
    /// Threads.
    pub threads: usize,
    /// Before the patch.
    pub assume_free: Shape,
    /// After it.
    pub load_first: Shape,
}

/// What one of them did.
pub struct Shape {
    /// How long all faults took.
    pub ms: u64,
    /// How often a success took so many exchanges: pairs of number of exchanges and successes. Those
    /// of 0 exchanges, which have no explanation, count in no mean.
    pub exchanges: &'static [(usize, u64)],
}

impl Shape {
    /// Successes without an exchange, if there is a histogram.
    pub fn without_exchange(&self) -> Option<u64> {
        let without = self.exchanges.iter().filter(|(exchanges, _)| *exchanges == 0);
        (!self.exchanges.is_empty()).then(|| without.map(|(_, successes)| successes).sum())
    }

    /// Exchanges for each success that took any.
    pub fn mean_exchanges(&self) -> f64 {
        let (exchanges, successes) = self
            .exchanges
            .iter()
            .filter(|(exchanges, _)| *exchanges > 0)
            .fold((0, 0), |(sum, all), (n, of)| (sum + *n as u64 * of, all + of));
        exchanges as f64 / successes.max(1) as f64
    }
}

const fn only_time(ms: u64) -> Shape {
    Shape { ms, exchanges: &[] }
}

/// The histograms are published without the number of threads, next to the table of times; they fit
/// its last row.
pub const TRYLOCK: [Trylock; 3] = [
    Trylock { threads: 1, assume_free: only_time(65_373), load_first: only_time(65_206) },
    Trylock { threads: 4, assume_free: only_time(15_467), load_first: only_time(15_378) },
    Trylock {
        threads: 40,
        assume_free: Shape {
            ms: 6_214,
            exchanges: &[
                (1, 1_211),
                (2, 25_089_070),
                (3, 921_631),
                (4, 158_245),
                (5, 34_742),
                (6, 7_796),
                (7, 1_585),
                (8, 339),
                (9, 62),
                (10, 14),
                (11, 6),
                (17, 1),
            ],
        },
        load_first: Shape {
            ms: 5_528,
            exchanges: &[
                (0, 197),
                (1, 25_840_840),
                (2, 328_012),
                (3, 39_126),
                (4, 5_521),
                (5, 823),
                (6, 151),
                (7, 28),
                (8, 3),
                (9, 1),
            ],
        },
    },
];

/// Builds of the kernel below debugobjects, before and after the patches to its pools (Waiman Long, *debugobjects: Reduce
/// global pool_lock contention*, linux-kernel, 2019).
pub struct Pools {
    /// Elapsed seconds of a build.
    pub elapsed: [f64; 2],
    /// Seconds of a build in the kernel, of all CPUs.
    pub system: [f64; 2],
    /// Objects had from the slab since the boot, after three builds (`objs_allocated`).
    pub allocated: [u64; 2],
}

/// The figures of Long's 2019 debugobjects patches.
pub const POOLS: Pools = Pools {
    elapsed: [291.01, 287.45],
    system: [4_991.53, 4_825.78],
    allocated: [34_954_917, 5_796_864],
};
