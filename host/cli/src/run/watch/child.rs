//! The program as a child process: same terminal, same process group, same everything, and a wait
//! that wakes up now and then to look at the ledgers.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use super::pidfd;
use super::signals::Signals;
use super::start::{self, Process};
use lockwright_console::error::{Error, Result, exit};

/// What to run.
#[derive(Debug)]
pub struct Program {
    /// The executable.
    pub file: PathBuf,
    /// `argv`, as typed.
    pub argv: Vec<OsString>,
}

/// The running program.
#[derive(Debug)]
pub struct Child {
    process: Process,
    /// Readable when the process has ended; `None` on kernels without (before 5.3).
    pidfd: Option<OwnedFd>,
    signals: Signals,
    /// Somebody has asked lockwright to end.
    was_asked_to_end: bool,
}

/// How often to ask for the end of the process where no descriptor tells.
const POLL_WITHOUT_PIDFD: Duration = Duration::from_millis(10);

impl Child {
    /// Starts the program, in the environment that `prepare` makes.
    ///
    /// # Errors
    /// If exec fails.
    pub fn spawn(program: &Program, prepare: impl FnOnce(&mut Command)) -> Result<Self> {
        let signals = Signals::take()
            .map_err(|error| Error::new(format!("cannot prepare for signals: {error}")))?;
        let arg0 = program.argv.first().expect("a program has a name");
        let mut command = Command::new(&program.file);
        prepare(&mut command);
        let process = start::start(&program.file, &program.argv, &command, signals.before())
            .map_err(|error| {
                let file = program.file.display();
                let code = match error.kind() {
                    io::ErrorKind::NotFound => exit::NOT_FOUND,
                    _ => exit::NOT_RUNNABLE,
                };
                Error::with_code(code, format!("cannot run `{file}`: {error}"))
                    .help(format!("see whether it runs without lockwright: `{}`", arg0.display()))
            })?;
        let pidfd = pidfd::open(process.id());
        Ok(Self { process, pidfd, signals, was_asked_to_end: false })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// A signal that asks for the end came to lockwright, and was passed on.
    pub fn was_asked_to_end(&self) -> bool {
        self.was_asked_to_end
    }

    /// Waits for its end, passing signals on meanwhile; `None` if it still runs after `patience`.
    ///
    /// # Errors
    /// If the kernel does not let us wait.
    pub fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.process.try_wait()? {
                return Ok(Some(status));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.sleep(left)?;
            let pid = self.process.id() as libc::pid_t;
            for signal in self.signals.pending() {
                self.was_asked_to_end |= signal.ending().is_some();
                signal.forward(pid);
            }
        }
    }

    /// Sleeps until the process ends, a signal comes, or `patience` is over.
    fn sleep(&self, patience: Duration) -> io::Result<()> {
        let watch = |fd: i32| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // poll(2) skips negative descriptors.
        let process = self.pidfd.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let mut fds = [watch(process), watch(self.signals.as_fd().as_raw_fd())];
        let patience = if process < 0 { patience.min(POLL_WITHOUT_PIDFD) } else { patience };
        // Rounded up: a remainder below a millisecond must not become a busy loop.
        let timeout = patience.as_micros().div_ceil(1000).try_into().unwrap_or(i32::MAX);
        // SAFETY: the kernel reads and writes the elements of `fds`, whose number the call names.
        if unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(())
    }
}
