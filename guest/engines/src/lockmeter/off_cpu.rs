//! How long of a hold its thread was on no processor: seen by the thread itself, which reads its CPU clock at the end of each long
//! hold. Short holds have no room for the loss of a processor.
//!
//! Between two readings a thread may lose its processor outside of holds as well. What cannot have been there was in the hold. If
//! it was lost once, it was lost in the hold if the rest of that is as long as holds of its call site are. Else the hold has its
//! part of the time.

/// Holds from so many ticks on are long: some 50 us.
pub const LONG: u64 = 1 << 17;

/// A thread's clocks at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// When it was, ticks; 0: never.
    pub at: u64,
    /// What the thread had had of a processor, nanoseconds.
    pub cpu_ns: u64,
    /// How often it had lost or given up its processor.
    pub switches: u64,
}

/// What a thread knows of its time since its last reading. Begins zeroed.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct SinceReading {
    last: Reading,
    /// Its waits and sleeping calls: how long they were, how many, and when the last ended.
    slept: u64,
    sleeps: u64,
    slept_until: u64,
}

/// The time between two readings.
#[derive(Clone, Copy, Debug)]
pub struct Period {
    /// How long it was, ticks.
    pub ticks: u64,
    /// What the thread had of a processor, nanoseconds.
    pub cpu_ns: u64,
    /// How often it lost or gave up its processor.
    switches: u64,
    slept: u64,
    sleeps: u64,
    slept_until: u64,
}

/// A hold that is over, when the period ends.
#[derive(Clone, Copy, Debug)]
pub struct LongHold {
    /// When it began.
    pub since: u64,
    /// How long it was, ticks.
    pub ticks: u64,
    /// How long those before it at its call site were on average, ticks; 0 if there were none.
    pub typical: u64,
}

impl SinceReading {
    /// The thread waited, or was in a call that may sleep.
    pub(super) fn slept(&mut self, begun: u64, ended: u64) {
        self.slept += ended.saturating_sub(begun);
        self.sleeps += 1;
        self.slept_until = ended;
    }

    /// The time since the last reading, up to `now`; since the hold's beginning if it is the first. The thread's processor time
    /// before that counts as the hold's, so its loss is no more than it was.
    pub(super) fn read(&mut self, now: Reading, hold: &LongHold) -> Period {
        let Self { last, slept, sleeps, slept_until } =
            core::mem::replace(self, Self { last: now, ..Self::default() });
        // A forked child's clock began at 0.
        let last = match last.at == 0 || last.cpu_ns > now.cpu_ns || last.switches > now.switches {
            true => Reading { at: hold.since, ..Reading::default() },
            false => last,
        };
        Period {
            ticks: now.at.saturating_sub(last.at),
            cpu_ns: now.cpu_ns - last.cpu_ns,
            switches: now.switches - last.switches,
            slept,
            sleeps,
            slept_until,
        }
    }
}

impl Period {
    /// How long of `hold` the thread was ready to run and had no processor, ticks. `ran`: [`Self::cpu_ns`] as ticks.
    pub fn lost_in(&self, hold: &LongHold, ran: u64) -> u64 {
        if self.switches == 0 {
            return 0;
        }
        // Asleep within the hold: either all or nothing.
        let asleep = if self.slept_until > hold.since { self.slept } else { 0 };
        let length = hold.ticks.saturating_sub(asleep);
        let awake = self.ticks.saturating_sub(self.slept);
        let lost = awake.saturating_sub(ran);
        let at_least = lost.saturating_sub(awake.saturating_sub(length)).min(length);
        let is_one = self.switches.saturating_sub(self.sleeps) <= 1;
        if is_one && lost > length + length / 8 {
            return at_least;
        }
        let rest = length.saturating_sub(lost);
        let is_likelier = rest.abs_diff(hold.typical) < length.abs_diff(hold.typical);
        if is_one && is_likelier && rest <= 2 * hold.typical + length / 8 {
            return lost.min(length);
        }
        let part = u128::from(lost) * u128::from(length) / u128::from(awake.max(1));
        at_least.max(part as u64).min(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 2_000_000;

    /// A hold of `hold` ms that ends a period of `period` ms, of which the thread ran `ran` ms; how many it lost in the hold.
    fn lost(period: u64, ran: u64, switches: u64, hold: u64, typical: u64) -> u64 {
        lost_after(&[], period, ran, switches, hold, typical)
    }

    fn lost_after(
        sleeps: &[(u64, u64)],
        period: u64,
        ran: u64,
        switches: u64,
        hold: u64,
        typical: u64,
    ) -> u64 {
        let mut since = SinceReading {
            last: Reading { at: 1, cpu_ns: 1000, switches: 7 },
            ..SinceReading::default()
        };
        sleeps.iter().for_each(|&(from, to)| since.slept(1 + from * MS, 1 + to * MS));
        let now = Reading { at: 1 + period * MS, cpu_ns: 1000 + ran, switches: 7 + switches };
        let hold = LongHold { since: now.at - hold * MS, ticks: hold * MS, typical: typical * MS };
        let period = since.read(now, &hold);
        assert_eq!(period.cpu_ns, ran);
        period.lost_in(&hold, ran * MS) / MS
    }

    #[test]
    fn a_short_hold_that_lost_its_processor_ran_for_hardly_any_time() {
        assert_eq!(lost(8, 4, 1, 4, 0), 4);
        // Twice, of which once must have been elsewhere: the hold has its part.
        assert_eq!(lost(16, 8, 2, 4, 0), 2);
        // There is no room for all of it elsewhere.
        assert_eq!(lost(10, 2, 5, 8, 0), 6);
    }

    #[test]
    fn a_long_hold_runs_if_the_processor_was_lost_outside_of_it() {
        assert_eq!(lost(100, 100, 0, 10, 0), 0);
        // One loss that is longer than the hold.
        assert_eq!(lost(100, 50, 1, 10, 0), 0);
        // As long as ever, so the loss came before.
        assert_eq!(lost(100, 97, 1, 10, 10), 0);
        // By so much longer than ever.
        assert_eq!(lost(100, 97, 1, 13, 10), 3);
        // Nobody knows: its part.
        assert_eq!(lost(100, 50, 20, 10, 10), 5);
    }

    #[test]
    fn time_asleep_is_not_lost() {
        // In the hold, and before it.
        assert_eq!(lost_after(&[(92, 98)], 100, 94, 1, 10, 10), 0);
        assert_eq!(lost_after(&[(10, 60)], 100, 50, 1, 10, 10), 0);
        assert_eq!(lost_after(&[(10, 60)], 100, 46, 2, 4, 0), 4);
    }

    #[test]
    fn the_first_long_hold_lost_what_the_thread_never_had() {
        let now = Reading { at: 500 * MS, cpu_ns: 20, switches: 9 };
        let hold = LongHold { since: 400 * MS, ticks: 100 * MS, typical: 0 };
        let mut since = SinceReading::default();
        assert_eq!(since.read(now, &hold).lost_in(&hold, 20 * MS) / MS, 80);
        // A child, whose clock began at 0.
        let now = Reading { at: 900 * MS, cpu_ns: 10, switches: 1 };
        let hold = LongHold { since: 800 * MS, ticks: 100 * MS, typical: 0 };
        assert_eq!(since.read(now, &hold).lost_in(&hold, 10 * MS) / MS, 90);
    }
}
