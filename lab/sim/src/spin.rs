//! Rounds of a spinning loop that need not be gone through: as long as none of the words that it
//! looks at changes, each is as the one before.
//!
//! ```text
//!   ... | PAUSE | load load ... | PAUSE | load load ... | PAUSE ...
//!       ^ from  ^ look(1)       |       ^ look(2)
//!               `---- period ---------->'
//! ```

use crate::time::Time;

/// Loads of a round that are kept apart; a loop with more of them is simulated round by round.
const MOST_LOOKS: usize = 4;

/// A load of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The line that it is of, and the word in it.
    pub line: usize,
    pub address: usize,
    /// When, after the round's begin.
    pub offset: Time,
}

/// The loads of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    looks: [Look; MOST_LOOKS],
    count: usize,
}

impl Looks {
    /// False: there are too many.
    pub const fn push(&mut self, look: Look) -> bool {
        if self.count == MOST_LOOKS {
            return false;
        }
        self.looks[self.count] = look;
        self.count += 1;
        true
    }

    pub fn as_slice(&self) -> &[Look] {
        &self.looks[..self.count]
    }
}

/// What a task has done since its last PAUSE.
#[derive(Clone, Debug, Default)]
pub struct Round {
    pub begin: Time,
    pub looks: Looks,
    /// Something that need not be the same in the next round.
    pub differs: bool,
}

/// Rounds that are as the last one.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// When the first PAUSE begins.
    pub from: Time,
    pub pause: Time,
    /// From one PAUSE to the next.
    pub period: Time,
    /// The most of them.
    pub limit: u32,
    pub looks: Looks,
}

impl Rounds {
    /// When the loads of a round, from 1, begin.
    pub const fn look(&self, round: u32) -> Time {
        self.from + self.pause + (round as u64 - 1) * self.period
    }

    /// The first round with a load, among those asked for, that comes at `time` or later; later, if
    /// `strictly`. The last round, if none does.
    pub fn first_with_load_at(
        &self,
        time: Time,
        strictly: bool,
        is_asked_for: impl Fn(&Look) -> bool,
    ) -> u32 {
        let least = time + u64::from(strictly);
        let looks = self.looks.as_slice().iter().filter(|look| is_asked_for(look));
        let round = |look: &Look| {
            let first = self.look(1) + look.offset;
            1 + least.saturating_sub(first).div_ceil(self.period)
        };
        let round = looks.map(round).min().unwrap_or(u64::MAX);
        round.min(self.limit.into()) as u32
    }
}

/// A processor's watch over PAUSE loops of a guest (Intel SDM 3, *PAUSE-loop exiting*).
#[derive(Clone, Debug)]
pub struct PauseLoop {
    pub gap: Time,
    pub window: Time,
    first: Time,
    last: Time,
}

impl PauseLoop {
    pub const fn new(gap: Time, window: Time) -> Self {
        Self { gap, window, first: 0, last: 0 }
    }

    /// The first PAUSE of the loop that one at `time` belongs to.
    const fn first_at(&self, time: Time) -> Time {
        if time - self.last > self.gap { time } else { self.first }
    }

    /// Notes a PAUSE. True: an exit.
    pub const fn pause(&mut self, time: Time) -> bool {
        self.first = self.first_at(time);
        self.last = time;
        time - self.first > self.window
    }

    /// The next PAUSE begins a loop.
    pub const fn forget(&mut self, time: Time) {
        self.first = time;
        self.last = time;
    }

    /// How many PAUSEs from `time` on, a period apart, come before one that exits.
    pub const fn before_exit(&self, time: Time, period: Time) -> u64 {
        let first = self.first_at(time);
        if period > self.gap {
            return if time - first > self.window { 0 } else { u64::MAX };
        }
        match (first + self.window + 1).checked_sub(time) {
            None | Some(0) => 0,
            Some(left) => left.div_ceil(period),
        }
    }

    /// Notes so many of them, none of which exits.
    pub const fn pauses(&mut self, time: Time, period: Time, count: u32) {
        self.pause(time);
        if count > 1 {
            let last = time + (count as u64 - 1) * period;
            if period > self.gap {
                self.first = last;
            }
            self.last = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_with_a_load_at_a_time_is_that_of_a_search() {
        let mut looks = Looks::default();
        for (line, offset) in [(1, 0), (2, 3), (1, 7)] {
            assert!(looks.push(Look { line, address: line, offset }));
        }
        let rounds = Rounds { from: 100, pause: 5, period: 20, limit: 9, looks };
        for line in [1, 2] {
            for time in 90..400 {
                for strictly in [false, true] {
                    let comes = |round: &u32| {
                        rounds.looks.as_slice().iter().filter(|look| look.line == line).any(
                            |look| {
                                let at = rounds.look(*round) + look.offset;
                                if strictly { at > time } else { at >= time }
                            },
                        )
                    };
                    let searched = (1..=9).find(comes).unwrap_or(9);
                    let found = rounds.first_with_load_at(time, strictly, |look| look.line == line);
                    assert_eq!(found, searched, "{line} {time} {strictly}");
                }
            }
        }
    }

    #[test]
    fn pauses_before_an_exit_are_those_of_a_watch_that_sees_each() {
        for (gap, window, period) in [(10, 100, 7), (10, 100, 10), (10, 100, 11), (5, 0, 5)] {
            for begin in [1_000, 1_003, 1_500] {
                let mut watch = PauseLoop::new(gap, window);
                watch.forget(995);
                let counted = watch.before_exit(begin, period);
                let mut seen = watch.clone();
                let exit = (0..200).find(|round| seen.pause(begin + round * period));
                assert_eq!(exit.unwrap_or(u64::MAX), counted, "{gap} {window} {period} {begin}");
                if counted > 1 && counted < 100 {
                    let mut all = watch.clone();
                    for round in 0..counted {
                        all.pause(begin + round * period);
                    }
                    watch.pauses(begin, period, counted as u32);
                    assert_eq!((watch.first, watch.last), (all.first, all.last));
                }
            }
        }
    }
}
