//! What the checks take of the machine's processors, and what they leave.

use std::fs;

use crate::bench::TICK;

/// Seconds of processor time that this process has taken, and all of its children that have ended, with theirs.
pub fn taken() -> f64 {
    fs::read_to_string("/proc/self/stat").ok().and_then(|stat| of_process(&stat)).unwrap_or(0.0)
}

fn of_process(stat: &str) -> Option<f64> {
    // The 2nd field is the name, which may hold anything; utime, stime, cutime and cstime are the 14th to the 17th.
    let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
    let ticks: Vec<f64> = fields.map(str::parse).collect::<Result<_, _>>().ok()?;
    Some(ticks.iter().sum::<f64>() * TICK)
}

/// Seconds of all processors since the machine started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Processors {
    busy: f64,
    idle: f64,
}

impl Processors {
    /// Until now. Zero, if the kernel does not say.
    pub fn now() -> Self {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// The first line is `cpu user nice system idle iowait irq softirq steal`, as proc(5) says, and more that is counted
    /// there already.
    fn parse(stat: &str) -> Self {
        let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
        let ticks: Vec<f64> = fields.filter_map(|field| field.parse().ok()).collect();
        let all: f64 = ticks.iter().sum();
        let idle: f64 = ticks.iter().skip(3).take(2).sum();
        Self { busy: (all - idle) * TICK, idle: idle * TICK }
    }

    /// The part of the time since `begin` in which they did nothing, in per cent; and that time, in seconds of one
    /// processor.
    pub fn idle_since(self, begin: Self) -> (f64, f64) {
        let (busy, idle) = (self.busy - begin.busy, self.idle - begin.idle);
        (100.0 * idle / (busy + idle).max(TICK), idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_past_any_name() {
        let stat = "7 (a ) 1 2) S 1 7 7 0 -1 4194560 1 2 3 4 150 25 300 50 20 0 5 0 9 9 9";
        assert_eq!(of_process(stat), Some(5.25));
        assert_eq!(of_process("no stat"), None);
    }

    #[test]
    fn a_processor_that_waits_for_a_disk_does_nothing() {
        let begin =
            Processors::parse("cpu  100 0 100 500 100 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
        assert_eq!(begin, Processors { busy: 2.0, idle: 6.0 });
        let end = Processors::parse("cpu  300 50 150 550 150 30 20 0 7 7\n");
        let (per_cent, seconds) = end.idle_since(begin);
        assert!((per_cent - 100.0 / 4.5).abs() < 1e-6 && (seconds - 1.0).abs() < 1e-6);
        assert_eq!(Processors::parse(""), Processors { busy: 0.0, idle: 0.0 });
    }
}
