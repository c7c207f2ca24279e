//! The verdicts on return addresses of lock calls: one lock-free table of the whole process.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_ledger::site;

use super::step::Step;

/// Whether the function that contains a return address returns with the lock taken there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not known yet.
    Undecided,
    /// It does not: the lock is its own business, and the address says who wanted it.
    Plain,
    /// It does: it was called for the lock, and its caller says who wanted it.
    Wrapper,
}

/// Releases within the function after which it counts as plain. A function that keeps the lock only
/// on some of its paths has that many chances to show it.
const MOST_STAYS: u64 = 8;

/// Acquisitions without a verdict, because their releases were not seen or on another stack, after
/// which the function counts as plain: each of them costs more than one that is decided.
const MOST_TRIALS: u64 = 64;

/// A word of the table: address << 16 | details. Free if 0. The details are a wrapper's [`Step`],
/// or one of the marks below; an undecided address' also have trials << 4 | stays.
const SLOTS: usize = 1 << 16;
static TABLE: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];

/// Slots that are looked at for one address. If none is free it counts as plain.
const PROBES: usize = 32;

const ADDRESS: u32 = 16;
const DETAILS: u64 = (1 << ADDRESS) - 1;
const PLAIN: u64 = Step::END;
const UNDECIDED: u64 = 2 * Step::END;
const COUNTS: u64 = UNDECIDED - 1;
const TRIAL: u64 = 1 << 4;
const STAY: u64 = 1;

/// The verdict in a word that is not free.
fn verdict_in(word: u64) -> Verdict {
    match word & DETAILS {
        PLAIN => Verdict::Plain,
        UNDECIDED.. => Verdict::Undecided,
        _ => Verdict::Wrapper,
    }
}

fn with(word: u64, details: u64) -> u64 {
    word & !DETAILS | details
}

// Every access to the table is Relaxed: a word says nothing about other memory, and two threads
// that decide at once agree or, where they do not, either is right.

#[inline(always)]
fn first_slot(address: u64) -> usize {
    (address.wrapping_mul(site::MIX) >> 48) as usize
}

/// The word of `address`, or the free one that could be. `None` if there is no room.
fn find(address: u64) -> Option<(&'static AtomicU64, u64)> {
    if address >> (64 - ADDRESS) != 0 {
        return None;
    }
    let first = first_slot(address);
    (first..first + PROBES).find_map(|i| {
        let slot = &TABLE[i % SLOTS];
        let word = slot.load(Relaxed);
        (word == 0 || word >> ADDRESS == address).then_some((slot, word))
    })
}

/// To be called at start, before any thread. No call returns to 0, but a walk may come to it, and a
/// free slot would be taken for its step.
pub fn start() {
    TABLE[first_slot(0)].store(PLAIN, Relaxed);
}

/// The verdict on `address`.
#[inline(always)]
pub fn of(address: u64) -> Verdict {
    let word = TABLE[first_slot(address)].load(Relaxed);
    if word >> ADDRESS == address { verdict_in(word) } else { of_displaced(address) }
}

#[cold]
#[inline(never)]
fn of_displaced(address: u64) -> Verdict {
    match find(address) {
        None => Verdict::Plain,
        Some((_, 0)) => Verdict::Undecided,
        Some((_, word)) => verdict_in(word),
    }
}

/// The step from a wrapper's frame at `address` to its caller's, if both are known and the address
/// is where the table has it first. Any other answer is no step that can be taken.
#[inline(always)]
pub fn step(address: u64) -> Step {
    // What is another address' is too large now.
    Step::from_bits(TABLE[first_slot(address)].load(Relaxed) ^ address << ADDRESS)
}

/// `address` is a wrapper's: sees to it that [`step`] knows the way on.
#[cold]
pub fn learn(address: u64) {
    let unknown = Step::UNKNOWN.bits();
    if find(address).is_some_and(|(_, word)| word & DETAILS == unknown) {
        let step = Step::look_up(address).bits();
        update(address, |word| if word & DETAILS == unknown { with(word, step) } else { word });
    }
}

