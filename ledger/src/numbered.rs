//! Tables whose rows come and go: each row carries its own number, and its place is given to a later
//! row once no row refers to it.
//!
//! A number is given once: numbers grow in the order in which rows were made, and a reference to a
//! row that is gone finds nothing, never another row. The index from numbers to places is the
//! writer's own; a reader makes its own from the rows.

use core::mem::size_of;

use crate::layout::TableId;

/// Tables that are numbered.
pub(crate) const TABLES: [TableId; 4] =
    [TableId::Threads, TableId::Segments, TableId::Holds, TableId::Awaiting];

/// A row's number and place; number 0 is a free slot.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    number: u32,
    place: u32,
}

const FIRST_SLOTS: u64 = 16;

/// What the writer knows of one numbered table. The slots lie in ledger space: open addressing,
/// linear probing, doubled when two thirds full.
#[derive(Default)]
pub(crate) struct Numbers {
    slots: *mut Slot,
    capacity: u64,
    len: u64,
    /// The number given last.
    last: u32,
    /// First of the list of places that are free, 0 if there is none.
    pub free: u32,
}

impl Numbers {
    pub const fn new() -> Self {
        Self { slots: core::ptr::null_mut(), capacity: 0, len: 0, last: 0, free: 0 }
    }

    /// Rows that there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The next number. `None` once all have been given.
    pub fn next(&self) -> Option<u32> {
        self.last.checked_add(1)
    }

    /// Bytes of the slots that are needed for one more row, if there are too few.
    pub fn wants(&self) -> Option<usize> {
        let is_full = (self.len + 1) * 3 > self.capacity * 2;
        is_full.then(|| Self::bytes((self.capacity * 2).max(FIRST_SLOTS)))
    }

    fn bytes(capacity: u64) -> usize {
        capacity as usize * size_of::<Slot>()
    }

    /// Moves to larger slots. Returns those it had, and their bytes.
    ///
    /// # Safety
    /// `slots` are zeroed bytes, as many as [`Numbers::wants`] said, aligned, and nobody else's.
    pub unsafe fn grow(&mut self, slots: *mut u8) -> Option<(*mut u8, usize)> {
        let capacity = (self.capacity * 2).max(FIRST_SLOTS);
        let (old, count) = (self.slots, self.capacity);
        (self.slots, self.capacity) = (slots.cast(), capacity);
        for i in 0..count as usize {
            // SAFETY: `i` is below the old capacity, so this reads one of the old slots.
            let slot = unsafe { old.add(i).read() };
            if slot.number != 0 {
                self.put(slot);
            }
        }
        (count != 0).then(|| (old.cast(), Self::bytes(count)))
    }

    fn home(&self, number: u32) -> u64 {
        // Numbers follow each other: unmixed, those of a later time would meet a long run of earlier.
        u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.capacity.ilog2())
    }

    fn at(&self, i: u64) -> *mut Slot {
        // SAFETY: the mask keeps the index below the capacity, so the pointer stays within the
        // slots.
        unsafe { self.slots.add((i & (self.capacity - 1)) as usize) }
    }

    fn put(&self, new: Slot) {
        let first = self.home(new.number);
        // They end, though some slot is always free: a child that forked unnoticed has the same
        // file, and may fill what its parent sees free.
        for i in first..first + self.capacity {
            // SAFETY: within the slots, which only the writer uses.
            unsafe {
                if (*self.at(i)).number == 0 {
                    self.at(i).write(new);
                    return;
                }
            }
        }
    }

    /// Records the place of the row that gets the next number. There is room ([`Numbers::wants`]).
    pub fn insert(&mut self, place: u32) {
        self.last += 1;
        self.put(Slot { number: self.last, place });
        self.len += 1;
    }

    fn find(&self, number: u32) -> Option<u64> {
        if number == 0 || self.capacity == 0 {
            return None;
        }
        let first = self.home(number);
        for i in first..first + self.capacity {
            // SAFETY: `at` stays within the slots, and only the writer, which owns this table,
            // writes them.
            match unsafe { (*self.at(i)).number } {
                0 => return None,
                it if it == number => return Some(i),
                _ => {}
            }
        }
        None
    }

    /// The place of row `number`.
    #[inline]
    pub fn place(&self, number: u32) -> Option<u32> {
        // SAFETY: `find` returned the position of a slot in use, and only the owner of this table
        // writes it.
        self.find(number).map(|i| unsafe { (*self.at(i)).place })
    }

    /// Forgets row `number`. Returns its place.
    pub fn remove(&mut self, number: u32) -> Option<u32> {
        let mut hole = self.find(number)?;
        // SAFETY: `find` returned the position of a slot in use, and only the owner of this table
        // writes it.
        let place = unsafe { (*self.at(hole)).place };
        // What follows moves up, as far as it may: no search ends at the hole that should not.
        for i in hole + 1..hole + self.capacity {
            // SAFETY: `at` stays within the slots, and only the writer, which owns this table,
            // writes them.
            let slot = unsafe { self.at(i).read() };
            if slot.number == 0 {
                break;
            }
            let mask = self.capacity - 1;
            let from_home = i.wrapping_sub(self.home(slot.number)) & mask;
            if from_home >= (i.wrapping_sub(hole) & mask) {
                // SAFETY: `hole` is a slot of this table, and `&mut self` excludes other writers.
                unsafe { self.at(hole).write(slot) };
                hole = i;
            }
        }
        // SAFETY: `hole` is a slot of this table, and `&mut self` excludes other writers.
        unsafe { self.at(hole).write(Slot { number: 0, place: 0 }) };
        self.len -= 1;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(numbers: &mut Numbers) {
        if let Some(bytes) = numbers.wants() {
            let slots = std::vec![0u64; bytes / 8].leak();
            // SAFETY: leaked, zeroed, as many as wanted.
            unsafe { numbers.grow(slots.as_mut_ptr().cast()) };
        }
    }

    #[test]
    fn numbers_are_found_until_they_are_removed() {
        let mut numbers = Numbers::new();
        let mut there = std::collections::BTreeMap::new();
        let mut random = 1u64;
        for place in 1..20_000u32 {
            grown(&mut numbers);
            let number = numbers.next().unwrap();
            numbers.insert(place);
            there.insert(number, place);
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            while there.len() > 300 + (random >> 33) as usize % 50 {
                let nth = (random >> 40) as usize % there.len();
                let (&number, &place) = there.iter().nth(nth).unwrap();
                assert_eq!(numbers.remove(number), Some(place));
                there.remove(&number);
                assert_eq!(numbers.place(number), None);
            }
        }
        assert_eq!(numbers.len(), there.len() as u64);
        assert!(there.iter().all(|(&number, &place)| numbers.place(number) == Some(place)));
        assert!(numbers.capacity <= 1024, "{}", numbers.capacity);
        assert_eq!(numbers.remove(20_001), None);
    }
}
