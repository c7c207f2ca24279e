//! The waits under way on one condition variable, and the mutex that binds them, in one word.
//!
//! POSIX binds a condition variable to the mutex of its waits while a thread is blocked on it. A
//! signalled thread is no longer blocked, although its wait has still to take the mutex. So a wait
//! with another mutex is correct once each earlier wait was signalled.
//!
//!     63      55 54       46 45                        0
//!     | signals |   waits   |   mutex's address / 4    |

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

const ADDRESS: u64 = (1 << 46) - 1;
const WAITS: u32 = 46;
const SIGNALS: u32 = 55;
/// The highest count of each kind. Further waits are not counted.
const MOST: u64 = (1 << 9) - 1;

// Every access is Relaxed: counts and an address that say nothing about other memory.

/// What a word contains.
#[derive(Clone, Copy)]
struct Waits {
    /// A quarter of the mutex's address.
    mutex: u64,
    waits: u64,
    /// How many of the waits were signalled: never more than there are waits.
    signals: u64,
}

impl Waits {
    fn of(word: u64) -> Self {
        let (waits, signals) = (word >> WAITS & MOST, word >> SIGNALS);
        Self { mutex: word & ADDRESS, waits, signals }
    }

    fn word(self) -> u64 {
        self.mutex | self.waits << WAITS | self.signals << SIGNALS
    }

    fn is_any_blocked(self) -> bool {
        self.waits > self.signals
    }
}

fn compressed(mutex: u64) -> u64 {
    mutex >> 2 & ADDRESS
}

/// The first word, which counts no wait. It is not zero.
pub fn unused(mutex: u64) -> u64 {
    compressed(mutex)
}

/// Counts a wait with the mutex at address `mutex`. Returns the address of another mutex if a
/// thread is blocked with that one. `Err`: there are too many waits, and this one is not counted.
pub fn enter(word: &AtomicU64, mutex: u64) -> Result<Option<u64>, ()> {
    let mutex = compressed(mutex);
    let counted = word.fetch_update(Relaxed, Relaxed, |old| {
        let old = Waits::of(old);
        let mutex = if old.is_any_blocked() { old.mutex } else { mutex };
        (old.waits < MOST).then(|| Waits { mutex, waits: old.waits + 1, ..old }.word())
    });
    let before = counted.map(Waits::of).map_err(|_| ())?;
    Ok((before.is_any_blocked() && before.mutex != mutex).then_some(before.mutex << 2))
}

/// The condition variable is about to be signalled: one blocked thread wakes, or all of them do. Whether there is a wait that
/// has not ended, signalled or not.
pub fn signal(word: &AtomicU64, to_all: bool) -> bool {
    let before = word.fetch_update(Relaxed, Relaxed, |old| {
        let old = Waits::of(old);
        let signals = if to_all { old.waits } else { old.signals + 1 };
        old.is_any_blocked().then(|| Waits { signals, ..old }.word())
    });
    let (Ok(before) | Err(before)) = before;
    Waits::of(before).waits > 0
}

/// A counted wait has ended: by a signal (`woken`), or by its deadline or the thread's end.
pub fn leave(word: &AtomicU64, woken: bool) {
    let _ = word.fetch_update(Relaxed, Relaxed, |old| {
        let old = Waits::of(old);
        let waits = old.waits.checked_sub(1)?;
        let signals = old.signals.saturating_sub(u64::from(woken)).min(waits);
        Some(Waits { waits, signals, ..old }.word())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u64 = 0x7fff_dead_bee8;
    const B: u64 = 0x5555_5555_4040;

    fn word() -> AtomicU64 {
        AtomicU64::new(unused(A))
    }

    #[test]
    fn a_blocked_thread_binds_the_condition_variable_to_its_mutex() {
        let word = word();
        assert_eq!(enter(&word, A), Ok(None));
        assert_eq!(enter(&word, A), Ok(None));
        assert_eq!(enter(&word, B), Ok(Some(A)));
    }

    #[test]
    fn a_broadcast_ends_the_binding_before_the_waits_return() {
        let word = word();
        assert_eq!((enter(&word, A), enter(&word, A)), (Ok(None), Ok(None)));
        signal(&word, true);
        assert_eq!(enter(&word, B), Ok(None), "nobody is blocked");
        leave(&word, true);
        assert_eq!(enter(&word, A), Ok(Some(B)), "the newcomer is");
        leave(&word, true);
        assert_eq!(enter(&word, B), Ok(None));
    }

    #[test]
    fn a_signal_unblocks_one() {
        let word = word();
        assert_eq!((enter(&word, A), enter(&word, A)), (Ok(None), Ok(None)));
        signal(&word, false);
        assert_eq!(enter(&word, B), Ok(Some(A)), "the other is still blocked");
        leave(&word, false);
        signal(&word, false);
        assert_eq!(enter(&word, B), Ok(None));
    }

    #[test]
    fn a_signal_that_nobody_waits_for_counts_for_nothing() {
        let word = word();
        signal(&word, false);
        signal(&word, true);
        assert_eq!(enter(&word, A), Ok(None));
        assert_eq!(enter(&word, B), Ok(Some(A)));
    }

    #[test]
    fn deadlines_end_waits_too() {
        let word = word();
        assert_eq!(enter(&word, A), Ok(None));
        signal(&word, true);
        leave(&word, false);
        assert_eq!(enter(&word, B), Ok(None));
        leave(&word, false);
        leave(&word, false);
        assert_eq!(enter(&word, A), Ok(None), "one more has left than came");
    }

    #[test]
    fn waits_past_the_most_are_not_counted() {
        let word = word();
        for _ in 0..MOST {
            assert_eq!(enter(&word, A), Ok(None));
        }
        assert_eq!(enter(&word, B), Err(()));
        signal(&word, true);
        leave(&word, true);
        assert_eq!(enter(&word, B), Ok(None));
        assert_eq!(Waits::of(word.load(Relaxed)).waits, MOST);
    }
}
