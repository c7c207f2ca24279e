//! `lockwright push`: sends what runs have left.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;

use super::client::Client;
use super::courier::Sent;
use super::delivery::Run;
use super::progress::Progress;
use super::target::Target;
use crate::args::SendArgs;
use crate::run::ending::Ending;
use crate::run::output::sinks::Sinks;
use lockwright_analysis::symbolize::{DebugDirs, Images};
use lockwright_console::error::{Error, Result, exit};
use lockwright_console::plain;

/// A run, and what was sent of it.
#[derive(Debug, Serialize)]
struct Delivered {
    dir: String,
    url: String,
    contentions: u64,
    delay_ns: u64,
    /// Why the server does not have everything.
    error: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// If there is nothing to send, or a server does not have everything after that.
pub fn send(args: &SendArgs) -> Result<Ending> {
    let mut output = Sinks::open(&args.output)?;
    let images = Images::new(DebugDirs::from_env());
    let mut all = Vec::new();
    let mut failed = None;
    for dir in &args.dirs {
        match send_one(args, dir, &images) {
            Ok(delivered) => all.push(delivered),
            Err(error) => {
                if let Some(before) = failed.replace(error) {
                    output.warn(&before);
                }
            }
        }
    }
    output.write_json_text(&plain::json_text(&all))?;
    let text: String = all.iter().map(line).collect();
    output.list(&text)?;
    if let Some(error) = failed {
        return Err(error);
    }
    let all_sent = all.iter().all(|it| it.error.is_none());
    Ok(Ending::Code(if all_sent { 0 } else { exit::OWN_FAILURE }))
}

fn send_one(args: &SendArgs, dir: &Path, images: &Rc<Images>) -> Result<Delivered> {
    let shown = dir.display();
    let run = Run::take(dir)?.ok_or_else(|| {
        Error::new(format!("another lockwright runs or sends what is in {shown}"))
            .help("wait until it has ended")
    })?;
    let known = Progress::read(dir);
    let url = args.push.clone().or_else(|| Some(known.as_ref()?.url.clone()));
    let url = url.ok_or_else(|| {
        Error::with_code(exit::USAGE, format!("the run in {shown} had no --push"))
            .help("name the server: lockwright push --push URL DIR")
    })?;
    let target = Target::parse(&url)?;
    let mut progress =
        known.unwrap_or_else(|| Progress::new(url.clone(), run.identity(), run.begun_ns()));
    progress.url.clone_from(&url);
    let fits = progress.identity.check(target.shape);
    fits.map_err(|why| Error::with_code(exit::USAGE, format!("--push {url}: {why}")))?;
    let address = target.to_string();
    let client = Arc::new(Client::new(target, &args.admission)?);
    let (Sent { count, ns }, error) = match run.deliver(client, progress, images) {
        Ok(sent) => (sent, None),
        Err((failure, left)) => (Sent::default(), Some(format!("{left} left: {}", failure.why))),
    };
    Ok(Delivered { dir: shown.to_string(), url: address, contentions: count, delay_ns: ns, error })
}

fn line(delivered: &Delivered) -> String {
    let Delivered { dir, url, contentions, delay_ns, error } = delivered;
    let (dir, url) = (plain::line(dir), plain::line(url));
    match error {
        Some(error) => format!("{dir}: not pushed to {url}; {}\n", plain::line(error)),
        None if *contentions == 0 => format!("{dir}: {url} has everything\n"),
        None => {
            let sent = Sent { count: *contentions, ns: *delay_ns };
            format!("{dir}: pushed {sent} to {url}\n")
        }
    }
}
