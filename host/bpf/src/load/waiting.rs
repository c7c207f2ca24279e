//! Threads that wait for a futex already when the programs are attached: no call of theirs is seen
//! begin. /proc shows the call that a thread sleeps in, with its arguments, stack pointer and program
//! counter.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use super::digits;
use super::namespace::of_status;
use crate::messages::Place;

/// Bytes of the stack that are copied, as `COPIED` in C.
const COPIED: usize = 4096;

/// A thread that sleeps in such a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleeper {
    /// Its id where the command runs.
    pub tid: u32,
    /// Its id in its own PID namespace.
    pub innermost: u32,
    /// The word.
    pub address: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The program counter.
    pub pc: u64,
    /// The process.
    pub pid: u32,
    switches: String,
}

impl Sleeper {
    /// Whether it has slept in that call ever since.
    pub fn is_asleep_still(&self) -> bool {
        Self::of(self.pid, self.tid).is_some_and(|now| now == *self)
    }

    /// The threads of a process that wait for a futex now; those of all processes if there is none given.
    pub fn all(only: Option<u32>) -> Vec<Self> {
        let numbers = |path: String| {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        };
        let pids: Vec<u32> =
            only.map_or_else(|| numbers("/proc".into()).collect(), |pid| vec![pid]);
        let of_process =
            |pid| numbers(format!("/proc/{pid}/task")).filter_map(move |tid| Self::of(pid, tid));
        pids.into_iter().filter(|&pid| pid != std::process::id()).flat_map(of_process).collect()
    }

    fn of(pid: u32, tid: u32) -> Option<Self> {
        let file = |name| fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}"));
        let (address, sp, pc) = waits_at(&file("syscall").ok()?)?;
        let status = file("status").ok()?;
        let switches = status.lines().filter(|line| line.contains("ctxt_switches")).collect();
        Some(Self { tid, innermost: of_status(&status)?, address, sp, pc, switches, pid })
    }

    /// The lock that the word may stand for, as `object_of` in C; 0: none.
    pub fn object(&self) -> u64 {
        /// `PARKER_LOCK` in C.
        const PARKER_LOCK: u64 = 32;
        let read = |at: u64, to: &mut [u8]| {
            self.memory().ok().is_some_and(|memory| memory.read_exact_at(to, at).is_ok())
        };
        let (mut lock, mut bits) = ([0; 8], [0]);
        let is_read = read(self.address.wrapping_sub(PARKER_LOCK), &mut lock);
        let lock = u64::from_le_bytes(lock);
        let is_lock = is_read && lock >= 4096 && read(lock & !1, &mut bits) && bits[0] & 3 != 0;
        if is_lock { lock } else { 0 }
    }

    fn memory(&self) -> io::Result<File> {
        File::open(format!("/proc/{}/mem", self.pid))
    }

    /// The place where it waits, with this number.
    pub fn place(&self, id: u64, tgid: u32) -> Place {
        let mut stack = vec![0; COPIED];
        let size =
            self.memory().and_then(|memory| memory.read_at(&mut stack, self.sp)).unwrap_or(0);
        stack.truncate(size);
        let comm = fs::read_to_string(format!("/proc/{}/task/{}/comm", self.pid, self.tid));
        Place {
            id,
            tgid,
            tid: self.innermost,
            comm: comm.unwrap_or_default().trim_end().to_owned(),
            pc: self.pc,
            sp: self.sp,
            // Not shown; 0 as of a thread that has none.
            bp: 0,
            stack: digits(&stack),
        }
    }
}

/// The word, the stack pointer and the program counter of a line of /proc/PID/task/TID/syscall, if the
/// thread waits for a futex.
fn waits_at(line: &str) -> Option<(u64, u64, u64)> {
    let mut words = line.split_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let hexadecimal = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let words: Vec<u64> = words.filter_map(hexadecimal).collect();
    let &[address, operation, .., sp, pc] = &words[..] else { return None };
    /// futex_wait(2), since Linux 6.7.
    const SYS_FUTEX_WAIT: i64 = 455;
    let command = operation as i32 & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    /// Since Linux 5.14.
    const LOCK_PI2: i32 = 13;
    let waits = [
        libc::FUTEX_WAIT,
        libc::FUTEX_WAIT_BITSET,
        libc::FUTEX_WAIT_REQUEUE_PI,
        libc::FUTEX_LOCK_PI,
        LOCK_PI2,
    ];
    let is_wait = number == SYS_FUTEX_WAIT || number == libc::SYS_futex && waits.contains(&command);
    is_wait.then_some((address, sp, pc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_proc_tells_who_waits_for_a_futex() {
        let line = |number, operation| {
            format!("{number} 0x7f00 {operation:#x} 0x2 0x0 0x0 0x0 0x7ffc10 0x7f5511\n")
        };
        assert_eq!(waits_at(&line(202, 0x80)), Some((0x7f00, 0x7f_fc10, 0x7f_5511)));
        assert_eq!(waits_at(&line(202, 0x189)), Some((0x7f00, 0x7f_fc10, 0x7f_5511)), "a bit set");
        assert_eq!(waits_at(&line(455, 0)), Some((0x7f00, 0x7f_fc10, 0x7f_5511)));
        assert_eq!(waits_at(&line(202, 0x81)), None, "a wake");
        assert_eq!(waits_at(&line(0, 0x80)), None, "read");
        for other in ["running", "-1 0x7ffc10 0x7f5511", ""] {
            assert_eq!(waits_at(other), None, "{other}");
        }
    }

    #[test]
    fn this_thread_does_not_wait() {
        let own = fs::read_link("/proc/thread-self").unwrap();
        let own: u32 = own.file_name().and_then(|tid| tid.to_str()?.parse().ok()).unwrap();
        assert_eq!(Sleeper::of(std::process::id(), own), None);
    }
}
