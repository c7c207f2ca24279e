//! The head of the table: what was measured, what was selected, what was lost, and where
//! lockmeter's table would say something else.

use super::entries::Thresholds;
use super::format::percent;
use super::table::Machine;
use crate::prose::words::{count, plain};
use lockwright_analysis::lockmeter::model::{Holds, MeterReport};

/// Faults of lockmeter's that are not copied: these numbers differ from those it would show.
pub const NOT_COPIED: &[&str] = &[
    "a writer's wait for a writer is counted once in WAIT (ALL), not twice",
    "HOLD MEAN is over the holds, not over the attempts with the rejected ones",
    "a successful trylock is charged to the place that made it",
    "each hold has its own time of acquisition, which nested holds leave alone",
    "MAX is of this measurement, not of all since lockmeter was switched on",
    "counters have 64 bits",
    "tables grow; what is lost because there was no space is counted above, and takes no lock",
];

/// Points that a reader of lockmeter's tables could misread.
const READ_THUS: &[&str] = &[
    "a lock is a class: all locks created at one place in the program",
    "SPIN counts all that waited, asleep or spinning, those included that gave up at a timeout",
    "% CPU is waiting time as a part of all processors' time, which sleepers left to others",
    "rejected requests for rwlocks, which have no column, are in TOTAL and CON",
    "SPIN( WW ) is divided by who held the lock; ( ? ) is a longest wait that cannot be told from others",
];

/// Renders it.
pub fn render(report: &MeterReport, thresholds: &Thresholds, machine: &Machine) -> String {
    let mut text = format!("{}\n", "_".repeat(91));
    let mut line = |words: &str| text += &format!("{words}\n");
    let mut programs: Vec<String> = Vec::new();
    for process in &report.processes {
        let words = if process.command.is_empty() {
            plain(&process.exe)
        } else {
            plain(&process.command.join(" "))
        };
        if !programs.contains(&words) {
            programs.push(words);
        }
    }
    line(&format!("Program: {}", programs.join(", ")));
    line("Total counts");
    line("");
    line(&format!("All ({}) CPUs", machine.cpus));
    line("Selecting locks that meet ALL of the following:");
    line(&format!("        contention  :   >= {}", percent(thresholds.contention, 1.0)));
    line(&format!("        utilization :   >= {}", percent(thresholds.utilisation, 1.0)));
    line("");
    line(&format!("Delta Time: {:.2} sec.", report.elapsed_ns as f64 / 1e9));
    line(&match report.lost {
        0 => "0 records lost.".to_owned(),
        lost => format!("WARNING: {} lost: numbers are too small.", count(lost, "record")),
    });
    match report.holds() {
        Some(Holds::Exact) => {}
        Some(Holds::Sampled(n)) => {
            line(&format!("Holds: 1 in {n} timed, by chance; UTIL is an estimate."))
        }
        Some(Holds::Off) => line("Holds were not timed (--hold=off)."),
        None => line("Holds were timed in several ways; UTIL is an estimate."),
    }
    line("");
    line("Unlike lockmeter:");
    NOT_COPIED.iter().for_each(|words| line(&format!("  - {words}")));
    line("As lockmeter, for user space:");
    READ_THUS.iter().for_each(|words| line(&format!("  - {words}")));
    line("");
    text
}
