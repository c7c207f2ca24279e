//! A hash index from 64-bit keys to row ids, kept in ledger space: open addressing, linear probing,
//! doubled when three quarters full. The reader does not need it; it is rebuilt from rows by
//! nobody.
//!
//! A key is a 64-bit hash of a row's whole identity and stands for it, as the kernel's chain keys
//! do: at 10^6 rows a false match has a chance of about 3 in 10^8.

use lockwright_ledger::Writer;

/// Hash of a few words, well mixed: a key.
pub fn hash(words: &[u64]) -> u64 {
    let mut h = 0x9e37_79b9_7f4a_7c15;
    for &word in words {
        h = (h ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
        h ^= h >> 29;
        h = h.wrapping_mul(0xff51_afd7_ed55_8ccd);
        h ^= h >> 32;
    }
    h
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    id: u32,
    used: u32,
}

const FIRST_SLOTS: u64 = 16;

/// See the module.
#[derive(Default)]
pub struct Index {
    /// File offset of the slots, 0 before the first insertion.
    slots: u64,
    capacity: u64,
    len: u64,
}

impl Index {
    /// An empty index; takes no space yet.
    pub const fn new() -> Self {
        Self { slots: 0, capacity: 0, len: 0 }
    }

    fn slot(&self, writer: &Writer, i: u64) -> *mut Slot {
        writer.at(self.slots + (i & (self.capacity - 1)) * size_of::<Slot>() as u64).cast()
    }

    /// Keys stored.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The id stored under `key`.
    pub fn get(&self, writer: &Writer, key: u64) -> Option<u32> {
        if self.capacity == 0 {
            return None;
        }
        for i in self.probes(key) {
            // SAFETY: within the extent allocated for the slots, which only this index writes.
            let slot = unsafe { self.slot(writer, i).read() };
            if slot.used == 0 {
                return None;
            }
            if slot.key == key {
                return Some(slot.id);
            }
        }
        None
    }

    /// Where `key` may be. They end, though some slot is always free: a child that forked unnoticed
    /// has the same file, and may fill what its parent sees free.
    fn probes(&self, key: u64) -> impl Iterator<Item = u64> + use<> {
        let first = key >> 7;
        (0..self.capacity).map(move |n| first.wrapping_add(n))
    }

    /// Stores `id` under `key`, replacing what was there. Where there is no room to grow the entry
    /// is dropped: the row is then found no more and written again, which costs space, not truth.
    pub fn insert(&mut self, writer: &mut Writer, key: u64, id: u32) {
        if (self.len + 1) * 4 > self.capacity * 3 && !self.grow(writer) {
            return;
        }
        self.put(writer, Slot { key, id, used: 1 });
    }

    fn put(&mut self, writer: &Writer, new: Slot) {
        for i in self.probes(new.key) {
            let at = self.slot(writer, i);
            // SAFETY: `slot` stays within the extent allocated for the slots, which only this index
            // writes.
            let slot = unsafe { at.read() };
            if slot.used == 0 || slot.key == new.key {
                self.len += u64::from(slot.used == 0);
                // SAFETY: `at` is the slot just read, in the extent that only this index writes.
                unsafe { at.write(new) };
                return;
            }
        }
    }

    /// Forgets `key`.
    pub fn remove(&mut self, writer: &Writer, key: u64) {
        if self.capacity == 0 {
            return;
        }
        let mask = self.capacity - 1;
        let mut hole = None;
        for i in self.probes(key) {
            // SAFETY: `slot` stays within the extent allocated for the slots, which only this index
            // writes.
            let slot = unsafe { self.slot(writer, i).read() };
            if slot.used == 0 {
                break;
            }
            match hole {
                None if slot.key == key => hole = Some(i),
                // What follows moves up, as far as it may: no search ends at the hole that should
                // not.
                Some(at) if i.wrapping_sub(slot.key >> 7) & mask >= i.wrapping_sub(at) & mask => {
                    // SAFETY: `slot` stays within the extent allocated for the slots, which only
                    // this index writes.
                    unsafe { self.slot(writer, at).write(slot) };
                    hole = Some(i);
                }
                _ => {}
            }
        }
        if let Some(at) = hole {
            // SAFETY: `slot` stays within the extent allocated for the slots, which only this index
            // writes.
            unsafe { self.slot(writer, at).write(Slot { key: 0, id: 0, used: 0 }) };
            self.len -= 1;
        }
    }

    #[cold]
    fn grow(&mut self, writer: &mut Writer) -> bool {
        let capacity = (self.capacity * 2).max(FIRST_SLOTS);
        let bytes = |slots: u64| slots as usize * size_of::<Slot>();
        // Without room it stays as full as it is: fuller, every search would become a scan.
        let Some(slots) = writer.alloc(bytes(capacity)) else { return false };
        let old = core::mem::replace(self, Self { slots, capacity, len: 0 });
        for i in 0..old.capacity {
            // SAFETY: the slot is within the old extent, which only this index writes.
            let slot = unsafe { old.slot(writer, i).read() };
            if slot.used != 0 {
                self.put(writer, slot);
            }
        }
        if old.capacity != 0 {
            writer.free(old.slots, bytes(old.capacity));
        }
        true
    }
}
