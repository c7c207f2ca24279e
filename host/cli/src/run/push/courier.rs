//! Brings samples to the server so that each counts once: what it sends is what the server does not have, and what it has
//! sent without an answer it sends again as it was.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::client::{Answer, Client};
use super::progress::{Claim, Progress};
use crate::ledger_dir::Token;
use lockwright_console::error::Error;
use lockwright_report::lockmeter::contention::{Sample, sum};
use lockwright_report::lockmeter::push::{self, Batch};
use lockwright_report::prose::words::{count, duration};

/// A server, and how much it has of a run.
pub struct Courier {
    client: Arc<Client>,
    claim: Claim,
    progress: Progress,
    /// The file cannot be written; the reason was said.
    is_forgetful: bool,
    /// Worth knowing, and not said yet.
    pub remarks: Vec<Error>,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Waits.
    pub count: u64,
    /// Their sum, ns.
    pub ns: u64,
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", count(self.count, "wait"), duration(self.ns as f64))
    }
}

/// Why the server does not have everything.
#[derive(Debug)]
pub struct Failure {
    /// What happened.
    pub why: String,
    /// The server says not to come before that.
    pub after: Option<Duration>,
}

impl Courier {
    /// One that goes on from there.
    pub fn new(client: Arc<Client>, claim: Claim, progress: Progress) -> Self {
        let mut courier =
            Self { client, claim, progress, is_forgetful: false, remarks: Vec::new() };
        courier.remember();
        courier
    }

    /// The server's address.
    pub fn address(&self) -> String {
        self.client.target().to_string()
    }

    /// Sends what of `now`, all samples of the run up to `now_ns` since the epoch, the server does not have. Each request
    /// takes `limit` at most; there are two at most.
    ///
    /// # Errors
    /// If the server does not have everything after that.
    pub fn push(&mut self, now: &[Sample], now_ns: u64, limit: Duration) -> Result<Sent, Failure> {
        let before = self.retry(limit)?;
        let samples = self.progress.sent.until(now);
        let begun_ns = self.progress.until_ns.min(now_ns);
        if samples.is_empty() {
            self.progress.until_ns = now_ns;
            return Ok(before);
        }
        let id = Token::new().map(|Token(words)| words);
        let id = id.map_err(|error| Failure { why: error.to_string(), after: None })?;
        self.progress.pending = Some(Batch { id, begun_ns, ended_ns: now_ns, samples });
        // If this process is killed now, the next one sends the same.
        self.remember();
        let sent = self.send(limit, false)?;
        Ok(Sent { count: before.count + sent.count, ns: before.ns + sent.ns })
    }

    /// Sends again what the server may have.
    fn retry(&mut self, limit: Duration) -> Result<Sent, Failure> {
        match self.progress.pending {
            Some(_) => self.send(limit, true),
            None => Ok(Sent::default()),
        }
    }

    /// Sends what is pending. If that is certain not to have reached the server, it is no longer pending, and goes into the
    /// next batch.
    fn send(&mut self, limit: Duration, is_again: bool) -> Result<Sent, Failure> {
        let Some(batch) = &self.progress.pending else { return Ok(Sent::default()) };
        let request = push::request(self.client.target().shape, &self.progress.identity, batch);
        let (failure, is_pending) = match self.client.send(&request, limit) {
            Answer::Received(said) => {
                let (count, ns) = sum(&batch.samples);
                self.progress.sent.add(&batch.samples);
                self.progress.until_ns = batch.ended_ns;
                self.progress.pending = None;
                self.remember();
                let address = self.address();
                self.remarks.extend(said.map(|said| Error::new(format!("{address}: {said}"))));
                return Ok(Sent { count, ns });
            }
            Answer::Refused(why, after) => (Failure { why, after }, is_again),
            Answer::Away(why) => (Failure { why, after: None }, is_again),
            Answer::Invalid(why) => (Failure { why, after: None }, false),
            Answer::Lost(why) => (Failure { why, after: None }, true),
        };
        if !is_pending {
            self.progress.pending = None;
            self.remember();
        }
        Err(failure)
    }

    fn remember(&mut self) {
        let Err(error) = self.claim.write(&self.progress) else { return };
        if !std::mem::replace(&mut self.is_forgetful, true) {
            let dir = self.claim.dir().display();
            self.remarks.push(
                Error::new(format!("cannot write what was pushed to {dir}: {error}"))
                    .note("if lockwright is killed, waits may be sent twice or not at all"),
            );
        }
    }

    /// Whether the server has all of `now`.
    pub fn has_all(&self, now: &[Sample]) -> bool {
        self.progress.pending.is_none() && self.progress.sent.until(now).is_empty()
    }

    /// What of `now` the server does not have for certain.
    pub fn left(&self, now: &[Sample]) -> Sent {
        let (count, ns) = sum(&self.progress.sent.until(now));
        Sent { count, ns }
    }

    /// The run has ended and the server has everything.
    pub fn finish(self) {
        self.claim.finish();
    }
}
