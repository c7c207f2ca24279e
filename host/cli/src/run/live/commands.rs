//! Commands of the user's that are run for findings, one after the other.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::run::watch::preload::Preload;
use lockwright_console::error::Error;

/// Commands that are run at most: a run may have thousands of findings.
const MOST: usize = 100;

/// How long one may take.
const LONGEST: Duration = Duration::from_secs(10);

/// How long the end of the run waits for all that are left.
const LAST: Duration = Duration::from_secs(30);

/// How often to check whether one has ended.
const POLL: Duration = Duration::from_millis(5);

/// Notes about failures: a command that fails once fails again.
const MOST_NOTES: usize = 5;

/// The commands of a run.
#[derive(Debug, Default)]
pub struct Commands {
    runner: Option<Runner>,
    waiting: VecDeque<Order>,
    started: usize,
    left_out: usize,
    failures: usize,
    /// CPU time of those that have ended, ns.
    cpu_ns: f64,
}

/// A thread that runs one command at a time.
#[derive(Debug)]
struct Runner {
    orders: Sender<Order>,
    done: Receiver<Done>,
    is_busy: bool,
}

/// What to run, and for what.
#[derive(Debug)]
struct Order {
    /// The option that has it.
    option: &'static str,
    command: String,
    input: String,
}

/// A command that has ended.
#[derive(Debug)]
struct Done {
    failure: Option<Error>,
    cpu_ns: f64,
}

impl Commands {
    /// Has the command of an option run, with this on its standard input.
    pub fn run(&mut self, option: &'static str, command: &str, input: String) {
        if self.started >= MOST {
            self.left_out += 1;
            return;
        }
        self.started += 1;
        self.waiting.push_back(Order { option, command: command.to_owned(), input });
        self.start_next();
    }

    /// What there is to be noted about commands that have ended. Starts the next.
    pub fn poll(&mut self) -> Vec<Error> {
        let mut notes = Vec::new();
        while let Some(done) = self.runner.as_mut().and_then(|runner| runner.done.try_recv().ok()) {
            notes.extend(self.settle(done));
        }
        notes
    }

    /// Waits for those that are left. What there is to be noted.
    pub fn finish(&mut self) -> Vec<Error> {
        let deadline = Instant::now() + LAST;
        let mut notes = Vec::new();
        while let Some(runner) = self.runner.as_mut().filter(|runner| runner.is_busy) {
            let left = deadline.saturating_duration_since(Instant::now());
            match runner.done.recv_timeout(left) {
                Ok(done) => notes.extend(self.settle(done)),
                Err(_) => break,
            }
        }
        let left = self.waiting.len() + self.left_out;
        if left > 0 {
            notes.push(Error::new(format!("{left} more commands for findings were not run")).note(
                format!("at most {MOST} are run, and the end waits {} s for them", LAST.as_secs()),
            ));
        }
        (self.waiting, self.left_out) = (VecDeque::new(), 0);
        notes
    }

    /// CPU time of the commands that have ended.
    pub fn cpu_ns(&self) -> f64 {
        self.cpu_ns
    }

    fn settle(&mut self, done: Done) -> Option<Error> {
        if let Some(runner) = &mut self.runner {
            runner.is_busy = false;
        }
        self.cpu_ns += done.cpu_ns;
        self.start_next();
        self.failures += usize::from(done.failure.is_some());
        done.failure.filter(|_| self.failures <= MOST_NOTES)
    }

    fn start_next(&mut self) {
        let runner = self.runner.get_or_insert_with(Runner::start);
        if !runner.is_busy
            && let Some(order) = self.waiting.pop_front()
        {
            // Its thread ends with this process.
            runner.is_busy = runner.orders.send(order).is_ok();
        }
    }
}

impl Runner {
    fn start() -> Self {
        let (orders, received) = channel::<Order>();
        let (sent, done) = channel();
        thread::spawn(move || {
            for order in received {
                if sent.send(order.run()).is_err() {
                    break;
                }
            }
        });
        Self { orders, done, is_busy: false }
    }
}

