//! `lockwright-lab sim --explore`: which schedules are tried.

use clap::Args;
use lockwright_sim::explore::Schedule;

/// The search for faults.
#[derive(Debug, Args)]
#[command(next_help_heading = "Exploration")]
pub struct ExploreArgs {
    /// Test locks under many schedules instead: that they exclude, that threads get on, that readers
    /// see nothing half written, that nobody is refused before a deadline, and how often waiters are
    /// overtaken. Each access to a lock's words can be followed by another thread's. Takes --lock,
    /// --lock-library, --threads and --seed.
    #[arg(long, conflicts_with_all = [
        "machine", "print_machine", "workload", "vcpus", "cpus", "sweep", "seconds", "traffic", "plot",
    ])]
    pub explore: bool,

    /// The most schedules of a lock. The first is that of --seed, the next that of the next seed.
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "explore")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub count: u64,

    /// How often each thread takes the lock.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "explore")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub operations: u32,

    /// Instead of random schedules all that preempt a thread, or let another one than the next go on
    /// where one waits, at most N times: for few threads and operations.
    #[arg(long, value_name = "N", requires = "explore")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=16))]
    pub preemptions: Option<u32>,

    /// Only this schedule, as a failure has shown it.
    #[arg(long, value_name = "POINT:THREAD,...", requires = "explore")]
    #[arg(conflicts_with_all = ["preemptions", "count"])]
    pub schedule: Option<Schedule>,
}
