//! The columns of each section, each as wide as lockmeter had it.

use super::entries::{Entry, Section};
use super::format::{blank, percent, tenths, time};
use lockwright_analysis::lockmeter::model::Times;

/// Characters of `MEAN` and of `(  MAX )`.
const MEAN: usize = 6;
const MAX: usize = 8;
/// Characters of a part in percent, parentheses included.
const PART: usize = 7;

/// The text for an unknown number.
const UNKNOWN: &str = "(   ?  )";

/// A section: its titles, and its lines.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The rule before it.
    pub rule: &'static str,
    /// The two lines of titles.
    pub titles: [&'static str; 2],
    /// One line of it, up to the name.
    line: fn(&Entry, Role, &Machine) -> String,
}

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// A blank line.
    Gap,
    Total,
    Lock,
    /// A place that takes one lock.
    Caller,
    /// A place that takes several.
    MultiLock,
}

/// The whole that times are a part of.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Its processors.
    pub cpus: usize,
    /// How long was measured, ns.
    pub elapsed_ns: u64,
}

/// Locks that one thread holds at a time.
pub const SPINLOCKS: Table = Table {
    rule: concat!(
        "- - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -",
        " - - - - - - - - - -"
    ),
    titles: [
        "SPINLOCKS         HOLD            WAIT",
        "  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )(% CPU)     TOTAL NOWAIT SPIN RJECT  NAME",
    ],
    line: exclusive,
};

/// Readers of rwlocks.
pub const READS: Table = Table {
    rule: concat!(
        "- - - - - - - - - - - -  - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -",
        " - - - - - - - - - - - - - - -"
    ),
    titles: [
        "RWLOCK READS   HOLD    MAX  RDR BUSY PERIOD      WAIT",
        "  UTIL  CON    MEAN   RDRS   MEAN(  MAX )   MEAN(  MAX )( %CPU)     TOTAL NOWAIT SPIN  NAME",
    ],
    line: read,
};

/// Writers of rwlocks.
pub const WRITES: Table = Table {
    rule: concat!(
        "- - - - - - - - - - -  - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -",
        " - - - - - - - - - - - - - - - - - - -"
    ),
    titles: [
        "RWLOCK WRITES     HOLD           WAIT (ALL)           WAIT (WW)",
        "  UTIL  CON    MEAN(  MAX )   MEAN(  MAX )( %CPU)   MEAN(  MAX )     TOTAL NOWAIT SPIN(  WW )  NAME",
    ],
    line: write,
};

impl Table {
    /// The whole section.
    pub fn render(&self, section: &Section, machine: &Machine) -> String {
        let mut text = format!("{}\n{}\n{}\n\n", self.rule, self.titles[0], self.titles[1]);
        let mut line = |entry: &Entry, role: Role| {
            let indent = match role {
                Role::Gap => return text.push('\n'),
                Role::Caller => "    ",
                _ => "  ",
            };
            text += &format!("{}{indent}{}\n", (self.line)(entry, role, machine), entry.name);
        };
        line(&section.total, Role::Total);
        for group in &section.groups {
            line(&Entry::default(), Role::Gap);
            line(&group.lock, Role::Lock);
            group.callers.iter().for_each(|caller| line(caller, Role::Caller));
        }
        if !section.multi_locks.is_empty() {
            line(&Entry::default(), Role::Gap);
        }
        section.multi_locks.iter().for_each(|entry| line(entry, Role::MultiLock));
        text
    }
}

fn exclusive(entry: &Entry, role: Role, machine: &Machine) -> String {
    let total = entry.total() as f64;
    [
        utilisation(entry, role),
        contention(entry),
        hold(entry),
        wait(entry, machine),
        format!("{:10}", entry.total()),
        format!(" {}", percent(entry.no_wait() as f64, total)),
        format!(" {}", percent(entry.numbers.contended as f64, total)),
        format!(" {}", percent(entry.numbers.rejects as f64, total)),
    ]
    .concat()
}

fn read(entry: &Entry, role: Role, machine: &Machine) -> String {
    let total = entry.total() as f64;
    let of_lock = match (role, &entry.readers) {
        (Role::Lock, Some(readers)) => {
            let mean = entry.numbers.hold.mean_ns().map_or_else(|| blank(8), tenths);
            format!("{mean:>8}{:6}{}", readers.most, mean_and_max(&readers.busy))
        }
        // They are measured for the lock as a whole.
        _ => blank(8 + 6 + 1 + MEAN + MAX),
    };
    let of_lock_alone = if role == Role::Lock { role } else { Role::Total };
    [
        utilisation(entry, of_lock_alone),
        contention(entry),
        of_lock,
        wait(entry, machine),
        format!("{:10}", entry.total()),
        format!(" {}", percent(entry.no_wait() as f64, total)),
        format!(" {}", percent(entry.numbers.contended as f64, total)),
    ]
    .concat()
}

fn write(entry: &Entry, role: Role, machine: &Machine) -> String {
    let total = entry.total() as f64;
    let writers = &entry.writers;
    let by_readers = (entry.numbers.contended as f64 - writers.count).max(0.0);
    let for_writers = if writers.count > 0.0 {
        let max = match writers.others {
            true => UNKNOWN.to_owned(),
            false => format!("({})", time(entry.numbers.wait.max_ns)),
        };
        format!(" {}{max}", time(writers.ns / writers.count))
    } else {
        format!("    0us{}", blank(MAX))
    };
    [
        utilisation(entry, role),
        contention(entry),
        hold(entry),
        wait(entry, machine),
        for_writers,
        format!("{:10}", entry.total()),
        format!(" {}", percent(entry.no_wait() as f64, total)),
        format!(" {}", percent(by_readers, total)),
        format!("({})", percent(writers.count, total)),
    ]
    .concat()
}

/// The utilisation; a sum over all locks has none.
fn utilisation(entry: &Entry, role: Role) -> String {
    match role {
        Role::Total => blank(1 + 5),
        _ => format!(" {}", percent(entry.utilisation, 1.0)),
    }
}

fn contention(entry: &Entry) -> String {
    let total = entry.total();
    format!(" {}", percent((total - entry.no_wait()) as f64, total as f64))
}

fn hold(entry: &Entry) -> String {
    match entry.numbers.hold.count {
        0 => blank(1 + MEAN + MAX),
        _ => mean_and_max(&entry.numbers.hold),
    }
}

fn wait(entry: &Entry, machine: &Machine) -> String {
    let wait = &entry.numbers.wait;
    if wait.count == 0 {
        return format!("    0us{}", blank(MAX + PART));
    }
    let all = machine.cpus as f64 * machine.elapsed_ns as f64;
    format!("{}({})", mean_and_max(wait), percent(wait.total_ns, all))
}

fn mean_and_max(times: &Times) -> String {
    format!(" {}({})", time(times.mean_ns().unwrap_or(0.0)), time(times.max_ns))
}