/// Applies `change` to the word of `address`; gives the new verdict.
fn update(address: u64, change: impl Fn(u64) -> u64) -> Verdict {
    loop {
        let Some((slot, old)) = find(address) else { return Verdict::Plain };
        let new = change(if old == 0 { address << ADDRESS | UNDECIDED } else { old });
        if slot.compare_exchange(old, new, Relaxed, Relaxed).is_ok() {
            return verdict_in(new);
        }
    }
}

/// A lock is about to be taken at `address`, and its release may decide.
#[cold]
pub fn tried(address: u64) -> Verdict {
    update(address, |word| match verdict_in(word) {
        Verdict::Undecided if (word & COUNTS) / TRIAL >= MOST_TRIALS => with(word, PLAIN),
        Verdict::Undecided => word + TRIAL,
        _ => word,
    })
}

/// A lock taken at `address` was released before the function returned.
#[cold]
pub fn stayed(address: u64) {
    update(address, |word| match verdict_in(word) {
        Verdict::Undecided if word % TRIAL >= MOST_STAYS - 1 => with(word, PLAIN),
        Verdict::Undecided => word + STAY,
        _ => word,
    });
}

/// A lock taken at `address` was held when the function had returned.
#[cold]
pub fn escaped(address: u64) {
    update(address, |word| match verdict_in(word) {
        Verdict::Wrapper => word,
        _ => with(word, Step::UNKNOWN.bits()),
    });
}

/// Forgets what is known of addresses in `[from, to)`: other code may come to lie there.
pub fn forget(from: u64, to: u64) {
    for slot in &TABLE {
        let word = slot.load(Relaxed);
        if word != 0 && (from..to).contains(&(word >> ADDRESS)) {
            // Lost to a thread that decides at this moment, it forgets at the next unloading.
            let _ = slot.compare_exchange(word, with(word, UNDECIDED), Relaxed, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One table for all tests: each has addresses of its own.

    #[test]
    fn a_few_stays_make_plain() {
        for _ in 1..MOST_STAYS {
            stayed(0x1000);
            assert_eq!(of(0x1000), Verdict::Undecided);
        }
        stayed(0x1000);
        assert_eq!(of(0x1000), Verdict::Plain);
    }

    #[test]
    fn one_escape_makes_a_wrapper_for_good() {
        stayed(0x2000);
        escaped(0x2000);
        for _ in 0..2 * MOST_STAYS {
            stayed(0x2000);
        }
        assert_eq!(of(0x2000), Verdict::Wrapper);
        assert_eq!(tried(0x2000), Verdict::Wrapper);
    }

    #[test]
    fn trials_without_end_end() {
        for _ in 0..MOST_TRIALS {
            assert_eq!(tried(0x3000), Verdict::Undecided);
        }
        assert_eq!(tried(0x3000), Verdict::Plain);
    }

    #[test]
    fn what_is_unloaded_is_forgotten() {
        escaped(0x4000);
        escaped(0x5000);
        forget(0x4000, 0x5000);
        assert_eq!(of(0x4000), Verdict::Undecided);
        assert_eq!(of(0x5000), Verdict::Wrapper);
    }

    #[test]
    fn addresses_of_one_slot_are_kept_apart() {
        let first = first_slot(0x6000);
        let others: Vec<u64> =
            (0x6001..).filter(|&a| first_slot(a) == first).take(PROBES).collect();
        escaped(0x6000);
        for &address in &others {
            stayed(address);
        }
        assert_eq!(of(0x6000), Verdict::Wrapper);
        assert_eq!(of(others[0]), Verdict::Undecided);
        assert_eq!(of(others[PROBES - 1]), Verdict::Plain, "no room");
        assert_eq!(of(1 << 48), Verdict::Plain, "no address");
    }
}
