//! The program `lockwright-bpf`.
//!
//! `lockwright-bpf kernel [MILLISECONDS]` and `lockwright-bpf futexes [PID]`: counts until its
//! standard input is closed, and then writes what it counted; with a number of milliseconds also
//! what it counted so far, as often. Started by `lockwright meter`, not by people.

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::ExitCode;

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
    let done = match arguments[..] {
        ["kernel"] => count_kernel(-1),
        ["kernel", interval] if interval.parse().is_ok_and(|ms: i32| ms > 0) => {
            count_kernel(interval.parse().unwrap_or(-1))
        }
        ["futexes"] => count_futexes(None),
        ["futexes", pid] if pid.parse::<u32>().is_ok() => count_futexes(pid.parse().ok()),
        _ => {
            eprintln!(
                "error: this is a part of `lockwright meter --kernel`, `--pid` and `--system`"
            );
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            say(&Message::Refused(refusal));
            ExitCode::FAILURE
        }
    }
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

fn count_futexes(only: Option<u32>) -> Result<(), Refusal> {
    let mut running = futexes::Running::start(only)?;
    say(&Message::Ready);
    // The command looks at a process when it hears of its first place. Those whose waits began before stay for
    // longer than many that begin now, so that their places follow a few at a time.
    let at_once = if only.is_some() { usize::MAX } else { 2 };
    let mut is_over = false;
    while !is_over {
        for place in running.places() {
            say(&Message::Place(place));
        }
        let older = running.older_places(at_once);
        let interval = if older.is_empty() { -1 } else { 10 };
        for place in older {
            say(&Message::Place(place));
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
