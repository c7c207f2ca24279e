//! The time and memory that a program takes.

use crate::workspace::read;

/// Seconds in a tick, the kernel's unit of processor time: USER_HZ, 100 on all that we run on.
pub const TICK: f64 = 0.01;

/// One run, or one round of a server's clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// By the clock, from begin to end.
    pub seconds: f64,
    /// The usage of the program alone.
    pub used: Used,
}

/// What a program has used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Used {
    /// Seconds of processor time, of all its threads.
    pub cpu: f64,
    /// KiB of memory that its largest process had at most.
    pub kib: f64,
}

impl Usage {
    /// What `programs/timed.c` says.
    pub fn parse(text: &str) -> Result<Self, String> {
        let line = text.lines().next().unwrap_or_default();
        let mut numbers = line.split(' ').map(str::parse);
        match [numbers.next(), numbers.next(), numbers.next()] {
            [Some(Ok(seconds)), Some(Ok(cpu)), Some(Ok(kib))] => {
                Ok(Self { seconds, used: Used { cpu, kib } })
            }
            _ => Err(format!("not three numbers: {text}")),
        }
    }
}

impl Used {
    /// For a running process: all that it has used until now.
    pub fn of(pid: u32) -> Result<Self, String> {
        let read = |file: &str| read(format!("/proc/{pid}/{file}"));
        let (stat, status) = (read("stat")?, read("status")?);
        Self::from_proc(&stat, &status).ok_or(format!("process {pid} says not what it used"))
    }

    /// The two files are described in proc(5).
    fn from_proc(stat: &str, status: &str) -> Option<Self> {
        // The 2nd field is the name, which may hold anything; utime is the 14th, stime the 15th.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<f64>().ok();
        let cpu = (ticks()? + ticks()?) * TICK;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(Self { cpu, kib: peak.trim().strip_suffix("kB")?.trim().parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_timed_says_comes_first() {
        let usage = Usage::parse("0.25 0.5 3584\nand what the program said\n");
        let expected = Usage { seconds: 0.25, used: Used { cpu: 0.5, kib: 3584.0 } };
        assert_eq!(usage, Ok(expected));
        assert!(Usage::parse("0.25 0.5").is_err());
    }

    #[test]
    fn processor_time_is_found_past_any_name() {
        let stat = "7 (a ) 1 2) S 1 7 7 0 -1 4194560 1 2 3 4 150 25 0 0 20 0 5 0 9 9 9";
        let used = Used::from_proc(stat, "Name:\ta\nVmHWM:\t    3584 kB\nVmRSS:\t 12 kB\n");
        assert_eq!(used, Some(Used { cpu: 1.75, kib: 3584.0 }));
    }

    #[test]
    fn this_process_has_used_memory() {
        assert!(Used::of(std::process::id()).is_ok_and(|used| used.kib > 0.0));
    }
}
