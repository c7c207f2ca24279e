//! The call that a sleeping thread is blocked in, if it waits for a descriptor, and the descriptors
//! of its process that have the other end. A pipe between two threads of a process is waited for as
//! a lock is.

use std::collections::HashMap;
use std::fs;

use lockwright_analysis::arch;
use lockwright_analysis::finding::doing::{Blocked, File};

/// What a call does with its first argument, which is the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// It waits for what is written to the other end.
    Reads,
    /// It waits until the other end is read.
    Writes,
    /// It waits until something is ready.
    Awaits,
}

/// Calls that wait for a descriptor.
const CALLS: &[(i64, &str, Does)] = &[
    (libc::SYS_read, "read", Does::Reads),
    (libc::SYS_readv, "readv", Does::Reads),
    (libc::SYS_recvfrom, "recvfrom", Does::Reads),
    (libc::SYS_recvmsg, "recvmsg", Does::Reads),
    (libc::SYS_accept, "accept", Does::Reads),
    (libc::SYS_accept4, "accept4", Does::Reads),
    (libc::SYS_write, "write", Does::Writes),
    (libc::SYS_writev, "writev", Does::Writes),
    (libc::SYS_sendto, "sendto", Does::Writes),
    (libc::SYS_sendmsg, "sendmsg", Does::Writes),
    (libc::SYS_connect, "connect", Does::Writes),
    (arch::SYS_epoll_wait, "epoll_wait", Does::Awaits),
    (libc::SYS_epoll_pwait, "epoll_pwait", Does::Awaits),
];

/// An open descriptor, as /proc shows it.
#[derive(Clone, Debug)]
struct Open {
    number: u32,
    /// Where its link leads: `pipe:[4711]`.
    link: String,
}

/// The descriptors of a process, listed once they are asked for.
#[derive(Debug)]
pub struct Descriptors {
    pid: u32,
    all: Option<Vec<Open>>,
}

impl Descriptors {
    /// Those of this process.
    pub fn of(pid: u32) -> Self {
        Self { pid, all: None }
    }

    /// The call that a thread of the process is blocked in.
    pub fn blocked(&mut self, tid: u32) -> Option<Blocked> {
        let call = fs::read_to_string(format!("/proc/{}/task/{tid}/syscall", self.pid)).ok()?;
        let (call, does, descriptor) = parse(&call)?;
        let link = link_of(self.pid, descriptor)?;
        let file = file_of(&link);
        let mut other_ends: Vec<u32> = match file {
            File::Pipe | File::Eventfd => {
                self.alike(&link).filter(|&other| self.is_other_end(file, does, descriptor, other))
            }
            .collect(),
            File::Socket | File::Epoll | File::Other => Vec::new(),
        };
        other_ends.sort_unstable();
        Some(Blocked { call, descriptor, file, other_ends })
    }

    /// The descriptors whose links lead to the same place.
    fn alike(&mut self, link: &str) -> std::vec::IntoIter<u32> {
        let pid = self.pid;
        let all = self.all.get_or_insert_with(|| open_in(pid));
        let alike = all.iter().filter(|open| open.link == link).map(|open| open.number);
        alike.collect::<Vec<u32>>().into_iter()
    }

    /// Whether what is done with `other` may end a call that waits for `descriptor`.
    fn is_other_end(&self, file: File, does: Does, descriptor: u32, other: u32) -> bool {
        let info = |number| fs::read_to_string(format!("/proc/{}/fdinfo/{number}", self.pid));
        let Ok(of_other) = info(other) else { return false };
        match file {
            // All eventfds have one link.
            File::Eventfd => info(descriptor).is_ok_and(|own| is_same_event(&own, &of_other)),
            _ => has_end(&of_other, does),
        }
    }
}

fn open_in(pid: u32) -> Vec<Open> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let open = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some(Open { number, link: link_of(pid, number)? })
    };
    entries.filter_map(open).collect()
}

fn link_of(pid: u32, descriptor: u32) -> Option<String> {
    let link = fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
    Some(link.to_string_lossy().into_owned())
}

/// From the text of /proc/PID/task/TID/syscall: the call, what it does, and its descriptor.
fn parse(call: &str) -> Option<(&'static str, Does, u32)> {
    let mut words = call.split_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let &(_, name, does) = CALLS.iter().find(|(call, ..)| *call == number)?;
    let descriptor = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    Some((name, does, u32::try_from(descriptor).ok()?))
}

