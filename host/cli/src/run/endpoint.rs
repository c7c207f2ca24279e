//! `--listen`: the measurement so far for Prometheus and its like, over HTTP, while the program runs.

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tiny_http::{Header, Method, Request, Response, Server};

use super::clocks::monotonic_ns;
use super::going_on::GoingOn;
use super::watch::signals::Mask;
use crate::ledger_dir::ledgers_in;
use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::lockmeter::model;
use lockwright_analysis::symbolize::{DebugDirs, Images};
use lockwright_console::error::{Error, Result};
use lockwright_report::lockmeter::openmetrics;

/// Where the measurement is.
const PATH: &str = "/metrics";

/// What an OpenMetrics text is called.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A text is given again for so long: whoever asks more often learns nothing new, and costs nothing.
const FRESH: Duration = Duration::from_millis(500);

/// Answers at `address`, if there is one, with what the ledgers of the run in `dir` have. `note` shows the user where.
///
/// # Errors
/// If that is not possible.
pub fn listen(address: Option<&str>, dir: &Path, note: impl Fn(&Error)) -> Result<Option<Serving>> {
    let Some(address) = address else { return Ok(None) };
    let endpoint = Endpoint::bind(address)?;
    note(&Error::new(format!("the measurement so far is at {}", endpoint.url())));
    endpoint.serve(dir).map(Some)
}

/// A server that is bound and answers nobody yet.
struct Endpoint(Arc<Server>);

/// One that answers, until this is dropped.
pub struct Serving {
    server: Arc<Server>,
    thread: Option<JoinHandle<()>>,
}

impl Endpoint {
    /// Binds it to `address:port`; port 0 is one that is free.
    ///
    /// # Errors
    /// If that is not possible.
    fn bind(address: &str) -> Result<Self> {
        let server = Server::http(address).map_err(|error| {
            Error::new(format!("cannot listen on {address}: {error}"))
                .help("name an address of this machine and a free port: --listen 127.0.0.1:9464")
        })?;
        Ok(Self(Arc::new(server)))
    }

    /// Its address, for people.
    fn url(&self) -> String {
        format!("http://{}{PATH}", self.0.server_addr())
    }

    /// Answers from now on, with what the ledgers of the run in `dir` have.
    ///
    /// # Errors
    /// If there is no thread to be had.
    fn serve(self, dir: &Path) -> Result<Serving> {
        let (server, dir) = (Arc::clone(&self.0), dir.to_owned());
        let thread = thread::Builder::new()
            .name("listen".to_owned())
            .spawn(move || {
                // Signals are for the thread that waits for the program.
                Mask::close();
                answer(&server, &dir);
            })
            .map_err(|error| Error::new(format!("no thread for --listen: {error}")))?;
        Ok(Serving { server: self.0, thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(server: &Server, dir: &Path) {
    let images = Images::new(DebugDirs::from_env());
    let mut last: Option<(Instant, String)> = None;
    while let Ok(request) = server.recv() {
        let path = request.url().split('?').next().unwrap_or_default();
        let is_read = matches!(request.method(), Method::Get | Method::Head);
        // A reader that is gone is no fault of ours.
        let _ = match (path, is_read) {
            (PATH, true) => {
                let (_, text) = match last.take().filter(|(at, _)| at.elapsed() < FRESH) {
                    Some(fresh) => last.insert(fresh),
                    None => last.insert((Instant::now(), so_far(dir, &images))),
                };
                reply(request, 200, OPENMETRICS, text)
            }
            (_, true) => reply(request, 404, "text/plain", "lockwright: see /metrics\n"),
            (_, false) => reply(request, 405, "text/plain", "lockwright: only GET\n"),
        };
    }
}

fn reply(request: Request, code: u16, kind: &str, text: &str) -> io::Result<()> {
    let mut response = Response::from_string(text).with_status_code(code);
    if let Ok(header) = Header::from_bytes("Content-Type", kind) {
        response.add_header(header);
    }
    request.respond(response)
}

/// The measurement up to now.
fn so_far(dir: &Path, images: &Rc<Images>) -> String {
    let going_on = GoingOn::read(&ledgers_in(dir).unwrap_or_default());
    let symbols = AllSymbols::with_images(&going_on.ledgers, images);
    let ends = going_on.until(monotonic_ns());
    openmetrics::render(&model::build_with(&going_on.ledgers, &symbols.each(), &ends))
}
