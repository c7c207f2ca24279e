//! For how long a thread spins before it lets others run, for platforms that know no better.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Nanoseconds of spinning after which a thread lets others run: about twice what a thread takes to
/// go to sleep and to be woken, which is the most that spinning can save.
const PATIENCE: u64 = 10_000;

/// These nanoseconds in rounds of spinning, which are measured when they are first asked for: a
/// PAUSE takes 10 cycles on some processors, 140 on others.
#[derive(Debug)]
pub struct Patience {
    /// 0: not known yet.
    rounds: AtomicU32,
}

impl Patience {
    /// Nothing is measured yet.
    pub const fn new() -> Self {
        Self { rounds: AtomicU32::new(0) }
    }

    /// Whether a thread that has spun for so many rounds should let others run. `now` is a clock in
    /// nanoseconds.
    #[inline]
    pub fn is_over(&self, rounds: u32, now: impl Fn() -> u64) -> bool {
        rounds >= self.rounds(now)
    }

    /// After how many rounds it should.
    #[inline]
    pub fn rounds(&self, now: impl Fn() -> u64) -> u32 {
        // Relaxed: the number says all.
        match self.rounds.load(Relaxed) {
            0 => self.measure(now),
            rounds => rounds,
        }
    }

    #[cold]
    fn measure(&self, now: impl Fn() -> u64) -> u32 {
        const PAUSES: u32 = 64;
        let measure = |_| {
            let begin = now();
            (0..PAUSES).for_each(|_| spin_loop());
            now().saturating_sub(begin)
        };
        // The shortest, as others are those of a thread that was preempted or a processor that had
        // to wake up.
        let pauses = (0..4).map(measure).min().unwrap_or_default().max(1);
        let rounds = (PATIENCE * u64::from(PAUSES) / pauses).clamp(1 << 6, 1 << 12) as u32;
        self.rounds.store(rounds, Relaxed);
        rounds
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    /// How many rounds are patience, where 64 of them take so long.
    fn rounds_where_64_take(nanoseconds: u64) -> u32 {
        let (patience, time) = (Patience::new(), Cell::new(0));
        let now = || time.replace(time.get() + nanoseconds);
        let rounds = (0..).find(|rounds| patience.is_over(*rounds, now)).unwrap();
        assert_eq!(time.get(), 8 * nanoseconds, "it is measured once");
        rounds
    }

    #[test]
    fn ten_microseconds_of_rounds() {
        assert_eq!(rounds_where_64_take(1_000), 640);
        assert_eq!(rounds_where_64_take(100_000), 64, "not fewer, however slow they seem");
        assert_eq!(rounds_where_64_take(1), 4096, "not more, however quick they seem");
    }
}
