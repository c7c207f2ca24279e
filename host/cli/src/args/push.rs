//! `--push`: where profiles go while the program runs, and the command that sends what is left.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{OutputArgs, times};
use crate::manual;
use lockwright_report::lockmeter::push::Label;

/// Where profiles go while the program runs.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Push")]
pub struct PushArgs {
    /// While the program runs and at its end, send the waits since the last time as a profile of
    /// mutexes to a server: `pyroscope+http://HOST:4040`, `parca+http://HOST:7070`,
    /// `otlp+http://HOST:4318` (experimental, as that signal is), the same with https, or the
    /// URL of the endpoint itself. What cannot be sent is kept: see `lockwright push`.
    #[arg(long, value_name = "URL")]
    pub push: Option<String>,

    /// Send every TIME (`15s`, `1m`).
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "15s", requires = "push")]
    pub push_interval: Duration,

    /// Send this label with each profile. You can give this option several times.
    #[arg(long, value_name = "NAME=VALUE", requires = "push")]
    pub push_label: Vec<Label>,

    /// The program's name at the server; without it, that of the executable.
    #[arg(long, value_name = "NAME", requires = "push")]
    pub push_name: Option<String>,

    /// How to be admitted.
    #[command(flatten)]
    pub admission: AdmissionArgs,
}

/// How to be admitted by a server.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Push")]
pub struct AdmissionArgs {
    /// Send the headers in FILE, one a line, as `Authorization: Bearer ...`.
    /// $LOCKWRIGHT_PUSH_AUTHORIZATION has the value of that one header instead.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub push_headers: Option<PathBuf>,

    /// Trust the certificates in FILE (PEM) instead of the system's. $SSL_CERT_FILE does the same.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub push_ca: Option<PathBuf>,
}

/// Send what `--push` could not send: the waits in kept ledgers that the server does not have yet.
///
/// A run with --push whose server was away keeps its ledgers, and so does one whose lockwright was
/// killed. The next run with the same --push URL sends what is left there, too.
#[derive(Debug, Args)]
#[command(after_long_help = manual::PUSH.help())]
pub struct SendArgs {
    /// The list of what was sent.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Send it to URL, not to where the run did. Needed for runs without --push.
    #[arg(long, value_name = "URL", help_heading = "Push")]
    pub push: Option<String>,

    /// How to be admitted.
    #[command(flatten)]
    pub admission: AdmissionArgs,

    /// Directories of runs.
    #[arg(required = true, help_heading = "Arguments", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dirs: Vec<PathBuf>,
}

/// Reads `15s`.
fn interval(text: &str) -> Result<Duration, String> {
    times::within(text, Duration::from_millis(100)..=times::DAY, "15s or 1m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_units() {
        assert_eq!(interval("15s"), Ok(Duration::from_secs(15)));
        for wrong in ["", "15", "1ms", "2days"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
