//! The lowest byte of a word, changed alone, for platforms whose words are the atomics of `core`: as [`Word`](super::Word) has
//! it, with instructions where the machine has better ones.

pub use super::arch::{
    clear_byte as clear, compare_exchange_byte as compare_exchange, swap_byte as swap,
};

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicU32;
    use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

    use super::*;

    #[test]
    fn the_other_bytes_stay() {
        let word = AtomicU32::new(0xabcd_ef01);
        assert_eq!(compare_exchange(&word, 2, 3, Acquire), Err(1));
        assert_eq!(compare_exchange(&word, 1, 3, Acquire), Ok(1));
        assert_eq!(swap(&word, 7, Acquire), 3);
        assert_eq!(word.load(Relaxed), 0xabcd_ef07);
        clear(&word, Release);
        assert_eq!(word.load(Relaxed), 0xabcd_ef00);
    }
}
