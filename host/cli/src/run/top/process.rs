//! A process that nobody started under the tool, as moments: a whole look for each, and between them every wait is counted,
//! where `lockwright-bpf` may; else short looks at its threads all the time.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use lockwright_report::live::{Looks, Moment, Places, of_process};

use super::source::Source;
use crate::run::attach::{look, numbers, waits_now};
use crate::run::clocks::{monotonic_ns, realtime_ns};
use crate::run::traced::Futexes;
use lockwright_console::error::Result;
use lockwright_console::plain;
use lockwright_report::prose::words::base_name;

/// From one short look to the next.
const SHORT: Duration = Duration::from_millis(20);

/// Short looks take this part of the time at most.
const LOOKING_PART: u32 = 20;

/// Waits forgotten that no look has seen for long are of threads that have ended.
const MOST_WAITS: usize = 100_000;

/// The process.
pub struct LookedAt {
    pid: u32,
    looks: Looks,
    places: Places,
    /// When the last short look was, or when waits were counted last.
    last_ns: u64,
    /// What counts its waits.
    counting: Option<Counting>,
}

/// Counts the waits of a process.
struct Counting {
    futexes: Futexes,
    /// When it began, CLOCK_MONOTONIC.
    began_ns: u64,
}

impl LookedAt {
    /// The process, and what it is called.
    ///
    /// # Errors
    /// If there is none, or it may not be looked into.
    pub fn open(pid: u32, interval: Duration) -> Result<(String, Self)> {
        let attached = look(pid)?;
        let (mut looks, places) = (Looks::default(), Places::new());
        let began_ns = monotonic_ns();
        // A look finds what was sent by then.
        let counting = match Futexes::start(Some(pid), interval / 2) {
            Ok(futexes) => Some(Counting { futexes, began_ns }),
            Err(error) => {
                looks.uncounted = error.reasons().map(plain::line).collect::<Vec<_>>().join(": ");
                None
            }
        };
        let how = if counting.is_some() { "every wait counted" } else { "waits estimated" };
        let title = format!("process {pid} ({}), {how}", base_name(&attached.exe));
        Ok((plain::line(&title), Self { pid, looks, places, last_ns: 0, counting }))
    }

    /// Reads what was counted, if anything is; false if there is no news.
    fn read_counted(&mut self) -> Result<bool> {
        let Some(Counting { futexes, began_ns }) = &mut self.counting else { return Ok(true) };
        let Some(mut counted) = futexes.look()? else { return Ok(false) };
        // As a look at the process has its threads.
        let own: HashMap<u32, u32> = numbers(self.pid).into_iter().collect();
        for wait in &mut counted.report.waiting {
            wait.tid = own.get(&wait.tid).copied().unwrap_or(wait.tid);
        }
        self.last_ns = began_ns.saturating_add(counted.report.elapsed_ns);
        self.looks.counted = Some(counted.report);
        Ok(true)
    }

    /// Looks where each thread waits. Each look stands for the time since the last.
    fn look_shortly(&mut self) {
        let now = monotonic_ns();
        let past = if self.last_ns == 0 { 0 } else { now.saturating_sub(self.last_ns) };
        self.last_ns = now;
        let before = std::mem::take(&mut self.looks.since_ns);
        for (tid, address) in waits_now(self.pid).into_iter().take(MOST_WAITS) {
            let since = before.get(&(tid, address)).copied();
            self.looks.since_ns.insert((tid, address), since.unwrap_or(now));
            // On average it waits for as long before a look as after it.
            *self.looks.waited_ns.entry(address).or_default() += past as f64;
        }
    }
}

impl Source for LookedAt {
    fn look(&mut self) -> Result<Option<Moment>> {
        if self.counting.is_none() {
            self.look_shortly();
        }
        let attached = look(self.pid)?;
        if !self.read_counted()? {
            return Ok(None);
        }
        // Waits are counted up to here: with the time of the whole look, a slow one would count to one interval, its
        // waits to the next.
        let now = self.last_ns;
        let elapsed_ns = age_ns(self.pid).unwrap_or(0);
        let mut moment = of_process(&attached, &mut self.looks, &self.places, now, elapsed_ns);
        moment.unix_ns = realtime_ns();
        Ok(Some(moment))
    }

    fn wait(&mut self, patience: Duration) {
        if self.counting.is_some() {
            std::thread::sleep(patience);
            return;
        }
        let end = Instant::now() + patience;
        loop {
            let began = Instant::now();
            self.look_shortly();
            let rest = SHORT.max(began.elapsed() * (LOOKING_PART - 1));
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(rest.min(left));
            if left <= rest {
                return;
            }
        }
    }

    fn is_over(&mut self) -> bool {
        fs::read_link(format!("/proc/{}/exe", self.pid)).is_err()
    }

    fn leave(&mut self) -> Result<()> {
        self.counting.take().map_or(Ok(()), |counting| counting.futexes.finish())
    }
}

/// How long it has run.
fn age_ns(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may have anything in it.
    let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    // SAFETY: it takes a number.
    let rate = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let age = uptime - ticks as f64 / rate.max(1) as f64;
    (age > 0.0).then_some((age * 1e9) as u64)
}
