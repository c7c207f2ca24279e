//! One run of a program with engines in it: from its start to its end, and what it left behind.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use lockwright_ledger::Ledger;

use super::clocks::{cpu_of_children_ns, monotonic_ns};
use super::ending::Ending;
use super::hang::busy::BusyThreads;
use super::live::{Live, Why, Wishes};
use super::output::Output;
use super::prices::{Calibration, calibrate};
use super::watch::child::{Child, Program};
use super::watch::engines::Engines;
use super::watch::follow::Follow;
use super::watch::preload::Preload;
use super::watch::{end_file, generated_code, inlined, steering, unwatched};
use super::{doctor, load, path_search, push, target};
use crate::args::RunArgs;
use crate::ledger_dir::{self, RunDir, Surroundings};
use lockwright_analysis::finding::Unwatched;
use lockwright_analysis::finding::coverage::Gap;
use lockwright_analysis::lockmeter::model::End;
use lockwright_analysis::process_end::Ends;
use lockwright_console::error::{Error, Result};

/// Finds the program that a command line names, and refuses what cannot be watched.
///
/// # Errors
/// If there is none, or it cannot be watched.
pub fn find(argv: Vec<OsString>) -> Result<Program> {
    let path = std::env::var_os("PATH");
    let file = path_search::find(&argv[0], path.as_deref())?;
    target::check(&file)?;
    Ok(Program { file, argv })
}

/// Finds the program that a command line names, whether or not it could be watched.
///
/// # Errors
/// If there is none.
pub fn find_any(argv: Vec<OsString>) -> Result<Program> {
    let path = std::env::var_os("PATH");
    let file = path_search::find(&argv[0], path.as_deref())?;
    Ok(Program { file, argv })
}

/// What is to be run, and how.
pub struct Plan<'a> {
    /// The program.
    pub program: &'a Program,
    /// What watches it.
    pub engines: Engines<'a>,
    /// How it is run.
    pub args: &'a RunArgs,
    /// What happens meanwhile.
    pub wishes: Wishes<'a>,
    /// For how long a lock is waited for when its holder loops before that is a hang.
    pub hang_after: Option<Duration>,
}

/// A program that has ended.
pub struct Session<'a> {
    plan: Plan<'a>,
    /// How it ended.
    pub status: ExitStatus,
    /// Why there may be more than its ledgers say: those that cannot be read, or were removed.
    pub missing: Vec<Gap>,
    /// The ledgers that it left; none if it failed by itself before it could be watched, or
    /// somebody removed them.
    pub ledgers: Vec<Ledger>,
    generated: generated_code::Found,
    /// Processes that were not watched.
    pub unwatched: Vec<Unwatched>,
    /// When and how it ended.
    pub ended: End,
    /// How its processes ended, as far as that is known otherwise than by their ledgers.
    pub ends: Ends,
    /// What was seen while it ran.
    pub live: Live<'a>,
    /// Threads that were busy while it ran.
    pub busy: BusyThreads,
    /// CPU time that it and its children took, the tool's part included, ns.
    pub cpu_ns: f64,
    /// Where its ledgers are.
    pub dir: RunDir,
    paths: Vec<PathBuf>,
    preload: Preload,
}

impl<'a> Session<'a> {
    /// Runs the program to its end.
    ///
    /// # Errors
    /// If it cannot be run, or ended well but was not watched.
    pub fn run(
        plan: Plan<'a>,
        mut dir: RunDir,
        around: &Surroundings,
        output: &mut Output,
    ) -> Result<Self> {
        let preload = Preload::unpack(&mut dir, around)?;
        let mut live = Live::new(plan.wishes, plan.engines.lockdep);
        let mut busy = BusyThreads::new(plan.hang_after);
        let cpu_before = cpu_of_children_ns();
        let follow = Follow::of(plan.args);
        unwatched::make_records(&dir)?;
        plan.wishes.steering.map(|steering| steering.give(&dir)).transpose()?;
        let inlined = (!plan.args.no_inlined)
            .then(|| inlined::Tables::make(&plan.program.file, &dir))
            .transpose()?;
        let mut child = Child::spawn(plan.program, |command| {
            preload.watch(command);
            inlined::tell(inlined.as_ref(), command);
            plan.engines.tell(command);
            follow.tell(command);
            steering::tell(plan.wishes.steering, command);
            // It is a secret of lockwright alone.
            command.env_remove(push::AUTHORIZATION);
        })?;
        output.program_started();
        let status = loop {
            let ended = child
                .wait(live.patience())
                .map_err(|error| Error::new(format!("cannot wait for the program: {error}")))?;
            if let Some(status) = ended {
                break status;
            }
            live.poll(dir.path(), child.pid(), output);
            if plan.engines.lockdep {
                busy.poll(dir.path());
            }
        };
        let ended =
            End { pid: child.pid(), at_ns: monotonic_ns(), status: Some(status.into_raw()) };
        let cpu_ns = cpu_of_children_ns() - cpu_before - live.commands_cpu_ns();
        live.program_ended(dir.path());
        // From here on Ctrl-C is for lockwright.
        drop(child);

        let paths = ledger_dir::ledgers_in(dir.path());
        let (mut ledgers, mut missing) = match &paths {
            Ok(paths) if !paths.is_empty() || !live.deadlocks.saw_ledgers() => {
                open_ledgers(plan.program, status, paths, output)?
            }
            gone => {
                let error = removed(dir.path(), gone.as_ref().err());
                output.warn(&error);
                (Vec::new(), vec![load::gap(&error, "ledgers-removed")])
            }
        };
        let generated = generated_code::find(&mut ledgers);
        let foreign = ledger_dir::foreign_in(dir.path());
        if foreign > 0 {
            output.warn(&not_of_this_run(foreign, dir.path()));
        }
        let paths = paths.unwrap_or_default();
        let unwatched = unwatched::processes(dir.path(), &ledgers);
        missing.extend(unwatched::gaps(&unwatched, Some(ended.pid)));
        let ends = Ends::new(vec![ended], ledger_dir::with_writers(&paths));
        Ok(Self {
            plan,
            status,
            unwatched,
            missing,
            ended,
            ends,
            ledgers,
            generated,
            live,
            busy,
            cpu_ns,
            dir,
            paths,
            preload,
        })
    }

