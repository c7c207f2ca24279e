//! Runs a program under lockmeter: the figures that it prints about itself, and those in the
//! ledgers.

use std::collections::HashMap;
use std::path::Path;

use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::{
    At, Blame, Lock, MeterReport, Mode, Site, Wait, WaitKind, build, is_metered,
};
use lockwright_analysis::symbolize::wrapper::first_own_frame;
use lockwright_ledger::Ledger;

use crate::harness::{Run, Running, ledgers, under, until};

/// A finished run.
pub struct Metered {
    /// How it ended.
    pub run: Run,
    /// The ledgers of its processes, in order of start.
    pub ledgers: Vec<Ledger>,
    /// What they say.
    pub report: MeterReport,
}

/// How lockmeter is asked for.
#[derive(Clone, Copy)]
pub struct How {
    /// `meter`, or `run`.
    pub command: &'static str,
    /// Its options.
    pub options: &'static [&'static str],
    /// The clock, if not the one that there is.
    pub clock: Option<&'static str>,
}

/// The usual: every hold timed, by the clock that there is.
pub const EXACT: How = How { command: "meter", options: &[], clock: None };

/// Runs a program under the meter, to its end.
pub fn meter(how: How, program: &Path, arguments: &[&str]) -> Metered {
    finish(start(how, program, arguments))
}

/// Starts a program under the meter.
pub fn start(how: How, program: &Path, arguments: &[&str]) -> Running {
    let options = [&["--keep", "--output", "/dev/null"], how.options].concat();
    let job = under(how.command, &options, program).args(arguments);
    match how.clock {
        Some(clock) => job.env("LOCKWRIGHT_CLOCK", clock).spawn(),
        None => job.spawn(),
    }
}

