//! `/debug/pprof/mutex`: profiles as Go's programs give them, for `go tool pprof` and what scrapes such programs.

use std::time::{Duration, Instant};

use tiny_http::Request;

use crate::run::clocks::realtime_ns;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_report::lockmeter::contention::{Totals, samples};
use lockwright_report::lockmeter::pprof::{Period, encode};

/// Where it is.
pub const MUTEX: &str = "/debug/pprof/mutex";

/// What a profile is called.
pub const KIND: &str = "application/octet-stream";

/// What a request wants.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// All waits so far.
    Now,
    /// Those that end in this time from now on.
    Over(Duration),
}

/// The longest time.
const LONGEST: u64 = 3600;

/// What the query says. Parameters that are not known mean nothing.
///
/// # Errors
/// What is wrong with it.
pub fn asked(query: &str) -> Result<Asked, &'static str> {
    let value = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    if value("debug").is_some_and(|value| value != "0") {
        return Err("lockwright: profiles are for programs: debug=0\n");
    }
    match value("seconds") {
        None | Some("0") => Ok(Asked::Now),
        Some(text) => match text.parse() {
            Ok(seconds) if seconds <= LONGEST => Ok(Asked::Over(Duration::from_secs(seconds))),
            _ => Err("lockwright: seconds=0 to seconds=3600\n"),
        },
    }
}

/// The profile of all waits so far.
pub fn now(report: &MeterReport) -> Vec<u8> {
    let period = Period {
        begun_ns: realtime_ns().saturating_sub(report.elapsed_ns),
        duration_ns: report.elapsed_ns,
    };
    encode(&samples(report), period)
}

/// What there was when a request came.
pub fn begin(report: &MeterReport) -> Totals {
    Totals::of(&samples(report))
}

/// A request for a time that is not over.
struct Waiting {
    request: Request,
    begun: Instant,
    begun_ns: u64,
    due: Instant,
    before: Totals,
}

/// Requests that wait.
#[derive(Default)]
pub struct Profiles(Vec<Waiting>);

/// More clients do not wait at once.
const MOST_WAITING: usize = 16;

impl Profiles {
    /// Has the request wait. It comes back if too many do.
    pub fn add(&mut self, request: Request, before: Totals, time: Duration) -> Option<Request> {
        if self.0.len() >= MOST_WAITING {
            return Some(request);
        }
        let begun = Instant::now();
        let (begun_ns, due) = (realtime_ns(), begun + time);
        self.0.push(Waiting { request, begun, begun_ns, due, before });
        None
    }

    /// When the first of them is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.0.iter().map(|waiting| waiting.due).min()
    }

    /// Those that are due.
    pub fn take_due(&mut self, now: Instant) -> Vec<Due> {
        let due = self.0.extract_if(.., |waiting| waiting.due <= now);
        due.map(Due).collect()
    }
}

/// A request whose time is over.
pub struct Due(Waiting);

/// The requests, each with its profile of what was measured since it came.
pub fn later(due: Vec<Due>, report: &MeterReport) -> Vec<(Request, Vec<u8>)> {
    let now = samples(report);
    let answer = |Due(waiting): Due| {
        let duration_ns = waiting.begun.elapsed().as_nanos() as u64;
        let period = Period { begun_ns: waiting.begun_ns, duration_ns };
        (waiting.request, encode(&waiting.before.until(&now), period))
    };
    due.into_iter().map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_clients() {
        assert_eq!(asked(""), Ok(Asked::Now));
        assert_eq!(asked("seconds=0&debug=0"), Ok(Asked::Now));
        assert_eq!(asked("x&seconds=3"), Ok(Asked::Over(Duration::from_secs(3))));
        for wrong in ["debug=1", "seconds=-1", "seconds=x", "seconds=3601", "seconds="] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
    }
}
