//! Options about what happens while the program runs.

use std::str::FromStr;
use std::time::Duration;

use clap::Args;

use super::times;
use lockwright_analysis::finding::Grade;
use lockwright_console::args::seconds;

/// What findings lead to while the program runs.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "While it runs")]
pub struct LiveArgs {
    /// Show each finding as soon as the ledgers show it, predictions included, not only when the
    /// program ends. The report at the end then has what is new. It also names findings that the
    /// whole run shows in another light. The program is not disturbed: lockwright reads the
    /// ledgers with at most 5 % of a processor.
    #[arg(long)]
    pub live: bool,

    /// Run COMMAND (by /bin/sh) for each finding, with the finding as a JSON object on its standard
    /// input: at the end of the run, or with --live at once. Also for each wait of
    /// --wait-threshold. It may take 10 s; at most 100 are run.
    #[arg(long, value_name = "COMMAND", value_hint = clap::ValueHint::CommandString)]
    pub on_finding: Option<String>,

    /// End the run at the first finding of this grade or a more serious one, with the exit code of
    /// --exit-code: SIGTERM to all watched processes, and SIGKILL 5 s later. Implies --live.
    #[arg(long, value_name = "GRADE", value_enum)]
    pub abort_on: Option<Grade>,
}

impl LiveArgs {
    /// Whether findings are looked for while the program runs.
    pub fn is_live(&self) -> bool {
        self.live || self.abort_on.is_some()
    }
}

/// What is watched in time.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "While it runs")]
pub struct TimeArgs {
    /// Report a wait that lasts longer than TIME (`500ms`, `2s`) while it lasts, with the stacks of the
    /// waiter and the holder: for locks, for semaphores and futexes that are used as locks, and for
    /// the end of a thread by one that holds a lock.
    #[arg(long, value_name = "TIME", value_parser = wait_threshold)]
    pub wait_threshold: Option<Duration>,

    /// With --wait-threshold, also report waits for events: condition variables, other semaphores
    /// and futexes, ends of threads. Idle threads wait so.
    #[arg(long, requires = "wait_threshold")]
    pub wait_events: bool,

    /// Every SECONDS print a line on standard error: acquisitions and contention since the last
    /// one, waiting threads, and the hottest lock with its holder. `meter --kernel`: show the waits
    /// since the last time, as `top` does.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub interval: Option<f64>,

    /// End after SECONDS: SIGTERM to the program and all watched processes, SIGKILL 5 s later,
    /// then the report. If the program dies of that, the exit code is 0. A measurement by the
    /// kernel ends, and the program goes on.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub seconds: Option<f64>,
}

impl TimeArgs {
    /// When watching ends.
    pub fn limit(&self) -> Option<Duration> {
        self.seconds.map(Duration::from_secs_f64)
    }

    /// The time between two lines.
    pub fn interval(&self) -> Option<Duration> {
        self.interval.map(Duration::from_secs_f64)
    }
}

/// Reads `500ms`. The waits are looked at a few times in that time, so it cannot be any shorter than they can be.
fn wait_threshold(text: &str) -> Result<Duration, String> {
    times::within(text, Duration::from_nanos(1)..=times::DAY, "500ms, 2s or 800us")
}

/// What to do with a process that has deadlocked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnDeadlock {
    /// End it (SIGKILL).
    #[default]
    Kill,
    /// Leave it hanging, for a debugger or until the user ends it.
    Report,
    /// End it with SIGABRT, so that it can leave a core file.
    Abort,
    /// Leave it hanging, and run this command with the deadlock on its standard input.
    Exec(String),
}

impl FromStr for OnDeadlock {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "kill" => Ok(Self::Kill),
            "report" => Ok(Self::Report),
            "abort" => Ok(Self::Abort),
            _ => match text.strip_prefix("exec:").map(str::trim) {
                Some(command) if !command.is_empty() => Ok(Self::Exec(command.to_owned())),
                _ => Err("one of kill, report, abort, exec:COMMAND".to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_have_units() {
        let ms = Duration::from_millis;
        assert_eq!(wait_threshold("500ms"), Ok(ms(500)));
        assert_eq!(wait_threshold("2s"), Ok(ms(2000)));
        assert_eq!(wait_threshold("800us"), Ok(Duration::from_micros(800)));
        for wrong in ["", "500", "0ms", "-1s", "fast", "3days"] {
            assert!(wait_threshold(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_deadlock_may_lead_to_a_command() {
        let exec = |command: &str| OnDeadlock::Exec(command.to_owned());
        assert_eq!("kill".parse(), Ok(OnDeadlock::Kill));
        assert_eq!("exec:gdb -p 1".parse(), Ok(exec("gdb -p 1")));
        assert!("exec:".parse::<OnDeadlock>().is_err() && "pray".parse::<OnDeadlock>().is_err());
    }
}