/// Waits for the end of a program that was started so.
pub fn finish(mut running: Running) -> Metered {
    until("the end", || (!running.is_running()).then_some(()));
    let mut metered: Vec<Ledger> = ledgers(&running.ledger_dir())
        .iter()
        .map(|path| Ledger::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
        .filter(is_metered)
        .collect();
    metered.sort_by_key(|ledger| ledger.header().start_ns);
    let report = build(&metered, &[]);
    let run = running.wait();
    assert_eq!(report.lost, 0, "nothing is lost: {}", run.stderr);
    Metered { run, ledgers: metered, report }
}

/// Whether a measured time is the true one.
pub fn is_close(measured: f64, truth: f64, percent: f64) -> bool {
    (measured - truth).abs() <= truth * percent / 100.0
}

/// Runs a test of times up to six times. Between a clock reading of the program's and the tool's
/// the processor may be taken away: then both are right, and do not agree. Six times in a row, with
/// longer and longer pauses for what disturbs to pass, is no chance.
pub fn repeatedly(mut attempt: impl FnMut() -> Result<(), String>) {
    let mut failures = Vec::new();
    for round in 0..6 {
        match attempt() {
            Ok(()) => return,
            Err(why) => failures.push(why),
        }
        std::thread::sleep(std::time::Duration::from_millis(300 << round));
    }
    panic!("time and again: {failures:#?}");
}

/// Fails an attempt of [`repeatedly`] unless `measured` is within 5 % of `truth`.
pub fn agree(what: &str, measured: f64, truth: f64) -> Result<(), String> {
    within(5.0, what, measured, truth)
}

/// As [`agree`], within so many percent.
pub fn within(percent: f64, what: &str, measured: f64, truth: f64) -> Result<(), String> {
    if truth > 0.0 && is_close(measured, truth, percent) {
        Ok(())
    } else {
        Err(format!("{what}: {measured:.0} ns measured, {truth:.0} ns in truth"))
    }
}

impl Metered {
    /// A time matches what the program itself measured as `name`: no less than what lay between its
    /// calls, and no more than what lay around them (`name_around`), within the 1 % that the clocks
    /// may differ. That is so even where the processor is taken away.
    ///
    /// A time that is another thread's fault can fall short for one reason: two threads come to the
    /// lock's board at once, and the one that works on it loses the processor. The other goes
    /// without, so as not to keep the program's lock waiting. So this is for [`repeatedly`].
    pub fn is_bounded(&self, name: &str, measured: f64) -> Result<(), String> {
        let (least, most) = (self.truth(name), self.truth(&format!("{name}_around")));
        assert!(0.0 < least && least <= most, "{name}: the program's own {least} to {most}");
        if (0.99 * least..=1.01 * most).contains(&measured) {
            return Ok(());
        }
        Err(format!("{name}: {measured:.0} ns measured, {least:.0} to {most:.0} ns in truth"))
    }

    /// The figure that the program prints about itself as `name`.
    pub fn truth(&self, name: &str) -> f64 {
        let text = self.run.text();
        let truths: HashMap<_, _> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let number = truths.get(name).unwrap_or_else(|| panic!("no {name} in: {text}"));
        number.parse().unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The only lock that is taken at a site in `function`.
    pub fn lock(&self, function: &str) -> &Lock {
        let has_it = |lock: &&Lock| lock.sites.iter().any(|site| is_in(&site.stack, function));
        let found: Vec<_> = self.report.locks.iter().filter(has_it).collect();
        assert_eq!(found.len(), 1, "locks taken in {function}: {:#?}", self.sites());
        found[0]
    }

    /// The only site in `function`.
    pub fn site(&self, function: &str) -> &Site {
        let lock = self.lock(function);
        let found = sites_in(lock, function);
        assert_eq!(found.len(), 1, "sites in {function}: {:#?}", self.sites());
        found[0].1
    }

    /// The only wait of a kind in `function`.
    pub fn wait(&self, kind: WaitKind, function: &str) -> &Wait {
        let is_it = |wait: &&Wait| wait.kind == kind && is_in(&wait.stack, function);
        let found: Vec<_> = self.report.waits.iter().filter(is_it).collect();
        assert_eq!(found.len(), 1, "{kind:?} in {function}: {:#?}", self.report.waits);
        found[0]
    }

    /// How long waits at the site in `waiter` were for holds by the one in `holder`, of the same
    /// lock.
    pub fn blame(&self, waiter: &str, holder: &str) -> f64 {
        let lock = self.lock(waiter);
        let of = |function| sites_in(lock, function).first().expect("a site").0;
        let (waiter, holder) = (of(waiter), of(holder));
        let is_it = |blame: &&Blame| blame.waiter == waiter && blame.holder == Some(holder);
        lock.blame.iter().filter(is_it).map(|blame| blame.ns).sum()
    }

    /// How long the holder at the site in `holder` waited at `inner` for another lock meanwhile.
    pub fn nested(&self, holder: &str, inner: &str) -> f64 {
        let is_inner = |at: At| match at {
            At::Lock { lock, site } => {
                self.report.site(lock, site).is_some_and(|site| is_in(&site.stack, inner))
            }
            At::Wait(_) | At::Unknown => false,
        };
        self.site(holder).nested.iter().filter(|n| is_inner(n.at)).map(|n| n.ns).sum()
    }

    /// How long the holder at the site in `holder` spent in calls that may sleep.
    pub fn in_calls(&self, holder: &str) -> f64 {
        let is_call = |at: At| match at {
            At::Wait(i) => self.report.waits.get(i).is_some_and(|w| w.kind == WaitKind::Call),
            At::Lock { .. } | At::Unknown => false,
        };
        self.site(holder).nested.iter().filter(|n| is_call(n.at)).map(|n| n.ns).sum()
    }

    /// Acquisitions in all, those at sites in `function`.
    pub fn acquisitions(&self, function: &str) -> u64 {
        let locks = self.report.locks.iter();
        let sites = locks.flat_map(|lock| sites_in(lock, function));
        sites.map(|(_, site)| site.numbers.acquisitions).sum()
    }

    /// The sites, for a message of a test that fails.
    fn sites(&self) -> Vec<(String, Mode, u64, Vec<String>)> {
        let of = |lock: &Lock, site: &Site| {
            let functions = site.stack.iter().map(|f| f.function.clone().unwrap_or_default());
            (lock.name.clone(), site.mode, site.numbers.acquisitions, functions.collect())
        };
        let locks = self.report.locks.iter();
        locks.flat_map(|lock| lock.sites.iter().map(move |site| of(lock, site))).collect()
    }
}

/// Sites of a lock in a function, with their numbers.
pub fn sites_in<'l>(lock: &'l Lock, function: &str) -> Vec<(usize, &'l Site)> {
    lock.sites.iter().enumerate().filter(|(_, site)| is_in(&site.stack, function)).collect()
}

/// The innermost frame is in `function`, or the innermost that does not just wrap a lock call.
fn is_in(stack: &[Frame], function: &str) -> bool {
    let is_it = |frame: &Frame| frame.function.as_deref() == Some(function);
    stack.first().is_some_and(is_it) || first_own_frame(stack).is_some_and(is_it)
}
