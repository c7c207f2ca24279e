//! Numbers for locks that begin their lives, which each thread has a supply of: threads that make locks write to no line that
//! others write to.

use lockwright_engines::lockdep::Core;
use lockwright_ledger::Header;

use super::makers::{self, SUPPLY};
use crate::os::tls;

/// The next number of the calling thread's. Never 0.
#[inline]
pub fn next(header: &Header) -> u32 {
    let (number, end) = parts(tls::add_number());
    if number < end { number } else { first_of_more(header) }
}

/// A handler that comes between takes a supply of its own, of which the rest is lost.
#[cold]
fn first_of_more(header: &Header) -> u32 {
    let first = Core::next_instances(header, SUPPLY);
    makers::note_supply(first);
    tls::set_numbers(supply(first + 1, first + SUPPLY));
    first
}

/// The calling thread has none: its ledger begins.
pub fn start() {
    tls::set_numbers(0);
}

/// Numbers from `next` to below `end`, as a word that 1 can be added to.
const fn supply(next: u32, end: u32) -> u64 {
    (end as u64) << 32 | next as u64
}

const fn parts(supply: u64) -> (u32, u32) {
    (supply as u32, (supply >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supply_gives_its_numbers_and_no_others() {
        let mut word = supply(7, 9);
        let mut given = Vec::new();
        for _ in 0..4 {
            let (number, end) = parts(word);
            given.extend((number < end).then_some(number));
            word += 1;
        }
        assert_eq!(given, [7, 8]);
        // A thread begins without any.
        assert_eq!(parts(0), (0, 0));
    }
}
