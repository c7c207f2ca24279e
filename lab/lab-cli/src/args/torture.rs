//! `lockwright-lab torture`: options by the names of the parameters of the kernel's locktorture.

use std::time::Duration;

use clap::Args;
use lockwright_lab::torture::MAX_NESTED_LOCKS;

use super::OutputArgs;
use crate::manual;

/// Torture a lock of the lockwright family, as the kernel's locktorture does.
///
/// Many threads take the lock, try it, time out, hold it for a long time, start and end, while
/// changes of CPU, pauses, signals and stops disturb them. The data under the lock shows whether the
/// lock let two threads in, lost a thread, or forgot a wake-up. Options have the names of
/// locktorture's parameters. The list of types begins with broken locks, which must fail.
#[derive(Debug, Args)]
#[command(after_long_help = manual::TORTURE.help(), mut_arg("output", super::of_table))]
pub struct TortureArgs {
    /// The lock, by a name that --list shows; `ww`: the kernel's tests of wound/wait mutexes.
    #[arg(value_name = "TORTURE_TYPE", default_value = "spin_lock")]
    pub torture_type: String,

    /// Where the outcome goes.
    #[command(flatten)]
    pub output: OutputArgs,

    /// List the types instead.
    #[arg(long)]
    pub list: bool,

    /// How long, and how many.
    #[command(flatten)]
    pub extent: ExtentArgs,

    /// What is done to the threads meanwhile.
    #[command(flatten)]
    pub disturbance: DisturbanceArgs,
}

/// How long, and how many.
#[derive(Debug, Args)]
#[command(next_help_heading = "Extent")]
pub struct ExtentArgs {
    /// Threads that write [default: two for each CPU].
    #[arg(long = "nwriters_stress", alias = "nwriters-stress", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub nwriters_stress: Option<u32>,

    /// Threads that read, of locks that have readers [default: two for each CPU].
    #[arg(long = "nreaders_stress", alias = "nreaders-stress", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub nreaders_stress: Option<u32>,

    /// How long, in seconds; 0: until interrupted, as the kernel's [default: 30; of `ww`, 2 for each
    /// case of stress].
    #[arg(long = "shutdown_secs", alias = "shutdown-secs", value_name = "SECONDS")]
    #[arg(value_parser = seconds)]
    pub shutdown_secs: Option<Duration>,

    /// End a thread once it had the lock so many times, instead of after a time; of `ww`:
    /// transactions; 0: never.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub acquisitions: u64,

    /// Print statistics so often, in seconds; 0: in the end only.
    #[arg(long = "stat_interval", alias = "stat-interval", value_name = "SECONDS")]
    #[arg(default_value = "60", value_parser = seconds)]
    pub stat_interval: Duration,

    /// How long nothing may happen before the threads that are left count as lost, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub stall: Duration,

    /// Locks in memory that their last holder frees, after the rest, if the lock promises to stand
    /// that.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=30_000))]
    pub objects: u32,

    /// Let the threads decide as in a run that printed this seed. When which of them runs is the
    /// system's to say.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// What is done to the threads meanwhile.
#[derive(Debug, Args)]
#[command(next_help_heading = "Disturbance")]
pub struct DisturbanceArgs {
    /// How long all CPUs are used before onoff_interval begins, in seconds.
    #[arg(long = "onoff_holdoff", alias = "onoff-holdoff", value_name = "SECONDS")]
    #[arg(default_value = "0", value_parser = seconds)]
    pub onoff_holdoff: Duration,

    /// Take a random CPU from the threads, or give it back, so often, in seconds; 0: never. No CPU
    /// goes off line: a program cannot do that, but keep its threads off one.
    #[arg(long = "onoff_interval", alias = "onoff-interval", value_name = "SECONDS")]
    #[arg(default_value = "0", value_parser = seconds)]
    pub onoff_interval: Duration,

    /// Keep the threads off one CPU after the other, each for so many seconds; 0: never.
    #[arg(long = "shuffle_interval", alias = "shuffle-interval", value_name = "SECONDS")]
    #[arg(default_value = "3", value_parser = seconds)]
    pub shuffle_interval: Duration,

    /// Run for so many seconds, pause for as many, and so on; 0: no pauses.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub stutter: Duration,

    /// How long a long hold is, in milliseconds. They are rare. 0: none.
    #[arg(long = "long_hold", alias = "long-hold", value_name = "MS", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=60_000))]
    pub long_hold: u32,

    /// Locks of the same type, up to 8, of which a writer takes some before.
    #[arg(long = "nested_locks", alias = "nested-locks", value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(..=MAX_NESTED_LOCKS as i64))]
    pub nested_locks: u8,

    /// Give threads a real-time priority now and then (needs CAP_SYS_NICE): 0: never, 1: at the
    /// rtmutex, 2: at all locks whose waiters sleep; of others the holder might never run again.
    #[arg(long = "rt_boost", alias = "rt-boost", value_name = "0|1|2", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(..=2))]
    pub rt_boost: u8,

    /// Acquisitions of a thread, on average, before it gets one, or gives it back.
    #[arg(long = "rt_boost_factor", alias = "rt-boost-factor", value_name = "N")]
    #[arg(default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    pub rt_boost_factor: u64,

    /// Fail if a writer waits for longer than this, in milliseconds; 0: it may.
    #[arg(long = "acq_writer_lim", alias = "acq-writer-lim", value_name = "MS")]
    #[arg(default_value_t = 0)]
    pub acq_writer_lim: u32,

    /// End each thread after so many acquisitions and let another take its place; 0: never.
    #[arg(long = "restart_after", alias = "restart-after", value_name = "N", default_value_t = 0)]
    pub restart_after: u64,

    /// Send all threads signals all the time. The handler takes a lock of the same type, if such a
    /// lock may be taken there.
    #[arg(long)]
    pub signals: bool,

    /// Also stop threads for up to 4 ms, at random, wherever they are: with the lock held, too.
    #[arg(long)]
    pub stops: bool,
}

/// A time of up to a day, which may be none.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    if (0.0..=86_400.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("not from 0 to 86400".to_owned())
    }
}
