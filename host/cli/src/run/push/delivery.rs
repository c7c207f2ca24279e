//! A run whose lockwright is gone, brought to the server as far as the server does not have it.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::client::{ATTEMPT, Client};
use super::courier::{Courier, Failure, Sent};
use super::identity::of_program;
use super::progress::{Claim, Progress};
use crate::ledger_dir::{self, UNSENT};
use crate::run::clocks::realtime_ns;
use crate::run::going_on::GoingOn;
use crate::run::watch::generated_code;
use lockwright_analysis::lockmeter::model::is_metered;
use lockwright_analysis::symbolize::Images;
use lockwright_console::error::{Error, Result};
use lockwright_report::lockmeter::contention::samples;
use lockwright_report::lockmeter::push::Identity;

/// The run in a directory.
pub struct Run {
    going_on: GoingOn,
    claim: Claim,
}

impl Run {
    /// Takes the run. `None`: another lockwright is about to send it, or runs it.
    ///
    /// # Errors
    /// If it cannot be read, or was not measured.
    pub fn take(dir: &Path) -> Result<Option<Self>> {
        let shown = dir.display();
        let claim = match Claim::take(dir) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            taken => taken
                .map_err(|error| Error::new(format!("cannot send the run in {shown}: {error}")))?,
        };
        let mut going_on = GoingOn::read_run(dir);
        generated_code::recall(&mut going_on.ledgers, &[dir.to_owned()]);
        if !going_on.ledgers.iter().any(is_metered) {
            return Err(Error::new(format!("no measurement in {shown}")).help(
                "name the directory of a run of `lockwright meter` or `lockwright run`: --keep prints it",
            ));
        }
        Ok(Some(Self { going_on, claim }))
    }

    /// When its first process began, ns since the epoch.
    pub fn begun_ns(&self) -> u64 {
        let begun = self.going_on.ledgers.iter().map(|ledger| ledger.header().start_realtime_ns);
        begun.min().unwrap_or(0)
    }

    /// What its profiles go by where the user has not said.
    pub fn identity(&self) -> Identity {
        let exe = self.going_on.ledgers.first().map(|ledger| ledger.text(ledger.header().exe));
        of_program(&exe.map(PathBuf::from).unwrap_or_default(), None, Vec::new())
    }

    /// Sends what the server does not have.
    ///
    /// # Errors
    /// If it does not have everything after that.
    pub fn deliver(
        self,
        client: Arc<Client>,
        progress: Progress,
        images: &Rc<Images>,
    ) -> std::result::Result<Sent, (Failure, Sent)> {
        let report = self.going_on.measured(images);
        let is_over = self.going_on.live.is_empty();
        let now_ns = match is_over {
            true => self.begun_ns().saturating_add(report.elapsed_ns),
            false => realtime_ns(),
        };
        let samples = samples(&report);
        let mut courier = Courier::new(client, self.claim, progress);
        match courier.push(&samples, now_ns, ATTEMPT) {
            Ok(sent) => {
                if is_over {
                    courier.finish();
                }
                Ok(sent)
            }
            Err(failure) => Err((failure, courier.left(&samples))),
        }
    }
}

/// Runs that wait for a server that is away; more are given up, the oldest first.
const MOST_RUNS: usize = 16;

/// Sends what runs next to that in `own` have left for the same server, as long as it `goes_on`. Says what it did in `remarks`.
pub fn send_earlier(
    own: &Path,
    client: &Arc<Client>,
    url: &str,
    images: &Rc<Images>,
    goes_on: &dyn Fn() -> bool,
    remarks: &mut Vec<Error>,
) {
    let Some(base) = own.parent() else { return };
    let runs: Vec<_> = ledger_dir::unsent_in(base)
        .into_iter()
        .filter(|dir| dir != own)
        .filter_map(|dir| Some((Progress::read(&dir).filter(|it| it.url == url)?, dir)))
        .collect();
    let surplus = runs.len().saturating_sub(MOST_RUNS);
    let mut given_up = 0;
    for (_, dir) in &runs[..surplus] {
        // One that has somebody is none of ours.
        if ledger_dir::claim(dir).is_ok() {
            ledger_dir::remove_own(dir, UNSENT);
            given_up += 1;
        }
    }
    if given_up > 0 {
        remarks.push(Error::new(format!(
            "{given_up} earlier runs are not pushed any more: {MOST_RUNS} newer ones wait for {url}"
        )));
    }
    for (progress, dir) in runs.into_iter().skip(surplus).take_while(|_| goes_on()) {
        let Ok(Some(run)) = Run::take(&dir) else { continue };
        match run.deliver(Arc::clone(client), progress, images) {
            Ok(sent) if sent == Sent::default() => {}
            Ok(sent) => {
                remarks.push(Error::new(format!("pushed {sent} of the run in {}", dir.display())))
            }
            // The server is away for the others, too.
            Err(_) => return,
        }
    }
}