/// What a link in /proc/PID/fd leads to.
fn file_of(link: &str) -> File {
    match link.split_once(':') {
        Some(("pipe", _)) => File::Pipe,
        Some(("socket", _)) => File::Socket,
        Some(("anon_inode", "[eventfd]")) => File::Eventfd,
        Some(("anon_inode", "[eventpoll]")) => File::Epoll,
        _ => File::Other,
    }
}

/// The lines of an fdinfo, by their names.
fn fields(info: &str) -> HashMap<&str, &str> {
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, value)| (name, value.trim())).collect()
}

/// Two descriptors of eventfds are of one. Kernels before 5.2 do not number them: then none are.
fn is_same_event(a: &str, b: &str) -> bool {
    let id = |info| fields(info).get("eventfd-id").copied().map(str::to_owned);
    id(a).is_some() && id(a) == id(b)
}

/// Whether a descriptor of a pipe has the end that one waits for who `does` this.
fn has_end(info: &str, does: Does) -> bool {
    let flags = fields(info).get("flags").and_then(|flags| i32::from_str_radix(flags, 8).ok());
    match flags.map(|flags| flags & libc::O_ACCMODE) {
        Some(libc::O_RDWR) => true,
        Some(libc::O_WRONLY) => does == Does::Reads,
        Some(_) => does == Does::Writes,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::sync::mpsc;

    #[test]
    fn a_call_is_known_by_its_number_and_its_descriptor() {
        let read = "0 0x3 0x7fdc 0x20000 0x0 0x0 0x0 0x7f 0x7f";
        assert_eq!(parse(read), Some(("read", Does::Reads, 3)));
        assert_eq!(parse("1 0x1f 0x7fdc 0x1 0x0 0x0 0x0 0x7f 0x7f").unwrap().2, 31);
        assert_eq!(parse("202 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7f 0x7f"), None, "a futex");
        assert_eq!(parse("running\n"), None);
        assert_eq!(parse("0 0xffffffffffffffff 0x0 0x0"), None, "no descriptor");
    }

    #[test]
    fn ends_of_pipes_and_numbers_of_events_are_in_fdinfo() {
        let (reads, writes) = ("pos:\t0\nflags:\t00\n", "pos:\t0\nflags:\t0100001\n");
        assert!(has_end(writes, Does::Reads) && !has_end(reads, Does::Reads));
        assert!(has_end(reads, Does::Writes) && !has_end(writes, Does::Writes));
        assert!(has_end("flags:\t02\n", Does::Reads), "opened for both");
        assert!(!has_end("", Does::Reads));
        let event = |id: &str| format!("flags:\t02\neventfd-count: 0\neventfd-id: {id}\n");
        assert!(is_same_event(&event("7"), &event("7")));
        assert!(!is_same_event(&event("7"), &event("8")));
        assert!(!is_same_event("flags:\t02\n", "flags:\t02\n"), "not known");
        for (link, file) in [
            ("pipe:[12]", File::Pipe),
            ("socket:[12]", File::Socket),
            ("anon_inode:[eventfd]", File::Eventfd),
            ("anon_inode:[eventpoll]", File::Epoll),
            ("/tmp/a:b", File::Other),
        ] {
            assert_eq!(file_of(link), file, "{link}");
        }
    }

    #[test]
    fn a_thread_that_reads_a_pipe_is_seen_with_the_end_that_is_written() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let from = reader.as_raw_fd() as u32;
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            // SAFETY: it takes no argument and touches no memory of ours.
            tell.send(unsafe { libc::gettid() } as u32).unwrap();
            reader.read(&mut [0]).unwrap()
        });
        let tid = told.recv().unwrap();
        let blocked = loop {
            match Descriptors::of(std::process::id()).blocked(tid) {
                Some(blocked) => break blocked,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!((blocked.call, blocked.descriptor, blocked.file), ("read", from, File::Pipe));
        assert_eq!(blocked.other_ends, [writer.as_raw_fd() as u32]);
        drop(writer);
        assert_eq!(thread.join().unwrap(), 0);
    }
}
