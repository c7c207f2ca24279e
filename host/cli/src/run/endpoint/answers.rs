//! What is answered to which request.

use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tiny_http::{Header, Method, Request, Response, Server};

use super::profiles::{self, Asked, Profiles};
use crate::run::going_on::GoingOn;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::symbolize::{DebugDirs, Images};
use lockwright_report::lockmeter::openmetrics;

/// Where the counters are.
pub const METRICS: &str = "/metrics";

/// What an OpenMetrics text is called.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A reading is given again for so long: whoever asks more often learns nothing new, and costs nothing.
const FRESH: Duration = Duration::from_millis(500);

/// The list of what there is, as that of Go's net/http/pprof.
const INDEX: &str = "<!DOCTYPE html>\n<title>lockwright: profiles</title>\n<h1>Profiles</h1>\n<ul>\n\
    <li><a href=\"mutex\">mutex</a>: waits for locks since the program began\n\
    <li><a href=\"mutex?seconds=10\">mutex?seconds=10</a>: those of the next 10 seconds\n\
    </ul>\n<p><a href=\"/metrics\">Counters</a></p>\n";

/// Reads the ledgers of a run when it is asked.
pub struct Answers {
    dir: PathBuf,
    images: Rc<Images>,
    last: Option<(Instant, MeterReport)>,
    profiles: Profiles,
}

impl Answers {
    /// For the run in `dir`.
    pub fn new(dir: PathBuf) -> Self {
        let images = Images::new(DebugDirs::from_env());
        Self { dir, images, last: None, profiles: Profiles::default() }
    }

    /// Answers until the server is unblocked and this is set.
    pub fn run(&mut self, server: &Server, is_over: &AtomicBool) {
        // Pairs with the Release before the server is unblocked.
        while !is_over.load(Ordering::Acquire) {
            let received = match self.profiles.next_due() {
                None => server.recv().map(Some),
                Some(due) => {
                    let now = Instant::now();
                    match due.checked_duration_since(now).filter(|rest| !rest.is_zero()) {
                        Some(rest) => server.recv_timeout(rest),
                        None => Ok(None),
                    }
                }
            };
            match received {
                Ok(Some(request)) => self.answer(request),
                Ok(None) => self.answer_due(),
                // Unblocked.
                Err(_) => return,
            }
        }
    }

    fn answer_due(&mut self) {
        let due = self.profiles.take_due(Instant::now());
        if due.is_empty() {
            return;
        }
        // Each profile reaches up to its end.
        self.last = None;
        for (request, profile) in profiles::later(due, self.read()) {
            let _ = reply_with(request, 200, profiles::KIND, profile);
        }
    }

    fn answer(&mut self, request: Request) {
        let url = request.url().to_owned();
        let (path, query) = url.split_once('?').unwrap_or((&url, ""));
        let is_read = matches!(request.method(), Method::Get | Method::Head);
        // A reader that is gone is no fault of ours.
        let _ = match (path, is_read) {
            (_, false) => reply(request, 405, "text/plain", "lockwright: only GET\n"),
            (METRICS, true) => {
                let text = openmetrics::render(self.read());
                reply(request, 200, OPENMETRICS, &text)
            }
            ("/debug/pprof" | "/debug/pprof/", true) => {
                reply(request, 200, "text/html; charset=utf-8", INDEX)
            }
            (profiles::MUTEX, true) => match profiles::asked(query) {
                Ok(Asked::Now) => {
                    let profile = profiles::now(self.read());
                    reply_with(request, 200, profiles::KIND, profile)
                }
                Ok(Asked::Over(time)) => {
                    // Its begin is now, not half a second ago.
                    self.last = None;
                    let report = self.read();
                    let samples = profiles::begin(report);
                    match self.profiles.add(request, samples, time) {
                        None => Ok(()),
                        Some(request) => {
                            reply(request, 503, "text/plain", "lockwright: too many\n")
                        }
                    }
                }
                Err(why) => reply(request, 400, "text/plain", why),
            },
            (_, true) => {
                reply(request, 404, "text/plain", "lockwright: see /metrics and /debug/pprof/\n")
            }
        };
    }

    /// The measurement up to now, or up to a moment ago.
    fn read(&mut self) -> &MeterReport {
        let fresh = self.last.take().filter(|(at, _)| at.elapsed() < FRESH);
        let (_, report) = self.last.insert(fresh.unwrap_or_else(|| {
            let report = GoingOn::read_run(&self.dir).measured(&self.images);
            (Instant::now(), report)
        }));
        report
    }
}

fn reply(request: Request, code: u16, kind: &str, text: &str) -> io::Result<()> {
    reply_with(request, code, kind, text.as_bytes().to_vec())
}

fn reply_with(request: Request, code: u16, kind: &str, body: Vec<u8>) -> io::Result<()> {
    let mut response = Response::from_data(body).with_status_code(code);
    if let Ok(header) = Header::from_bytes("Content-Type", kind) {
        response.add_header(header);
    }
    request.respond(response)
}
