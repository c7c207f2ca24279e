//! Signals while the program runs. What the terminal sends reaches the program by itself, since it
//! is in the same process group; what somebody sends to lockwright alone is passed on.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Signals that are taken instead of obeyed. Not among them: the job control ones, so that Ctrl-Z
/// stops both; faults and limits, which are lockwright's own; SIGCHLD and SIGPIPE.
const TAKEN: &[i32] = &[
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGWINCH,
    libc::SIGIO,
    libc::SIGPWR,
];

/// From construction to drop, [`TAKEN`] and real-time signals are blocked in this thread, and in
/// threads it starts, and can be read here.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    before: Mask,
}

/// A set of blocked signals.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

impl Mask {
    /// Blocks all signals in the calling thread; returns those that were blocked before.
    pub fn close() -> Self {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: room for two sets, the first of which is filled in before it is read; with these
        // arguments neither call can fail.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        }
        // SAFETY: filled in by the call.
        Self(unsafe { before.assume_init() })
    }

    /// Makes it the calling thread's. Async-signal-safe.
    pub fn set(&self) {
        // SAFETY: a valid set; the old one is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

impl Signals {
    /// Begins to take signals.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn take() -> io::Result<Self> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: it writes to the set, which is ours and large enough.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: `sigemptyset` has initialised all of it just now.
        let mut set: libc::sigset_t = unsafe { set.assume_init() };
        for signal in TAKEN.iter().copied().chain(libc::SIGRTMIN()..=libc::SIGRTMAX()) {
            // SAFETY: a valid set and signal number.
            unsafe { libc::sigaddset(&mut set, signal) };
        }
        // SAFETY: `set` is initialised, and is only read.
        let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: opened just now, owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut before = MaybeUninit::uninit();
        // SAFETY: a valid set and room for the old one; with these arguments it cannot fail.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, before.as_mut_ptr()) };
        // SAFETY: filled in by the call.
        Ok(Self { fd, before: Mask(unsafe { before.assume_init() }) })
    }

    /// What was blocked before: what the program must start with.
    pub fn before(&self) -> Mask {
        self.before
    }

    /// The signals that came since the last call.
    pub fn pending(&self) -> impl Iterator<Item = Signal> + '_ {
        std::iter::from_fn(|| {
            let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
            let len = size_of::<libc::signalfd_siginfo>();
            // SAFETY: room for one record; the kernel gives whole records only.
            let n = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), len) };
            // SAFETY: filled in if the length is right.
            (n == len as isize).then(|| Signal(unsafe { info.assume_init() }))
        })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // A Ctrl-C that the program got as well must not now hit the report.
        self.pending().for_each(drop);
        self.before.set();
    }
}

/// Whether process `sender` is timeout(1) with this process in its group: that signals its command
/// first and then the whole group, so the program gets it by itself. For other senders we cannot
/// know which processes got the signal.
fn is_timeout_of_group(sender: u32) -> bool {
    // SAFETY: it takes no argument and touches no memory of ours.
    let leads = unsafe { libc::getpgrp() } == sender as libc::pid_t;
    let command = || std::fs::read(format!("/proc/{sender}/cmdline")).unwrap_or_default();
    leads && signals_its_group(&command())
}

/// Whether a command line, NUL terminated words, is that of a timeout(1) that is not to leave its
/// group alone.
fn signals_its_group(command: &[u8]) -> bool {
    let mut words = command.split(|&byte| byte == 0);
    let name = words.next().and_then(|word| word.rsplit(|&byte| byte == b'/').next());
    if name != Some(b"timeout") {
        return false;
    }
    while let Some(option) = words.next().filter(|word| word.starts_with(b"-")) {
        match option {
            b"-k" | b"-s" | b"--kill-after" | b"--signal" => drop(words.next()),
            b"--" => return true,
            // Long ones may be cut short, short ones go together.
            _ if option.starts_with(b"--f") => return false,
            _ if !option.starts_with(b"--") && option.contains(&b'f') => return false,
            _ => {}
        }
    }
    true
}

/// A signal that was sent to lockwright.
pub struct Signal(libc::signalfd_siginfo);

impl Signal {
    /// Whether the kernel sent it on behalf of the terminal, hence to the whole process group.
    fn is_from_terminal(&self) -> bool {
        self.0.ssi_code == libc::SI_KERNEL
    }

    /// Its number, if it is one that asks for the end.
    pub fn ending(&self) -> Option<i32> {
        let number = self.0.ssi_signo as i32;
        [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM]
            .contains(&number)
            .then_some(number)
    }

    /// Sends it on to process `pid`, unless that got it already.
    pub fn forward(&self, pid: libc::pid_t) {
        let number = self.0.ssi_signo as i32;
        if self.is_from_terminal() || is_timeout_of_group(self.0.ssi_pid) {
            return;
        }
        if self.0.ssi_code == libc::SI_QUEUE {
            let value = libc::sigval { sival_ptr: self.0.ssi_ptr as *mut libc::c_void };
            // SAFETY: the value is passed through, not looked at.
            unsafe { libc::sigqueue(pid, number, value) };
        } else {
            // SAFETY: `pid` is an unreaped child's, so it cannot be anyone else's.
            unsafe { libc::kill(pid, number) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_signals_its_group_unless_told_otherwise() {
        let of = |words: &[&str]| signals_its_group(words.join("\0").as_bytes());
        assert!(of(&["timeout", "5", "lockwright", "check", "-f"]));
        assert!(of(&["/usr/bin/timeout", "-v", "-k", "9", "--signal", "INT", "5", "lockwright"]));
        assert!(of(&["timeout", "--", "5", "lockwright"]));
        assert!(!of(&["timeout", "-k", "9", "--foreground", "5", "lockwright"]));
        assert!(!of(&["timeout", "-vf", "5", "lockwright"]));
        assert!(!of(&["sh", "-c", "timeout"]) && !of(&[""]));
    }
}
