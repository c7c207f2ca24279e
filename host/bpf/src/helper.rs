//! The program `lockwright-bpf`.
//!
//! `lockwright-bpf kernel [MILLISECONDS]` and `lockwright-bpf futexes PID [MILLISECONDS]` (0: of all
//! processes): counts until its standard input is closed, and then writes what it counted; with a number
//! of milliseconds also what it counted so far, as often. Then processes that have ended are forgotten,
//! so it can count for days. Started by `lockwright meter` and `lockwright top`, not by people.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::load::{futexes, kernel};
use crate::messages::{Message, Refusal};

/// Runs it with the process's arguments, on its standard streams.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // Ctrl-C is for the command, which then closes standard input.
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: to ignore a signal installs no handler that could run.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let interval = |ms: &str| ms.parse().ok().filter(|&ms: &i32| ms > 0);
    let done = match arguments[..] {
        ["kernel"] => Some(count_kernel(-1)),
        ["kernel", ms] => interval(ms).map(count_kernel),
        ["futexes", pid] => process(pid).map(|only| count_futexes(only, None)),
        ["futexes", pid, ms] => process(pid)
            .zip(interval(ms))
            .map(|(only, ms)| count_futexes(only, Some(Duration::from_millis(ms as u64)))),
        _ => None,
    };
    let Some(done) = done else {
        eprintln!(
            "error: this is a part of `lockwright top` and of `meter --kernel`, `--pid` and `--system`"
        );
        return ExitCode::from(2);
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            say(&Message::Refused(refusal));
            ExitCode::FAILURE
        }
    }
}

/// A process's number; 0 is none, which is all processes.
fn process(pid: &str) -> Option<Option<u32>> {
    pid.parse().ok().map(|pid| Some(pid).filter(|&pid| pid != 0))
}

/// Says each `interval` milliseconds what it counted so far; less than 0: only at the end.
fn count_kernel(interval: i32) -> Result<(), Refusal> {
    let running = kernel::Running::start()?;
    say(&Message::Ready);
    while !wait(&[], interval) {
        if interval > 0 {
            say(&Message::Kernel(running.read()?));
        }
    }
    say(&Message::Kernel(running.finish()?));
    Ok(())
}

/// Says each `every` what it counted so far, if that is given.
fn count_futexes(only: Option<u32>, every: Option<Duration>) -> Result<(), Refusal> {
    let mut running = futexes::Running::start(only)?;
    say(&Message::Ready);
    let mut next = every.map(|_| Instant::now());
    let mut ended = HashMap::new();
    // The command looks at a process when it hears of its first place. Those whose waits began before stay for
    // longer than many that begin now, so that their places follow a few at a time.
    let at_once = if only.is_some() { usize::MAX } else { 2 };
    let mut is_over = false;
    while !is_over {
        for place in running.places() {
            say(&Message::Place(place));
        }
        let older = running.older_places(at_once);
        let has_older = !older.is_empty();
        let mut interval = if has_older { 10 } else { -1 };
        for place in older {
            say(&Message::Place(place));
        }
        // What is counted means nothing without its places.
        if let Some((next, every)) = next.as_mut().zip(every).filter(|_| !has_older) {
            if Instant::now() >= *next {
                report(&mut running, &mut ended, LATER.max(4 * every))?;
                *next = Instant::now() + every;
            }
            let left = next.saturating_duration_since(Instant::now()).as_millis();
            interval = i32::try_from(left).unwrap_or(i32::MAX).max(1);
        }
        is_over = wait(&[running.descriptor()], interval);
    }
    let (places, futexes) = running.finish()?;
    for place in places {
        say(&Message::Place(place));
    }
    say(&Message::Futexes(futexes));
    Ok(())
}

/// A process that has ended is forgotten so much later: the command does not read each message.
const LATER: Duration = Duration::from_secs(5);

/// Says what was counted so far, and forgets processes that had ended `later` before it, of which `ended` has when that was seen.
fn report(
    running: &mut futexes::Running,
    ended: &mut HashMap<u32, Instant>,
    later: Duration,
) -> Result<(), Refusal> {
    let counted = running.read()?;
    // Places of what is counted come first.
    for place in running.places() {
        say(&Message::Place(place));
    }
    let now = Instant::now();
    let pids: HashSet<u32> = counted.rows.iter().map(|row| row.tgid).collect();
    say(&Message::Futexes(counted));
    let has_ended = |pid: &u32| fs::metadata(format!("/proc/{pid}")).is_err();
    ended.retain(|pid, _| has_ended(pid));
    for pid in pids.into_iter().filter(has_ended) {
        ended.entry(pid).or_insert(now);
    }
    let old: HashSet<u32> =
        ended.iter().filter(|(_, since)| now - **since >= later).map(|(pid, _)| *pid).collect();
    if !old.is_empty() {
        running.forget(&old)?;
        ended.retain(|pid, _| !old.contains(pid));
    }
    Ok(())
}

/// Writes a message. Where nobody reads it there is nobody to tell.
fn say(message: &Message) {
    let mut line = serde_json::to_string(message).unwrap_or_default();
    line.push('\n');
    let _ = io::stdout().write_all(line.as_bytes());
}

/// Waits for one of these descriptors, for the end of standard input, or for so many milliseconds
/// if that is not less than 0: whether the end is there.
fn wait(descriptors: &[i32], milliseconds: i32) -> bool {
    let watch = |fd: i32| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut watched = vec![watch(io::stdin().as_raw_fd())];
    watched.extend(descriptors.iter().map(|&fd| watch(fd)));
    // SAFETY: the kernel reads and writes the elements of `watched`, whose number the call names.
    let ready =
        unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, milliseconds) };
    // Nobody writes to it: what there is to read is its end.
    ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted
        || watched[0].revents != 0
}
