//! The simulated machine: its shape and its costs.

mod file;
mod presets;
mod topology;

use serde::Deserialize;

pub use file::{Unreadable, parse};
pub use presets::{PRESETS, Preset, named};
pub use topology::{Distance, Topology};

/// A machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What it is called.
    pub name: String,
    /// The clock rate of its processors, in GHz, as cycles are given for some costs.
    pub ghz: f64,
    /// How it is built.
    pub shape: Shape,
    /// What its caches cost.
    pub line: Line,
    /// What its instructions cost.
    pub instruction: Instruction,
    /// The scheduler of its operating system, which is the host's below a hypervisor.
    #[serde(default)]
    pub scheduler: Scheduler,
    /// What virtual CPUs cost.
    #[serde(default)]
    pub hypervisor: Hypervisor,
}

/// How a machine is built.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Processors.
    pub sockets: u32,
    /// Parts of a socket that share a last-level cache.
    pub complexes: u32,
    /// Cores of such a part.
    pub cores: u32,
    /// Hardware threads of a core.
    pub threads: u32,
}

/// What it costs to get a cache line, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// From the sibling thread, which has written to it.
    pub sibling: f64,
    /// From a core below the same last-level cache.
    pub complex: f64,
    /// From a core of another such part of the socket.
    pub socket: f64,
    /// From another socket.
    pub cross: f64,
    /// From memory, where no cache has it.
    pub memory: f64,
    /// For each further sharer that has to give it up before it is written to.
    pub invalidation: f64,
    /// A copy of what the cores below the same last-level cache share, from there.
    pub last_level: f64,
    /// How far a transfer can be from the above, as a part of it: caches lie at different places.
    pub spread: f64,
    /// For how long a reader that gets a copy keeps the next one from it.
    pub read_occupancy: f64,
    /// What each core between one and a line's home in the last-level cache adds to how late a request comes
    /// there: there and back. 0: lines have no home, as on a bus.
    #[serde(default)]
    pub hop: f64,
    /// So many requests of the socket that has the line are served before one of another that came first.
    #[serde(default)]
    pub local_first: u32,
}

/// What instructions cost, in cycles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    /// A load that hits the first-level cache.
    pub load: f64,
    /// A store, which need not wait for its line.
    pub store: f64,
    /// A locked read-modify-write on a line that the core owns.
    pub locked: f64,
    /// PAUSE.
    pub pause: f64,
    /// What is between two atomic operations.
    pub step: f64,
}

/// A completely fair scheduler.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduler {
    /// In which everybody of a queue shall have run once, in milliseconds.
    pub latency_ms: f64,
    /// The least turn.
    pub min_granularity_ms: f64,
    /// How much less a woken task must have run to preempt.
    pub wakeup_ms: f64,
    /// Between two attempts of busy CPUs to even out their queues.
    pub balance_ms: f64,
    /// From one task to another.
    pub switch_us: f64,
    /// From a wake-up until the task is in a queue.
    pub wake_us: f64,
    /// The waker's time for a wake-up, in addition to the system call.
    pub waker_us: f64,
    /// Entry into the kernel and return.
    pub syscall_ns: f64,
    /// For how long a spinning thread goes on before it lets others run.
    pub patience_us: f64,
    /// Between two times that a CPU is needed for something else, on average, in milliseconds.
    pub other_work_ms: f64,
    /// The most that this takes; 0: never.
    pub other_work_us: f64,
}

impl Default for Scheduler {
    /// The constants of Linux before 6.6 on 8 CPUs and more: times 1 + log2(8) = 4.
    fn default() -> Self {
        Self {
            // sysctl_sched_latency, _min_granularity, _wakeup_granularity of kernel/sched/fair.c:
            // 6, 0.75 and 1 ms, times 4.
            latency_ms: 24.0,
            min_granularity_ms: 3.0,
            wakeup_ms: 4.0,
            // A choice: CFS balances busy CPUs every 32 times as many ms as a domain has CPUs, and
            // earlier if it has failed.
            balance_ms: 100.0,
            // Li, Ding and Shen, *Quantifying the cost of context switch*, 2007: 1.3-1.9 us.
            switch_us: 1.5,
            // The host's path of a wake-up (simulation.md).
            wake_us: 5.0,
            // A choice. A virtual EPYC takes 4.8 us longer to wake a task on an idle CPU than to wake none, most of
            // it to have an interrupt sent.
            waker_us: 1.0,
            // A system call of a kernel with page-table isolation off; a futex' work with it.
            syscall_ns: 300.0,
            // locks/lockwright/src/platform/patience.rs.
            patience_us: 10.0,
            // A choice, half a per cent of each CPU: ticks, daemons and the hypervisor's own threads. That it
            // is longer than waiters spin (0.2 ms) matters; how often it comes does not.
            other_work_ms: 50.0,
            other_work_us: 500.0,
        }
    }
}

/// KVM on Intel.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hypervisor {
    /// Out of the guest and into it again, in cycles.
    pub exit_cycles: f64,
    /// PAUSEs apart by no more cycles than this are a loop (`ple_gap`); 0: no such exits.
    pub pause_gap_cycles: f64,
    /// So many cycles of pauses end in an exit (`ple_window`).
    pub pause_window_cycles: f64,
    /// Each exit makes the window so much larger (`ple_window_grow`), until the next switch.
    pub pause_window_grow: f64,
    /// The first time for which a halted virtual CPU is polled for (`halt_poll_ns_grow_start`).
    pub poll_start_us: f64,
    /// The most (`halt_poll_ns`).
    pub poll_most_us: f64,
}

impl Default for Hypervisor {
    /// simulation.md, except the growth of the window: `ple_window_grow` of arch/x86/kvm/vmx/vmx.c.
    fn default() -> Self {
        Self {
            exit_cycles: 1_350.0,
            pause_gap_cycles: 128.0,
            pause_window_cycles: 4_096.0,
            pause_window_grow: 2.0,
            poll_start_us: 10.0,
            poll_most_us: 200.0,
        }
    }
}

impl Machine {
    /// Hardware threads.
    pub const fn cpus(&self) -> u32 {
        let Shape { sockets, complexes, cores, threads } = self.shape;
        sockets * complexes * cores * threads
    }

    /// Cycles in nanoseconds.
    pub fn cycles(&self, cycles: f64) -> f64 {
        cycles / self.ghz
    }
}
