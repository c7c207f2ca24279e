//! How threads are held up and delayed: options of `confirm` and `check`.

use std::time::Duration;

use clap::Args;

use super::times;

/// How threads are held up.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Confirmation")]
pub struct SteeringArgs {
    /// The longest that a thread is held up at once. The first run holds it up for an eighth of that.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = Self::PAUSE)]
    pub pause: Duration,

    /// End each run after TIME: SIGTERM to its processes, SIGKILL 5 s later. For servers.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub run_limit: Option<Duration>,
}

impl SteeringArgs {
    /// Runs for each finding, where the user does not say.
    pub const RUNS: u32 = 5;
    const PAUSE: &str = "2s";
}

impl Default for SteeringArgs {
    fn default() -> Self {
        Self { pause: time(Self::PAUSE).expect("a time"), run_limit: None }
    }
}

/// What `check` does beyond one plain run.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Schedules")]
pub struct ScheduleArgs {
    /// After the run, try to make each deadlock happen that it predicts, as `lockwright confirm` does, for TIME in all (60s).
    #[arg(long, value_name = "TIME", value_parser = time, num_args = 0..=1, default_missing_value = "60s")]
    pub confirm: Option<Duration>,

    /// Delay threads at random before they take locks, most where they seldom are and while they hold a lock. Orders come up
    /// that a plain run does not show. SEED (a number) repeats the delays of an earlier run as far as the program allows;
    /// without it one is chosen, and said.
    #[arg(long, value_name = "SEED", num_args = 0..=1)]
    pub perturb: Option<Option<u64>>,
}

/// Findings that are not to happen.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Schedules")]
pub struct AvoidArgs {
    /// Keep the threads of known findings apart, so that their deadlocks do not come: those of a run whose ledgers --keep has left in
    /// directory LEDGERS, of the grades possible and worse, or one by the first digits of its fingerprint. A thread waits before it takes the first lock of
    /// its part of the cycle while another is in another part, for 1 s at most. Other locks cost nothing. You can give this option several
    /// times.
    #[arg(long, value_name = "LEDGERS[#FINGERPRINT]")]
    pub avoid: Vec<String>,
}

/// Reads `500ms`.
///
/// # Errors
/// If the text is no time, or none that can be waited for.
pub fn time(text: &str) -> Result<Duration, String> {
    times::within(text, Duration::from_nanos(1)..=times::DAY * 7, "500ms, 60s or 5m")
}