    /// What watching adds to single things; `None` if it cannot be measured.
    pub fn prices(&self) -> Option<Calibration> {
        let base = Surroundings::current().own_base();
        calibrate::cost(&self.preload, &self.plan.engines, &self.dir, base.as_deref())
    }

    /// Keeps, leaves or gives up the run's directory. What was not `reported` is kept.
    pub fn end(mut self, reported: bool, output: &Output) {
        let running = ledger_dir::watched_in(self.dir.path());
        let shown = self.dir.path().display().to_string();
        if !running.is_empty() {
            let pids: Vec<_> = running.iter().map(u32::to_string).collect();
            output.note(
                &Error::new(format!("still running, and still watched: process {}", pids.join(", ")))
                    .help(format!("`lockwright report {shown}` reports them, until lockwright runs again after their end")),
            );
        }
        if self.plan.args.keep || !reported {
            // Without it, a later report knows less of a program that was killed.
            let _ = end_file::write(self.ended, &self.dir);
            // Nor the names of code that is in no file.
            let _ = generated_code::keep(&self.generated, &self.dir);
            for path in self.paths.iter().filter(|path| !ledger_dir::is_written(path)) {
                // What a sandboxed child has of the file it may be writing to.
                let is_its_own = |ledger: &Ledger| ledger.header().annexes == 0;
                if let Some(ledger) = Ledger::open(path).ok().filter(is_its_own) {
                    // As it is, the file works too.
                    let _ = ledger_dir::trim(path, ledger.header().used);
                }
            }
            if running.is_empty() {
                self.preload.remove();
            }
            self.dir.keep();
            output.note(
                &Error::new(format!("ledgers kept in {shown}"))
                    .help(format!("`lockwright report {shown}`")),
            );
        } else if !running.is_empty() {
            self.dir.abandon();
        }
    }

    /// How to end in view of how the program ended. It did what was asked of it if the user set a time.
    pub fn ending(&self) -> Ending {
        let by_us = [libc::SIGTERM, libc::SIGKILL].map(Some).contains(&self.status.signal());
        match self.live.stopped() {
            Some(Why::Time) if by_us => Ending::Code(0),
            _ => Ending::of_program(self.status),
        }
    }

    /// Whether its ledgers outlive it.
    pub fn is_kept(&self) -> bool {
        self.plan.args.keep
    }
}

/// The ledgers of a run; none if the program failed by itself before it left any.
fn open_ledgers(
    program: &Program,
    status: ExitStatus,
    paths: &[PathBuf],
    output: &Output,
) -> Result<(Vec<Ledger>, Vec<Gap>)> {
    let (ledgers, mut errors) = load::open_all(paths);
    let missing = load::missing(&errors);
    if ledgers.is_empty() {
        let error = errors.pop().unwrap_or_else(|| left_no_ledger(program));
        // A program that failed has said why, and how it ended matters more than this.
        if status.success() {
            return Err(error);
        }
        output.warn(&error);
    }
    errors.iter().for_each(|error| output.warn(error));
    Ok((ledgers, missing))
}

/// The error for ledgers that were there and are gone.
fn removed(dir: &Path, error: Option<&io::Error>) -> Error {
    let shown = dir.display();
    let what = match error {
        Some(error) if error.kind() != io::ErrorKind::NotFound => {
            format!("the ledgers cannot be read any more: {shown}: {error}")
        }
        Some(_) => format!("the ledgers are gone: somebody removed {shown}"),
        None => format!("the ledgers are gone: somebody removed them from {shown}"),
    };
    Error::new(what + "; there is nothing to report")
}

/// The error for files among the ledgers that no process of the run has made.
fn not_of_this_run(count: usize, dir: &Path) -> Error {
    let (files, were) = if count == 1 { ("file", "was") } else { ("files", "were") };
    Error::new(format!("{count} {files} in {} that no process of this run has made {were} left out", dir.display()))
        .note("another user of this machine has put it there, or a process that was given another LOCKWRIGHT_DIR")
}

/// The directory of a run, in `chosen` or in a usual place.
///
/// # Errors
/// As [`RunDir::create`]; with the limits of this process where they are the reason.
pub fn run_dir(chosen: Option<&Path>, around: &Surroundings) -> Result<RunDir> {
    RunDir::create(chosen, around).map_err(|error| match doctor::no_room() {
        Some(finding) => finding.explain(error),
        None => error,
    })
}

fn left_no_ledger(program: &Program) -> Error {
    let error =
        Error::new(format!("`{}` left no ledger: nothing was watched", program.argv[0].display()));
    if let Some(finding) = doctor::no_room() {
        return finding.explain(error);
    }
    error
        .note("the preload library did not come to run in it, or could not create its ledger")
        .help("if it is a script or launcher: does it clear the environment (LD_PRELOAD, LOCKWRIGHT_DIR), or start a static or setuid program?")
        .help("if it runs in a sandbox or container: name a directory that exists there too, with --ledger-dir DIR")
}
