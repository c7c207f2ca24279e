//! The futexes of all processes as moments, by `lockwright-bpf`.

use std::time::Duration;

use lockwright_report::live::{About, Moment, Places, of_futexes};

use super::source::Source;
use crate::run::clocks::{monotonic_ns, realtime_ns};
use crate::run::thread_name;
use crate::run::traced::Futexes;
use lockwright_console::error::Result;

/// All processes.
pub struct AllProcesses {
    futexes: Option<Futexes>,
    places: Places,
    /// When counting began, CLOCK_MONOTONIC.
    began_ns: u64,
}

impl AllProcesses {
    /// Begins to count.
    ///
    /// # Errors
    /// If the kernel does not let us.
    pub fn open(interval: Duration) -> Result<Self> {
        // A look finds what the helper has sent by then.
        let futexes = Some(Futexes::start(None, interval / 2)?);
        Ok(Self { futexes, places: Places::new(), began_ns: monotonic_ns() })
    }
}

impl Source for AllProcesses {
    fn look(&mut self) -> Result<Option<Moment>> {
        let Some(futexes) = &mut self.futexes else { return Ok(None) };
        let Some(counted) = futexes.look()? else { return Ok(None) };
        let mut moment = of_futexes(&counted.report, &counted.holders, &self.places, about);
        // When it was counted, and not when it was read: rates are of that.
        moment.at_ns = self.began_ns.saturating_add(counted.report.elapsed_ns);
        moment.unix_ns = realtime_ns();
        Ok(Some(moment))
    }

    fn is_over(&mut self) -> bool {
        false
    }

    fn leave(&mut self) -> Result<()> {
        self.futexes.take().map_or(Ok(()), Futexes::finish)
    }
}

/// What the kernel knows about a thread.
fn about(pid: u32, tid: u32) -> About {
    About { name: thread_name::of(pid, tid), state: String::new() }
}
