//! Which thread goes on at each scheduling point.
//!
//! The *default* schedule preempts nobody: a thread goes on until it waits, and then the next one in
//! a circle does. Every other schedule is the default one with deviations, so that a list of them
//! names it.

use std::fmt;
use std::str::FromStr;

use crate::rng::Rng;

/// Another thread than the default one goes on at this point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The number of the scheduling point, from 1.
    pub point: u64,
    /// The thread that runs next.
    pub thread: u32,
}

/// A list of deviations, in order: written as `POINT:THREAD,...`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(pub Vec<Deviation>);

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("default");
        }
        for (number, Deviation { point, thread }) in self.0.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{point}:{thread}")?;
        }
        Ok(())
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "default" {
            return Ok(Self::default());
        }
        let one = |part: &str| {
            let (point, thread) = part.split_once(':')?;
            Some(Deviation { point: point.parse().ok()?, thread: thread.parse().ok()? })
        };
        let all: Option<Vec<_>> = text.split(',').map(one).collect();
        all.filter(|all| all.is_sorted_by(|a, b| a.point < b.point))
            .map(Self)
            .ok_or_else(|| "write `POINT:THREAD,...` in order, as it was printed".to_owned())
    }
}

/// A set of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads(u64);

impl Threads {
    pub const MOST: u32 = u64::BITS;

    pub const fn first(count: u32) -> Self {
        Self(u64::MAX >> (Self::MOST - count))
    }
    pub fn of(threads: &[u32]) -> Self {
        threads.iter().fold(Self::default(), |mut set, thread| {
            set.add(*thread);
            set
        })
    }
    /// Those of both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    pub const fn has(self, thread: u32) -> bool {
        self.0 >> thread & 1 != 0
    }
    pub const fn add(&mut self, thread: u32) {
        self.0 |= 1 << thread;
    }
    pub const fn remove(&mut self, thread: u32) {
        self.0 &= !(1 << thread);
    }
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..Self::MOST).filter(move |thread| self.has(*thread))
    }
    const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// One of them, which are not none.
    fn any(self, rng: &mut Rng) -> u32 {
        let number = rng.below(self.len().into()) as usize;
        self.iter().nth(number).expect("so many there are")
    }

    /// The next of them after `thread`, in a circle: itself last.
    pub const fn next_after(self, thread: u32) -> u32 {
        // Bit 0 of the rotated set is the thread after this one.
        let after = (thread + 1) % Self::MOST;
        (self.0.rotate_right(after).trailing_zeros() + after) % Self::MOST
    }
}

/// Where a choice is made.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub number: u64,
    pub running: u32,
    /// Not empty.
    pub ready: Threads,
    /// The sleeping threads. If the schedule runs one of them, its sleep ends early.
    pub asleep: Threads,
    /// The running thread can go on only by waiting: it spins, sleeps or is over.
    pub waits: bool,
}

impl Point {
    /// The thread that runs next in the default schedule.
    pub const fn default_thread(&self) -> u32 {
        if !self.waits && self.ready.has(self.running) {
            self.running
        } else {
            self.ready.next_after(self.running)
        }
    }
}

/// One in so many choices is a sleeping thread, if there is one.
const EARLY: u64 = 8;

/// How schedules are chosen.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// The default schedule with these deviations.
    Follow { schedule: Schedule, next: usize },
    /// Once in `one_in` points any thread runs; one in `early` of those choices, if set, is a
    /// sleeping thread.
    Walk { one_in: u64, early: Option<u64>, rng: Rng },
    /// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatte, *A
    /// randomized scheduler with probabilistic guarantees of finding bugs*, ASPLOS 2010): threads
    /// have priorities, which change at a few random points. A spinning thread gets the lowest
    /// priority, so that no spinning loop runs for ever.
    Priorities { of: Vec<i64>, least: i64, changes: Vec<u64> },
}

impl Strategy {
    pub const fn follow(schedule: Schedule) -> Self {
        Self::Follow { schedule, next: 0 }
    }

    /// That of a seed. `points` is how many points the default schedule has.
    pub fn random(seed: u64, threads: u32, points: u64) -> Self {
        let mut rng = Rng::new(seed);
        match rng.below(8) {
            kind @ 0..4 => {
                // A thread that wakes up by chance hides a missing wake-up, so most walks have no
                // early ends.
                let early = rng.one_in(4).then_some(EARLY);
                Self::Walk { one_in: 1 << kind, early, rng }
            }
            changes => {
                let mut of: Vec<i64> = (0..i64::from(threads)).collect();
                for last in (1..of.len()).rev() {
                    of.swap(last, rng.below(last as u64 + 1) as usize);
                }
                let changes = (0..changes - 3).map(|_| 1 + rng.below(points.max(1))).collect();
                Self::Priorities { of, least: 0, changes }
            }
        }
    }

    pub fn choose(&mut self, point: &Point) -> u32 {
        match self {
            Self::Follow { schedule, next } => {
                let can_go_on = point.ready.and(point.asleep);
                while let Some(Deviation { point: at, thread }) = schedule.0.get(*next).copied() {
                    if at > point.number {
                        break;
                    }
                    *next += 1;
                    if at == point.number && thread < Threads::MOST && can_go_on.has(thread) {
                        return thread;
                    }
                }
                point.default_thread()
            }
            Self::Walk { one_in, early, rng } => {
                if !rng.one_in(*one_in) {
                    return point.default_thread();
                }
                let ends_early =
                    !point.asleep.is_empty() && early.is_some_and(|early| rng.one_in(early));
                if ends_early { point.asleep.any(rng) } else { point.ready.any(rng) }
            }
            Self::Priorities { of, least, changes } => {
                let spins = point.waits && point.ready.has(point.running);
                if spins || changes.contains(&point.number) {
                    *least -= 1;
                    of[point.running as usize] = *least;
                }
                let highest = point.ready.iter().max_by_key(|thread| of[*thread as usize]);
                highest.expect("somebody is ready")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read_as_they_are_written() {
        for text in ["default", "1:0", "3:1,17:2"] {
            assert_eq!(text.parse::<Schedule>().expect("it is one").to_string(), text);
        }
        for wrong in ["", "3", "3:", "4:1,3:1", "3:1,3:2", "a:b"] {
            assert!(wrong.parse::<Schedule>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn threads_take_turns_in_a_circle() {
        let mut threads = Threads::first(3);
        assert_eq!([0, 1, 2].map(|thread| threads.next_after(thread)), [1, 2, 0]);
        threads.remove(1);
        assert_eq!([0, 1, 2].map(|thread| threads.next_after(thread)), [2, 2, 0]);
        threads.remove(2);
        assert_eq!(threads.next_after(0), 0);
        assert_eq!(Threads::first(64).next_after(63), 0);
    }
}
