//! The axes of the sweep: how many threads want how many locks, for how long, how often.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// One point of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Threads that take the locks.
    pub threads: usize,
    /// Nanoseconds of work with a lock held, where nothing else runs.
    pub section_ns: u64,
    /// Work without one between two sections, in sections.
    pub gap: u32,
    /// Locks, of which each section takes one at random.
    pub locks: usize,
    /// Hundredths of the sections that only read.
    pub reads: u8,
    /// Whether each CPU has a further thread, which never sleeps and takes no lock.
    pub hog: bool,
}

impl Cell {
    /// Whether a thread that is ready to run has to wait for a CPU.
    pub fn is_over_committed(&self, cpus: usize) -> bool {
        self.hog || self.threads > cpus
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        let Self { threads, section_ns, gap, locks, reads, hog } = self;
        let section = Duration::from_nanos(*section_ns);
        write!(f, "{threads} thread{}, {section:?} held", plural(*threads))?;
        if *section_ns > 0 {
            write!(f, ", gap {gap}x")?;
        }
        if *locks > 1 {
            write!(f, ", {locks} locks")?;
        }
        if *reads > 0 {
            write!(f, ", {reads} % reads")?;
        }
        f.write_str(if *hog { ", hog" } else { "" })
    }
}

/// The values of each dimension; cells are all their combinations.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Threads.
    pub threads: Vec<usize>,
    /// Lengths of sections.
    pub sections: Vec<Duration>,
    /// Gaps, in sections.
    pub gaps: Vec<u32>,
    /// Numbers of locks.
    pub locks: Vec<usize>,
    /// Hundredths that read.
    pub reads: Vec<u8>,
    /// Without and with a hog.
    pub hogs: Vec<bool>,
}

const SECTIONS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_nanos(100),
    Duration::from_micros(1),
    Duration::from_micros(10),
    Duration::from_micros(100),
];

impl Sweep {
    /// The sweep of mutexes, in a few minutes.
    pub fn mutexes() -> Self {
        Self {
            threads: vec![1, 2, 4, 8, 32],
            sections: SECTIONS[..3].to_vec(),
            gaps: vec![1],
            locks: vec![1],
            reads: vec![0],
            hogs: vec![false],
        }
    }

    /// The sweep of reader-writer locks, in a few minutes.
    pub fn rwlocks() -> Self {
        Self {
            threads: vec![1, 2, 8],
            sections: vec![SECTIONS[1]],
            reads: vec![0, 50, 90, 99, 100],
            ..Self::mutexes()
        }
    }

    /// Everything of mutexes: hours.
    pub fn all_of_mutexes() -> Self {
        Self {
            threads: vec![1, 2, 3, 4, 6, 8, 16, 32],
            sections: SECTIONS.to_vec(),
            gaps: vec![0, 1, 10],
            locks: vec![1, 2, 64],
            reads: vec![0],
            hogs: vec![false, true],
        }
    }

    /// Everything of reader-writer locks: many hours.
    pub fn all_of_rwlocks() -> Self {
        Self { reads: vec![0, 50, 90, 99, 100], ..Self::all_of_mutexes() }
    }

    /// As little as shows that everything runs, with one value of each dimension that is none of
    /// the simplest.
    pub fn smoke(reads: Vec<u8>) -> Self {
        Self {
            threads: vec![1, 4],
            sections: vec![SECTIONS[0], SECTIONS[1]],
            gaps: vec![1],
            locks: vec![2],
            reads,
            hogs: vec![true],
        }
    }

    /// All combinations. The gap is in sections: empty ones have none.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &hog in &self.hogs {
            for &reads in &self.reads {
                for &locks in &self.locks {
                    for &section in &self.sections {
                        let gaps = if section.is_zero() { &[0] } else { self.gaps.as_slice() };
                        for &gap in gaps {
                            let section_ns = section.as_nanos() as u64;
                            let of =
                                |&threads| Cell { threads, section_ns, gap, locks, reads, hog };
                            cells.extend(self.threads.iter().map(of));
                        }
                    }
                }
            }
        }
        cells
    }
}

/// The values that a user chose instead of a sweep's own; none: its own.
#[derive(Clone, Debug, Default)]
pub struct Axes {
    /// As in [`Sweep`].
    pub threads: Option<Vec<usize>>,
    /// As in [`Sweep`].
    pub sections: Option<Vec<Duration>>,
    /// As in [`Sweep`].
    pub gaps: Option<Vec<u32>>,
    /// As in [`Sweep`].
    pub locks: Option<Vec<usize>>,
    /// As in [`Sweep`]; of reader-writer locks only.
    pub reads: Option<Vec<u8>>,
    /// As in [`Sweep`].
    pub hogs: Option<Vec<bool>>,
}

impl Axes {
    /// A sweep with these values. Mutexes are not read.
    pub fn over(&self, sweep: Sweep, has_readers: bool) -> Sweep {
        let reads = self.reads.clone().filter(|_| has_readers);
        Sweep {
            threads: self.threads.clone().unwrap_or(sweep.threads),
            sections: self.sections.clone().unwrap_or(sweep.sections),
            gaps: self.gaps.clone().unwrap_or(sweep.gaps),
            locks: self.locks.clone().unwrap_or(sweep.locks),
            reads: reads.unwrap_or(sweep.reads),
            hogs: self.hogs.clone().unwrap_or(sweep.hogs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_sweep_is_every_combination_once() {
        let cells = Sweep::all_of_mutexes().cells();
        // Four lengths with three gaps each, and the empty section.
        assert_eq!(cells.len(), 8 * (4 * 3 + 1) * 3 * 2);
        let differ = |i: usize| !cells[..i].contains(&cells[i]);
        assert!((0..cells.len()).all(differ));
        assert_eq!(Sweep::all_of_rwlocks().cells().len(), 5 * cells.len());
    }

    #[test]
    fn chosen_values_replace_a_dimension() {
        let axes = Axes { threads: Some(vec![3]), reads: Some(vec![7]), ..Axes::default() };
        let mutexes = axes.over(Sweep::mutexes(), false);
        assert_eq!((mutexes.threads, mutexes.reads), (vec![3], vec![0]));
        assert_eq!(axes.over(Sweep::rwlocks(), true).reads, [7]);
    }

    #[test]
    fn a_cell_is_told_in_words() {
        let mut cell = Cell { threads: 1, section_ns: 0, gap: 0, locks: 1, reads: 0, hog: false };
        assert_eq!(cell.to_string(), "1 thread, 0ns held");
        cell = Cell { threads: 4, section_ns: 1000, gap: 10, locks: 64, reads: 90, hog: true };
        assert_eq!(cell.to_string(), "4 threads, 1µs held, gap 10x, 64 locks, 90 % reads, hog");
    }
}
