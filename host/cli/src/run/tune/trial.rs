//! One run of a command: how long it took, what it said, and how it ended.

use std::io::{self, PipeReader, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::run::inherited;
use crate::run::watch::pidfd;
use crate::run::watch::signals::Signals;

/// How long a command that is to end may take for it.
const GRACE: Duration = Duration::from_secs(5);

/// At least so many bytes of a command's output are kept: the last ones.
const KEPT: usize = 16 << 20;

/// How often to ask for the end where no descriptor tells.
const POLL_WITHOUT_PIDFD: Duration = Duration::from_millis(1);

/// One run.
#[derive(Debug)]
pub struct Trial {
    /// How it ended.
    pub status: ExitStatus,
    /// Seconds by the clock.
    pub elapsed: f64,
    /// Seconds of processor time, with all descendants that were waited for.
    pub cpu: f64,
    /// What it printed to standard output and standard error, in the order it came.
    pub said: Vec<u8>,
}

/// How a run has come to its end.
#[derive(Debug)]
pub enum End {
    /// By itself.
    Own(Trial),
    /// By us, as this signal asked us to end.
    Interrupted(i32),
}

/// Runs a command to its end, or until a signal asks us to end: the command's whole process group is
/// ended then.
///
/// # Errors
/// If it cannot be started or waited for.
pub fn run(mut command: Command, signals: &Signals) -> io::Result<End> {
    let (reader, writer) = io::pipe()?;
    let mask = signals.before();
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    // A group of its own: it can be ended whole.
    command.process_group(0);
    // SAFETY: both functions are async-signal-safe and allocate nothing.
    unsafe {
        command.pre_exec(move || {
            mask.set();
            inherited::restore()
        })
    };
    let begun = Instant::now();
    let process = command.spawn()?;
    // It has our ends of the pipe's writing side.
    drop(command);
    let pidfd = pidfd::open(process.id());
    let mut running = Running { pid: process.id() as libc::pid_t, pidfd, reaped: false };
    let mut output = Output { reader, said: Vec::new(), open: true };
    loop {
        running.sleep(signals, &output)?;
        let elapsed = begun.elapsed().as_secs_f64();
        if let Some((status, cpu)) = running.ended()? {
            output.read_what_is_there()?;
            return Ok(End::Own(Trial { status, elapsed, cpu, said: output.said }));
        }
        if let Some(signal) = signals.pending().find_map(|signal| signal.ending()) {
            running.end()?;
            return Ok(End::Interrupted(signal));
        }
        output.read_what_is_there()?;
    }
}

/// What the command prints. Its descendants may hold the pipe open for longer than it runs.
struct Output {
    reader: PipeReader,
    said: Vec<u8>,
    open: bool,
}

impl Output {
    /// Reads without waiting.
    fn read_what_is_there(&mut self) -> io::Result<()> {
        let mut buffer = [0; 65536];
        while self.open && is_ready(self.reader.as_raw_fd())? {
            match self.reader.read(&mut buffer)? {
                0 => self.open = false,
                n => self.said.extend_from_slice(&buffer[..n]),
            }
            if self.said.len() > 2 * KEPT {
                self.said.drain(..self.said.len() - KEPT);
            }
        }
        Ok(())
    }
}

/// The command; ended when dropped before its end.
struct Running {
    pid: libc::pid_t,
    pidfd: Option<OwnedFd>,
    reaped: bool,
}

impl Running {
    /// Sleeps until it ends, prints, or a signal comes.
    fn sleep(&self, signals: &Signals, output: &Output) -> io::Result<()> {
        // poll(2) skips negative descriptors.
        let reader = if output.open { output.reader.as_raw_fd() } else { -1 };
        let end = self.pidfd.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let patience = if end < 0 { Some(POLL_WITHOUT_PIDFD) } else { None };
        poll(&[end, signals.as_fd().as_raw_fd(), reader], patience).map(drop)
    }

    /// How it ended and the seconds of processor time it took, if it has.
    fn ended(&mut self) -> io::Result<Option<(ExitStatus, f64)>> {
        let (mut status, mut used) = (0, MaybeUninit::<libc::rusage>::zeroed());
        // SAFETY: our child, which nobody has waited for; room for both answers.
        let waited =
            unsafe { libc::wait4(self.pid, &raw mut status, libc::WNOHANG, used.as_mut_ptr()) };
        match waited {
            0 => Ok(None),
            pid if pid == self.pid => {
                self.reaped = true;
                // SAFETY: all zero is a rusage, and the call has filled it in.
                let used = unsafe { used.assume_init() };
                let cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
                Ok(Some((ExitStatus::from_raw(status), cpu)))
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Ends it and what it has started: in order, or at once if that takes too long.
    fn end(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        self.signal_group(libc::SIGTERM);
        while self.ended()?.is_none() {
            if begun.elapsed() > GRACE {
                self.signal_group(libc::SIGKILL);
            }
            let end = self.pidfd.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            poll(&[end], Some(Duration::from_millis(20)))?;
        }
        Ok(())
    }

    fn signal_group(&self, number: i32) {
        // SAFETY: the group of our child, which is not reaped: nobody else's can have its number.
        unsafe { libc::kill(-self.pid, number) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal_group(libc::SIGKILL);
            // SAFETY: our child; nobody asks how it ended.
            unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// Whether there is something to read, or nothing will come.
fn is_ready(fd: i32) -> io::Result<bool> {
    poll(&[fd], Some(Duration::ZERO))
}

/// Whether one of these descriptors is ready, after `patience` at the latest; none: as long as it
/// takes.
fn poll(fds: &[i32], patience: Option<Duration>) -> io::Result<bool> {
    let watch = |&fd: &i32| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut fds: Vec<libc::pollfd> = fds.iter().map(watch).collect();
    let timeout = patience.map_or(-1, |patience| patience.as_millis() as i32);
    // SAFETY: initialised elements, as many as it says.
    match unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) } {
        -1 => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
        ready => Ok(ready > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Trial {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let signals = Signals::take().unwrap();
        match run(command, &signals).unwrap() {
            End::Own(trial) => trial,
            End::Interrupted(signal) => panic!("signal {signal}"),
        }
    }

    #[test]
    fn a_command_is_run_to_its_end() {
        let trial = sh("echo one; echo two >&2; read line || echo three; exit 3");
        assert_eq!(String::from_utf8_lossy(&trial.said), "one\ntwo\nthree\n");
        assert_eq!(trial.status.code(), Some(3));
        assert!(trial.elapsed > 0.0 && trial.cpu >= 0.0, "{trial:?}");
    }

    #[test]
    fn more_is_read_than_a_pipe_holds() {
        let trial = sh("head -c 1000000 /dev/zero; echo end");
        assert_eq!(trial.said.len(), 1_000_004);
    }

    #[test]
    fn who_stays_behind_is_not_waited_for() {
        let trial = sh("sleep 1000 & echo $!");
        let pid = String::from_utf8_lossy(&trial.said).trim().parse().unwrap();
        // SAFETY: a signal to a process that this test has started.
        let killed = unsafe { libc::kill(pid, libc::SIGKILL) };
        assert_eq!(killed, 0, "it ran on");
    }

    #[test]
    fn what_is_not_there_is_not_run() {
        let signals = Signals::take().unwrap();
        assert!(run(Command::new("/no/such/program"), &signals).is_err());
    }
}
