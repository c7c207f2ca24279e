//! A program that `top` itself starts, under lockdep and lockmeter. Its standard streams are not the terminal: it gets an
//! empty input, and what it prints is shown in a view of its own.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::ledgers::Ledgers;
use super::source::Source;
use crate::args::TopArgs;
use crate::ledger_dir::{RunDir, Surroundings};
use crate::run::endpoint::{self, Serving};
use crate::run::watch::child::{Child, Program};
use crate::run::watch::engines::Engines;
use crate::run::watch::follow::Follow;
use crate::run::watch::inlined;
use crate::run::watch::preload::Preload;
use crate::run::watch::unwatched;
use lockwright_console::error::{Error, Result, Severity};
use lockwright_console::plain;
use lockwright_report::live::Moment;

/// Lines of its output that are kept for the screen.
const MOST_LINES: usize = 2_000;

/// A longer line is cut: a program may print no end of one.
const LONGEST_LINE: u64 = 4_096;

/// How long it may take to end once it was asked to.
const PATIENCE: Duration = Duration::from_secs(3);

/// The program.
pub struct Started {
    ledgers: Ledgers,
    child: Option<Child>,
    was_asked_to_end: bool,
    output: Arc<Mutex<VecDeque<String>>>,
    dir: RunDir,
    keep: bool,
    _listening: Option<Serving>,
    _inlined: Option<inlined::Tables>,
    _preload: Preload,
}

impl Started {
    /// Starts it. With a screen its output goes there; without, to standard error.
    ///
    /// # Errors
    /// If it cannot be run, or not be watched.
    pub fn start(
        program: &Program,
        args: &TopArgs,
        mut dir: RunDir,
        around: &Surroundings,
        has_screen: bool,
    ) -> Result<Self> {
        let preload = Preload::unpack(&mut dir, around)?;
        unwatched::make_records(&dir)?;
        let engines = Engines {
            lockdep: true,
            objects: true,
            lockmeter: Some(&args.metering),
            bounces: false,
            timeline: None,
            allocations: args.run.track_allocations,
        };
        let follow = Follow::of(&args.run);
        let output = Arc::default();
        let mut printed = None;
        let address = args.metering.listen.as_deref();
        let listening = endpoint::listen(address, dir.path(), |note| {
            eprint!("{}", note.render(Severity::Note, false));
        })?;
        let failed =
            |error: io::Error| Error::new(format!("no pipe for the program's output: {error}"));
        let streams = if has_screen {
            let (read, write) = io::pipe().map_err(failed)?;
            printed = Some(read);
            let empty = File::open("/dev/null").map_err(failed)?;
            Redirected::to(&[(0, empty.as_fd()), (1, write.as_fd()), (2, write.as_fd())])
        } else {
            Redirected::to(&[(1, io::stderr().as_fd())])
        }
        .map_err(failed)?;
        let inlined = (!args.run.no_inlined)
            .then(|| inlined::Tables::make(&program.file, &dir))
            .transpose()?;
        let child = Child::spawn(program, |command| {
            preload.watch(command);
            inlined::tell(inlined.as_ref(), command);
            engines.tell(command);
            follow.tell(command);
        });
        drop(streams);
        // It takes no signals, as they are blocked by now.
        if let Some(read) = printed {
            keep_lines(read.into(), Arc::clone(&output));
        }
        let ledgers = Ledgers::of_run(vec![dir.path().to_owned()], args.all);
        Ok(Self {
            ledgers,
            child: Some(child?),
            was_asked_to_end: false,
            output,
            dir,
            keep: args.run.keep,
            _listening: listening,
            _inlined: inlined,
            _preload: preload,
        })
    }

    /// Waits for its end, and passes on signals meanwhile.
    fn wait_for_end(&mut self, patience: Duration) -> bool {
        let Some(child) = &mut self.child else { return true };
        let ended = child.wait(patience);
        self.was_asked_to_end |= child.was_asked_to_end();
        // One that nobody can wait for is not ours any more.
        let has_ended = !matches!(ended, Ok(None));
        if has_ended {
            self.child = None;
        }
        has_ended
    }
}

impl Source for Started {
    fn look(&mut self) -> Result<Option<Moment>> {
        self.wait_for_end(Duration::ZERO);
        self.ledgers.look()
    }

    fn wait(&mut self, patience: Duration) {
        let end = Instant::now() + patience;
        if self.wait_for_end(patience) {
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
        }
    }

    fn is_over(&mut self) -> bool {
        // Its children may go on. One that could not be watched has no ledger.
        self.wait_for_end(Duration::ZERO) && !self.ledgers.are_written()
    }

    fn was_asked_to_end(&self) -> bool {
        self.was_asked_to_end
    }

    fn output(&mut self) -> Vec<String> {
        let mut lines = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        lines.drain(..).collect()
    }

    /// Ends the program, and keeps its ledgers if that was asked for.
    fn leave(&mut self) -> Result<()> {
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            let Some(child) = &self.child else { break };
            // SAFETY: an unreaped child's id, so it cannot be anyone else's.
            unsafe { libc::kill(child.pid() as libc::pid_t, signal) };
            self.wait_for_end(PATIENCE);
        }
        if self.keep {
            self.dir.keep();
            let shown = self.dir.path().display().to_string();
            eprintln!("note: kept: `lockwright report {shown}`");
        }
        Ok(())
    }
}

/// Keeps the last lines of what comes from a pipe.
fn keep_lines(pipe: OwnedFd, lines: Arc<Mutex<VecDeque<String>>>) {
    let mut pipe = BufReader::new(File::from(pipe));
    let read = move || {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = io::Read::take(&mut pipe, LONGEST_LINE).read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) {
                return;
            }
            let text = plain::line(String::from_utf8_lossy(&line).trim_end());
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push_back(text);
            if lines.len() > MOST_LINES {
                lines.pop_front();
            }
        }
    };
    std::thread::spawn(read);
}

/// Standard streams that are others until this is dropped: a program that is started meanwhile has them.
struct Redirected(Vec<(i32, OwnedFd)>);

impl Redirected {
    fn to(streams: &[(i32, BorrowedFd<'_>)]) -> io::Result<Self> {
        let mut before = Self(Vec::new());
        for (number, to) in streams {
            // SAFETY: descriptors are numbers; the copy is owned by nobody else.
            let kept = unsafe { libc::fcntl(*number, libc::F_DUPFD_CLOEXEC, 3) };
            if kept < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: opened just now.
            before.0.push((*number, unsafe { OwnedFd::from_raw_fd(kept) }));
            // SAFETY: both are open.
            if unsafe { libc::dup2(to.as_raw_fd(), *number) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(before)
    }
}

impl Drop for Redirected {
    fn drop(&mut self) {
        for (number, kept) in &self.0 {
            // SAFETY: both are open; the number's stream is given back.
            unsafe { libc::dup2(kept.as_raw_fd(), *number) };
        }
    }
}
