//! Ledgers as moments, while they are written or later.

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use lockwright_ledger::Ledger;
use lockwright_report::live::{About, Moment, Places, add_findings, add_waits, of_report};
use lockwright_report::verdict::Policy;

use super::source::Source;
use crate::ledger_dir::{ledgers_in, run_of, watched_ledger, writer_of};
use crate::run::clocks::{monotonic_ns, realtime_ns};
use crate::run::going_on::GoingOn;
use crate::run::load;
use crate::run::report::is_checked;
use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::finding::{Grade, Instances, Report};
use lockwright_analysis::lockmeter::model;
use lockwright_analysis::progress::Silent;
use lockwright_analysis::symbolize::{DebugDirs, Images};
use lockwright_analysis::{analyse_with, waiting_now};
use lockwright_console::error::{Error, Result};

/// The search for findings takes this part of the time at most: a large program's takes long.
const SEARCH_PART: u32 = 5;

/// A part of a look that takes longer is left out, if the rest has nearly all of it.
const LONG: Duration = Duration::from_millis(100);

/// The ledgers of a run.
pub struct Ledgers {
    paths: Vec<PathBuf>,
    /// Show findings that are merely counted otherwise.
    all: bool,
    images: Rc<Images>,
    places: Places,
    policy: Policy,
    /// What was found last.
    found: Option<Found>,
    /// How long it took to read lockdep's waits.
    waits_took: Duration,
    /// There was a process at a look.
    has_begun: bool,
}

/// The findings of a look, and when to look again.
struct Found {
    report: Report,
    /// How much the ledgers had recorded.
    used: u64,
    next: Instant,
}

impl Ledgers {
    /// Those that the user names: files and directories.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(paths: Vec<PathBuf>, all: bool) -> Result<Self> {
        load::expand(&paths)?;
        Ok(Self::of_run(paths, all))
    }

    /// Those of a run that begins, in its directory.
    pub fn of_run(paths: Vec<PathBuf>, all: bool) -> Self {
        Self {
            paths,
            all,
            images: Images::new(DebugDirs::from_env()),
            places: Places::new(),
            policy: Policy::default().with_shipped(),
            found: None,
            waits_took: Duration::ZERO,
            has_begun: false,
        }
    }

    /// Those of the run that a process is of.
    ///
    /// # Errors
    /// If it is not watched, or there is no such process.
    pub fn of_process(pid: u32, all: bool) -> Result<Self> {
        if fs::metadata(format!("/proc/{pid}")).is_err() {
            return Err(Error::with_code(
                lockwright_console::error::exit::NOT_FOUND,
                format!("there is no process {pid}"),
            )
            .help("`lockwright ps` lists the processes that are watched"));
        }
        let ledger = watched_ledger(pid).ok_or_else(|| not_watched(pid))?;
        let run = run_of(&ledger).unwrap_or(&ledger).to_owned();
        Self::open(vec![run], all)
    }

    /// A process writes to one of them.
    pub fn are_written(&self) -> bool {
        self.paths().iter().any(|path| writer_of(path).is_some())
    }

    fn paths(&self) -> Vec<PathBuf> {
        let of = |path: &PathBuf| match path.is_dir() {
            true => ledgers_in(path).unwrap_or_default(),
            false => vec![path.clone()],
        };
        self.paths.iter().flat_map(of).collect()
    }

    /// Adds the waits that lockdep knows. lockmeter knows them, too, except joined threads and time limits: where that takes
    /// long, it does without.
    fn add_waits(&mut self, moment: &mut Moment, ledgers: &[Ledger], symbols: &AllSymbols<'_>) {
        if moment.is_measured && self.waits_took > LONG {
            return;
        }
        let began = Instant::now();
        add_waits(moment, &waiting_now(ledgers, &symbols.each()), &self.places);
        self.waits_took = began.elapsed();
    }

    /// What is wrong; searched for again where more was recorded, and not too often.
    fn search(&mut self, ledgers: &[Ledger], symbols: &AllSymbols<'_>) {
        let used = ledgers.iter().map(|ledger| ledger.header().used).sum();
        let deadlocks: u32 = ledgers.iter().map(|ledger| ledger.header().deadlocks).sum();
        if let Some(found) = &self.found {
            let known = found.report.findings.iter().filter(|it| it.grade == Grade::Deadlocked);
            let is_old = found.used == used || Instant::now() < found.next;
            if is_old && deadlocks as usize <= known.count() {
                return;
            }
        }
        let began = Instant::now();
        let report = analyse_with(ledgers, &symbols.each(), Instances::Folded, &Silent);
        let next = Instant::now() + began.elapsed() * SEARCH_PART;
        self.found = Some(Found { report, used, next });
    }
}

impl Source for Ledgers {
    fn look(&mut self) -> Result<Option<Moment>> {
        let going_on = GoingOn::read(&self.paths());
        let GoingOn { ledgers, live } = &going_on;
        if ledgers.is_empty() {
            return Ok(None);
        }
        let now = monotonic_ns();
        self.has_begun = true;
        let symbols = AllSymbols::with_images(ledgers, &self.images);
        let report = model::build_with(ledgers, &symbols.each(), &going_on.until(now));
        let about = |pid: u32, tid: u32| about(live.get(&pid).copied(), tid);
        let mut moment = of_report(&report, &self.places, about);
        if ledgers.iter().any(is_checked) {
            self.add_waits(&mut moment, ledgers, &symbols);
            self.search(ledgers, &symbols);
            if let Some(found) = &self.found {
                let judged = self.policy.judge(&found.report);
                add_findings(&mut moment, &judged, self.all);
            }
        }
        (moment.at_ns, moment.unix_ns) = (now, realtime_ns());
        for process in &mut moment.processes {
            process.runs = live.contains_key(&process.pid);
            let header = ledgers.iter().map(Ledger::header).find(|it| it.pid == process.pid);
            if let (0, Some(header)) = (process.elapsed_ns, header) {
                let end = if header.end_ns == 0 { now } else { header.end_ns };
                process.elapsed_ns = end.saturating_sub(header.start_ns);
            }
        }
        Ok(Some(moment))
    }

    fn is_over(&mut self) -> bool {
        self.has_begun && !self.are_written()
    }
}

/// What the kernel knows about a thread of a process that runs.
fn about(pid: Option<u32>, tid: u32) -> About {
    let Some(pid) = pid else { return About::default() };
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    about_by(&stat).unwrap_or_default()
}

/// By its line in /proc: `id (name) state ...`. A name may have anything in it.
fn about_by(stat: &str) -> Option<About> {
    let (before, after) = stat.rsplit_once(')')?;
    let state = match after.trim_start().chars().next()? {
        'R' => "runs",
        'D' => "sleeps in an uninterruptible call",
        'T' | 't' => "is stopped by a signal or a debugger",
        'S' | 'I' => "sleeps",
        _ => "",
    };
    let name = before.split_once('(')?.1.to_owned();
    Some(About { name, state: state.to_owned() })
}

/// A process that is not watched.
fn not_watched(pid: u32) -> Error {
    Error::new(format!("process {pid} is not watched")).help(format!(
        "look into it as it is: `lockwright top --pid {pid}`; `lockwright ps` lists what is watched"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_anything_in_them() {
        let about = about_by("77 (a) b (c) S 1 2 3").unwrap();
        assert_eq!((about.name.as_str(), about.state.as_str()), ("a) b (c", "sleeps"));
        assert!(about_by("").is_none());
        assert_eq!(about_by("1 (x) R 0").unwrap().state, "runs");
    }
}
