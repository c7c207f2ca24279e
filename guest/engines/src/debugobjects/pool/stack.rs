//! Free records: lists of them, and stacks of lists.

use core::ptr::null_mut;

use super::sizes::BATCH;

/// A free record.
#[repr(C)]
pub(in super::super) struct Free {
    next: *mut Free,
    /// In the first record of a whole batch: the batch below.
    below: *mut Free,
}

/// A list of free records, which it owns.
pub(in super::super) struct List {
    head: *mut Free,
    len: u32,
}

impl List {
    pub const fn new() -> Self {
        Self { head: null_mut(), len: 0 }
    }

    pub fn len(&self) -> u32 {
        self.len
    }

    /// # Safety
    /// The record is nobody's.
    #[inline]
    pub unsafe fn push(&mut self, record: *mut u8) {
        let record = record.cast::<Free>();
        // SAFETY: a record is aligned and large enough, and ours now.
        unsafe { (*record).next = self.head };
        self.head = record;
        self.len += 1;
    }

    #[inline]
    pub fn pop(&mut self) -> Option<*mut u8> {
        // SAFETY: the list's records are mapped, and end with null.
        let record = unsafe { self.head.as_ref() }?;
        let taken = self.head;
        self.head = record.next;
        self.len -= 1;
        Some(taken.cast())
    }

    pub fn take(&mut self) -> Self {
        core::mem::replace(self, Self::new())
    }
}

/// A stack of free records. In the shape of 2024 (`batched`) they lie in batches, in that of 2019
/// in one list; a stack keeps its shape.
pub(in super::super) struct Stack {
    /// All of them; of batches the one on top, which need not be whole.
    open: List,
    /// The topmost of the whole batches below.
    whole: *mut Free,
    batches: u32,
}

impl Stack {
    pub const fn new() -> Self {
        Self { open: List::new(), whole: null_mut(), batches: 0 }
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.open.len + self.batches * BATCH
    }

    /// # Safety
    /// The record is nobody's.
    #[inline]
    pub unsafe fn push(&mut self, record: *mut u8, batched: bool) {
        if batched && self.open.len >= BATCH {
            let open = self.open.take();
            self.push_whole(open);
        }
        // SAFETY: by this function's contract the record belongs to nobody.
        unsafe { self.open.push(record) };
    }

    #[inline]
    pub fn pop(&mut self) -> Option<*mut u8> {
        if self.open.len == 0 {
            self.open = self.pop_whole()?;
        }
        self.open.pop()
    }

    fn push_whole(&mut self, batch: List) {
        // SAFETY: a batch that is not empty, which is ours.
        unsafe { (*batch.head).below = self.whole };
        self.whole = batch.head;
        self.batches += 1;
    }

    fn pop_whole(&mut self) -> Option<List> {
        // SAFETY: whole batches are mapped, and end with null.
        let below = unsafe { self.whole.as_ref() }?.below;
        let batch = List { head: self.whole, len: BATCH };
        self.whole = below;
        self.batches -= 1;
        Some(batch)
    }

    /// Moves up to 16 records to `to`; a whole batch by one pointer, else one by one. How many?
    pub fn move_batch(&mut self, to: &mut Self, batched: bool) -> u32 {
        if let Some(batch) = self.pop_whole() {
            to.push_whole(batch);
            return BATCH;
        }
        let mut moved = 0;
        while moved < BATCH
            && let Some(record) = self.open.pop()
        {
            // SAFETY: the record was just taken off `self.open`, so nobody has it.
            unsafe { to.push(record, batched) };
            moved += 1;
        }
        moved
    }

    /// Adds a list's records.
    pub fn push_list(&mut self, mut list: List, batched: bool) {
        if batched && list.len == BATCH {
            return self.push_whole(list);
        }
        while let Some(record) = list.pop() {
            // SAFETY: the record was just taken off `list`, so nobody has it.
            unsafe { self.push(record, batched) };
        }
    }

    /// Takes up to `max` records out.
    pub fn take(&mut self, max: u32) -> List {
        if max >= self.len() && self.batches == 0 {
            return self.open.take();
        }
        let mut list = List::new();
        while list.len < max
            && let Some(record) = self.pop()
        {
            // SAFETY: `pop` just took the record off this stack, so nobody has it.
            unsafe { list.push(record) };
        }
        list
    }
}
