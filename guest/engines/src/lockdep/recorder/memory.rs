//! The memory of a live thread in addition to its row: a cache of the chains that it has validated,
//! and an array of held locks. Those of threads that have ended are handed to later ones.

use core::ptr;

use lockwright_ledger::Writer;
use lockwright_ledger::rows::Held;

use crate::held::HeldStack;
use crate::lockdep::thread::Cache;

/// Elements of a thread's first array of held locks; the first stands for "nothing held". Few
/// threads hold more, and small arrays share a page of the ledger.
pub(super) const FIRST_HELD: u32 = 16;

/// Elements of the next, which has a page of its own: the ledger takes no less back.
const SECOND_HELD: u32 = 64;

/// Elements of the array that follows one of `capacity`.
pub(super) fn next_capacity(capacity: u32) -> u32 {
    (capacity * 2).max(SECOND_HELD)
}

/// Memory that no thread has.
pub(super) struct Memory {
    /// What [`crate::lockdep::Core::lend`] got, until a thread has it.
    lent: Option<&'static mut Cache>,
    /// Caches, linked by address through their first word.
    caches: u64,
    /// First arrays, linked by file offset through their first word.
    arrays: u64,
}

/// Bytes of an array.
const fn bytes(capacity: u32) -> usize {
    HeldStack::<Held>::bytes(capacity)
}

impl Memory {
    pub const fn new() -> Self {
        Self { lent: None, caches: 0, arrays: 0 }
    }

    pub fn lend(&mut self, cache: &'static mut Cache) {
        self.lent = Some(cache);
    }

    /// The address of a cache. What it remembers is another thread's, whose keys begin otherwise.
    pub fn cache(&mut self, writer: &mut Writer) -> Option<u64> {
        if self.caches != 0 {
            let at = self.caches as *mut u64;
            // SAFETY: a cache that was given back. 0 is no key, as the link might be one.
            self.caches = unsafe { at.replace(0) };
            return Some(at as u64);
        }
        if let Some(lent) = self.lent.take() {
            return Some(ptr::from_mut(lent) as u64);
        }
        writer.alloc(size_of::<Cache>()).map(|offset| writer.at(offset) as u64)
    }

    /// Takes a cache back.
    ///
    /// # Safety
    /// It is from [`Memory::cache`], and nobody uses it.
    pub unsafe fn give_cache(&mut self, at: u64) {
        // SAFETY: by contract `at` came from `cache`, and nobody uses it, so its first word may
        // hold the link.
        unsafe { (at as *mut u64).write(self.caches) };
        self.caches = at;
    }

    /// The file offset of a first array, zeroed.
    pub fn array(&mut self, writer: &mut Writer) -> Option<u64> {
        if self.arrays == 0 {
            return writer.alloc(bytes(FIRST_HELD));
        }
        let offset = self.arrays;
        let at = writer.at(offset);
        // SAFETY: a first array that was given back, whose first word links to the next.
        unsafe {
            self.arrays = at.cast::<u64>().read();
            ptr::write_bytes(at, 0, bytes(FIRST_HELD));
        }
        Some(offset)
    }

    /// Takes an array back.
    ///
    /// # Safety
    /// It has that capacity, and nobody uses it.
    pub unsafe fn give_array(&mut self, writer: &mut Writer, offset: u64, capacity: u32) {
        if capacity != FIRST_HELD {
            return writer.free(offset, bytes(capacity));
        }
        // SAFETY: by contract nobody uses the array at `offset`, so its first word may hold the
        // link.
        unsafe { writer.at(offset).cast::<u64>().write(self.arrays) };
        self.arrays = offset;
    }
}
