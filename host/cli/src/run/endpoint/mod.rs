//! `--listen`: the measurement so far over HTTP, while the program runs: for Prometheus and its like, and for readers of Go's
//! profiles.

mod answers;
mod profiles;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use tiny_http::Server;

use super::watch::signals::Mask;
use answers::{Answers, METRICS};
use lockwright_console::error::{Error, Result};

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
    is_over: Arc<AtomicBool>,
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
        format!("http://{}{METRICS}", self.0.server_addr())
    }

    /// Answers from now on, with what the ledgers of the run in `dir` have.
    ///
    /// # Errors
    /// If there is no thread to be had.
    fn serve(self, dir: &Path) -> Result<Serving> {
        let (server, dir) = (Arc::clone(&self.0), dir.to_owned());
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let thread = thread::Builder::new()
            .name("listen".to_owned())
            .spawn(move || {
                // Signals are for the thread that waits for the program.
                Mask::close();
                Answers::new(dir).run(&server, &until);
            })
            .map_err(|error| Error::new(format!("no thread for --listen: {error}")))?;
        Ok(Serving { server: self.0, is_over, thread: Some(thread) })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Release: see `Answers::run`.
        self.is_over.store(true, Ordering::Release);
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