impl Order {
    fn run(self) -> Done {
        let failed = |why: String| {
            let command = self.command.as_str();
            Some(Error::new(format!("the command of {} {why}: `{command}`", self.option)))
        };
        match self.start() {
            Err(error) => {
                Done { failure: failed(format!("could not be run: {error}")), cpu_ns: 0.0 }
            }
            Ok((pid, is_late)) => {
                let (status, cpu_ns) = end_of(pid, is_late);
                let failure = match status {
                    Some(status) if status.success() => None,
                    Some(status) => failed(format!("failed: {status}")),
                    None => failed(format!("was killed after {} s", LONGEST.as_secs())),
                };
                Done { failure, cpu_ns }
            }
        }
    }

    /// Starts it. It gets no signal of the terminal's, none of the signals that this process has
    /// blocked is blocked in it, and it is not watched.
    fn start(&self) -> io::Result<(libc::pid_t, Instant)> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(&self.command).process_group(0);
        // The program's standard output is its own.
        command.stdin(Stdio::piped()).stdout(io::stderr().as_fd().try_clone_to_owned()?);
        Preload::leave_alone(&mut command);
        // SAFETY: `open_signals` calls async-signal-safe functions alone.
        unsafe { command.pre_exec(open_signals) };
        let mut child = command.spawn()?;
        let (input, stdin) = (self.input.clone(), child.stdin.take());
        // A command need not read it.
        thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
        Ok((child.id() as libc::pid_t, Instant::now() + LONGEST))
    }
}

/// Has no signal blocked in the calling thread.
fn open_signals() -> io::Result<()> {
    let mut none = MaybeUninit::uninit();
    // SAFETY: room for one set.
    unsafe { libc::sigemptyset(none.as_mut_ptr()) };
    // SAFETY: `sigemptyset` has filled it in; the old set is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut()) };
    Ok(())
}

/// Waits for a child that leads a process group, and kills the group at `deadline`. How it ended, unless it was killed,
/// and its CPU time, ns.
fn end_of(pid: libc::pid_t, deadline: Instant) -> (Option<ExitStatus>, f64) {
    let mut is_killed = false;
    loop {
        let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
        let options = if is_killed { 0 } else { libc::WNOHANG };
        // SAFETY: a child of this process that nobody else waits for; room for both answers.
        let ended = unsafe { libc::wait4(pid, &mut status, options, usage.as_mut_ptr()) };
        if ended == pid {
            // SAFETY: filled in by the call; zeroed it would be valid, too.
            let usage = unsafe { usage.assume_init() };
            let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
            let cpu = ns(usage.ru_utime) + ns(usage.ru_stime);
            return ((!is_killed).then(|| ExitStatus::from_raw(status)), cpu);
        }
        let is_interrupted = io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        if ended < 0 && !is_interrupted {
            return (None, 0.0);
        }
        if Instant::now() >= deadline {
            // SAFETY: the group of a child that has not been waited for: the number is nobody else's.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
            is_killed = true;
        } else {
            thread::sleep(POLL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_reads_its_input_and_a_failure_is_noted() {
        let file = std::env::temp_dir().join(format!("lw-commands-{}", std::process::id()));
        let mut commands = Commands::default();
        commands.run("--on-finding", &format!("cat >> {}", file.display()), "{}\n".to_owned());
        commands.run("--on-finding", "exit 3", String::new());
        commands.run("--on-finding", &format!("cat >> {}", file.display()), "[]\n".to_owned());
        let notes: Vec<String> = commands.finish().iter().map(ToString::to_string).collect();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("the command of --on-finding failed: exit status: 3: `exit 3`"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}\n[]\n");
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn so_many_are_run_and_no_more() {
        let mut commands = Commands::default();
        for _ in 0..MOST + 2 {
            commands.run("--on-finding", "true", "{}".to_owned());
        }
        let notes: Vec<String> = commands.finish().iter().map(ToString::to_string).collect();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("2 more commands"), "{notes:?}");
    }
}
