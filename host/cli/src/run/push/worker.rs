//! The thread that pushes while the program runs. It takes at most a twentieth of a processor.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::client::{ATTEMPT, Client};
use super::courier::{Courier, Failure};
use super::delivery::send_earlier;
use crate::run::background;
use crate::run::clocks::realtime_ns;
use crate::run::going_on::GoingOn;
use crate::run::watch::signals::Mask;
use lockwright_analysis::symbolize::{DebugDirs, Images};
use lockwright_console::error::{Error, Result};
use lockwright_console::streams::Voice;
use lockwright_report::lockmeter::contention::samples;

/// A look that took so long is followed by that many times as long without one.
const PART: u32 = 20;

/// While the server is away, the longest time between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// What the thread needs.
pub struct Work {
    /// Sends.
    pub courier: Courier,
    /// The server, for earlier runs, and its URL as the user gave it.
    pub client: Arc<Client>,
    pub url: String,
    /// The run's directory.
    pub dir: PathBuf,
    /// The time between two pushes.
    pub interval: Duration,
    /// Says at once what is worth knowing.
    pub voice: Option<Voice>,
}

/// What it leaves when it ends.
pub struct Left {
    /// Sends the rest.
    pub courier: Courier,
    /// The server does not want to be asked before that.
    pub not_before: Option<Instant>,
    /// What was not said.
    pub remarks: Vec<Error>,
}

/// The thread, until it is stopped.
pub struct Worker {
    stop: Sender<()>,
    left: Receiver<Left>,
}

impl Worker {
    /// Starts it.
    ///
    /// # Errors
    /// If there is no thread to be had.
    pub fn start(work: Work) -> Result<Self> {
        let (stop, stopped) = channel();
        let (leave, left) = channel();
        let thread = move || {
            // Signals are for the thread that waits for the program.
            Mask::close();
            background::yield_to_others();
            // Nobody waits for it any more if that fails.
            let _ = leave.send(work.run(&stopped));
        };
        thread::Builder::new()
            .name("push".to_owned())
            .stack_size(background::STACK)
            .spawn(thread)
            .map_err(|error| Error::new(format!("no thread for --push: {error}")))?;
        Ok(Self { stop, left })
    }

    /// Stops it. `None` if it has not ended after that time.
    pub fn stop(self, limit: Duration) -> Option<Left> {
        drop(self.stop);
        self.left.recv_timeout(limit).ok()
    }
}

impl Work {
    fn run(mut self, stopped: &Receiver<()>) -> Left {
        let images = Images::new(DebugDirs::from_env());
        let mut tries = Tries::new(self.interval);
        let mut remarks = Vec::new();
        let goes_on = || stopped.try_recv() != Err(TryRecvError::Disconnected);
        send_earlier(&self.dir, &self.client, &self.url, &images, &goes_on, &mut remarks);
        let mut pause = self.interval;
        loop {
            let fresh = std::mem::take(&mut self.courier.remarks).into_iter().map(|it| (it, true));
            let fresh = fresh.chain(std::mem::take(&mut remarks).into_iter().map(|it| (it, false)));
            for (error, is_warning) in fresh.collect::<Vec<_>>() {
                match self.voice {
                    Some(voice) if is_warning => voice.warn(&error),
                    Some(voice) => voice.note(&error),
                    None => tries.unsaid.push(error),
                }
            }
            match stopped.recv_timeout(pause) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
            let before = background::cpu_time();
            let measured = samples(&GoingOn::read_run(&self.dir).measured(&images));
            let done = self.courier.push(&measured, realtime_ns(), ATTEMPT);
            let took = background::cpu_time().saturating_sub(before);
            let address = self.courier.address();
            pause = tries.after(done.err(), &address, &mut remarks).max(took * PART);
        }
        let Tries { not_before, unsaid, .. } = tries;
        Left { courier: self.courier, not_before, remarks: unsaid }
    }
}

/// How the tries went.
struct Tries {
    interval: Duration,
    random: fastrand::Rng,
    /// Failed ones since the last that did not.
    failures: u32,
    not_before: Option<Instant>,
    unsaid: Vec<Error>,
}

impl Tries {
    fn new(interval: Duration) -> Self {
        let random = fastrand::Rng::with_seed(realtime_ns());
        Self { interval, random, failures: 0, not_before: None, unsaid: Vec::new() }
    }

    /// How long to wait after a try. One line is said when the server is away, and one when it is back.
    fn after(
        &mut self,
        failure: Option<Failure>,
        address: &str,
        remarks: &mut Vec<Error>,
    ) -> Duration {
        let Some(failure) = failure else {
            if self.failures > 0 {
                remarks.push(Error::new(format!("pushing to {address} again")));
            }
            (self.failures, self.not_before) = (0, None);
            return self.interval;
        };
        if self.failures == 0 {
            let why = format!("cannot push to {address}: {}", failure.why);
            remarks.push(Error::new(format!("{why}; trying again until the program ends")));
        }
        self.failures = self.failures.saturating_add(1);
        let doubled = 1u32.checked_shl(self.failures.min(16)).unwrap_or(u32::MAX);
        let longest = LONGEST_PAUSE.max(self.interval);
        let pause = self.interval.saturating_mul(doubled).min(longest);
        // Those that were refused together do not come back together.
        let pause = pause.mul_f64(0.5 + self.random.f64() / 2.0);
        let pause = pause.max(failure.after.unwrap_or_default());
        self.not_before = failure.after.map(|after| Instant::now() + after);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(after: Option<Duration>) -> Option<Failure> {
        Some(Failure { why: "away".into(), after })
    }

    #[test]
    fn pauses_grow_up_to_a_bound_and_the_server_is_named_once() {
        let interval = Duration::from_secs(15);
        let mut tries = Tries::new(interval);
        let mut said = Vec::new();
        for n in 1..40 {
            let pause = tries.after(failure(None), "s", &mut said);
            assert!(pause >= interval && pause <= LONGEST_PAUSE, "{n}: {pause:?}");
        }
        assert!(tries.after(failure(None), "s", &mut said) >= LONGEST_PAUSE / 2);
        assert_eq!(said.len(), 1);
        assert_eq!(tries.after(None, "s", &mut said), interval);
        assert_eq!(said.len(), 2);
        let asked = Duration::from_secs(700);
        assert_eq!(tries.after(failure(Some(asked)), "s", &mut said), asked);
        assert!(tries.not_before.is_some());
    }
}
