//! How many readers an rwlock has now, and since when, in one word
//! ([`crate::rows::meter::Readers::now_since`]): so that a reader that comes or leaves changes one.
//!
//! The lowest 18 bits are the number of readers: each adds 1 and subtracts it again. Above them is
//! when the first of them came, in units of 4 ticks modulo 2^46; 0 if its hold is not timed.

const NOW_BITS: u32 = 18;
const NOW: u64 = (1 << NOW_BITS) - 1;
const TICKS_BITS: u32 = 2;

/// How many readers there are; 0, too, while there are fewer than none, as more have left than
/// came.
pub const fn now(word: u64) -> u32 {
    let now = (word & NOW) as u32;
    if now >> (NOW_BITS - 1) == 0 { now } else { 0 }
}

/// The part of a word that says since when.
pub const fn since_in(word: u64) -> u64 {
    word & !NOW
}

/// That part, for a time in ticks; 0 if that is 0.
pub const fn since(ticks: u64) -> u64 {
    let part = ticks >> TICKS_BITS << NOW_BITS;
    if part == 0 && ticks != 0 { 1 << NOW_BITS } else { part }
}

/// The first reader's hold is timed.
pub const fn is_timed(word: u64) -> bool {
    since_in(word) != 0
}

/// Ticks from the first reader's coming to the time `now`; of more than 2^47, half a day, too few.
pub const fn ticks(word: u64, now: u64) -> u64 {
    let ticks = since(now).wrapping_sub(since_in(word)) >> NOW_BITS << TICKS_BITS;
    // The counter of another processor may lag by some ticks.
    if ticks >> (63 - NOW_BITS + TICKS_BITS) == 0 { ticks } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that has been up for long: the highest bits of its clock have no room.
    const LATE: u64 = 0xfedc_ba98_7654_3210;

    #[test]
    fn readers_come_and_leave_and_the_time_stays() {
        let word = since(LATE) + 1 + 1;
        assert_eq!((now(word), now(word - 1), now(word - 2)), (2, 1, 0));
        assert_eq!(ticks(word, LATE + 4000), 4000);
        assert_eq!(ticks(word - 1, LATE + (1 << 46)), 1 << 46);
    }

    #[test]
    fn no_time_is_a_time_of_its_own() {
        assert!(!is_timed(since(0) + 3));
        assert!([1, 3, 4, 1 << 48, LATE].into_iter().all(|ticks| is_timed(since(ticks) + 3)));
    }

    #[test]
    fn one_more_has_left_than_came() {
        let word = since(LATE) + 1;
        assert_eq!(now(word - 2), 0);
        assert_eq!(word - 2 + 1 + 1, word);
    }

    #[test]
    fn a_clock_that_lags_counts_nothing() {
        assert_eq!(ticks(since(LATE), LATE - 40), 0);
    }
}
