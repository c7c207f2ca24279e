//! A ledger that changes each time that it is read.

use std::io;
use std::mem::offset_of;

use lockwright_ledger::live::Source;
use lockwright_ledger::{Header, Ledger};

/// The bytes of a ledger, and how many removals it has had.
struct Restless(Vec<u8>, u32);

impl Source for Restless {
    fn read(&mut self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.1 += 2;
        let word = offset_of!(Header, removals);
        self.0[word..word + 4].copy_from_slice(&self.1.to_ne_bytes());
        bytes.copy_from_slice(&self.0[at as usize..at as usize + bytes.len()]);
        Ok(())
    }

    fn stored(&mut self) -> u64 {
        self.0.len() as u64
    }

    fn pause(&mut self) {}
}

/// What a reader gets of a ledger with these bytes, `len` with those that have no storage, whose process
/// removes rows all the time.
pub fn copy(bytes: Vec<u8>, len: u64) -> Ledger {
    Ledger::copy(&mut Restless(bytes, 0), len).expect("a ledger")
}
