//! Numbers for threads, where a platform takes threads for CPUs: dense, from 0.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Up to 64 * `WORDS` numbers. Zeroed, none is taken.
#[derive(Debug)]
#[repr(C)]
pub struct Numbers<const WORDS: usize> {
    /// The numbers in use, a bit each.
    taken: [AtomicU64; WORDS],
    /// One above the highest ever taken.
    highest: AtomicU32,
}

impl<const WORDS: usize> Numbers<WORDS> {
    /// None is taken.
    pub const fn new() -> Self {
        Self { taken: [const { AtomicU64::new(0) }; WORDS], highest: AtomicU32::new(0) }
    }

    /// Takes the lowest that is free, if there is one below `most`.
    pub fn take(&self, most: u32) -> Option<u32> {
        for (index, taken) in self.taken.iter().enumerate() {
            let mut bits = taken.load(Relaxed);
            while bits != u64::MAX {
                let bit = bits.trailing_ones();
                let number = index as u32 * 64 + bit;
                if number >= most {
                    return None;
                }
                // Acquire: pairs with the Release in `give_back`.
                bits = taken.fetch_or(1 << bit, Acquire);
                if bits & (1 << bit) == 0 {
                    // Relaxed: a bound for loops over what other orderings publish.
                    self.highest.fetch_max(number + 1, Relaxed);
                    return Some(number);
                }
            }
        }
        None
    }

    /// Gives back a number that was taken.
    pub fn give_back(&self, number: u32) {
        // Release: what was done with the storage of the number comes before its next owner's use
        // of it. Pairs with the Acquire in `take`.
        self.taken[number as usize / 64].fetch_and(!(1 << (number % 64)), Release);
    }

    /// All numbers ever taken are below this.
    pub fn bound(&self) -> u32 {
        // Relaxed: as in `take`.
        self.highest.load(Relaxed)
    }
}

impl<const WORDS: usize> Default for Numbers<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_that_is_free_up_to_the_most() {
        let numbers = Numbers::<2>::new();
        assert_eq!(numbers.bound(), 0);
        for number in 0..70 {
            assert_eq!(numbers.take(70), Some(number));
        }
        assert_eq!(numbers.take(70), None);
        numbers.give_back(65);
        numbers.give_back(3);
        assert_eq!((numbers.take(70), numbers.take(70)), (Some(3), Some(65)));
        assert_eq!((numbers.take(70), numbers.bound()), (None, 70));
        assert_eq!((70..128).find_map(|_| numbers.take(128).filter(|at| *at == 127)), Some(127));
        assert_eq!(numbers.take(u32::MAX), None, "no more than it has bits");
    }
}
