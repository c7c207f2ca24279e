//! The slab: records cut out of mappings, which go back when all of their records have.

use core::ptr::null_mut;

use super::super::lock::Locked;
use super::super::tracker::RECORD;
use super::env::{Env, Trouble};
use super::stack::{Free, List};

/// Bytes of a mapping, and its alignment: a record's mapping is found from its address.
pub const SLAB: usize = 64 << 10;

/// What a mapping begins with.
#[repr(C, align(64))]
struct Header {
    /// Neighbours in the list of those that have free records.
    next: *mut Header,
    prev: *mut Header,
    /// Records given back.
    free: List,
    /// Records cut off so far; those behind were never touched.
    cut: u32,
    /// Records in use.
    used: u32,
    /// Era of the mapping.
    era: u32,
}

/// Records of a mapping.
const RECORDS: u32 = ((SLAB - size_of::<Header>()) / RECORD) as u32;

const _: () = assert!(RECORD.is_multiple_of(align_of::<u64>()) && RECORD >= size_of::<Free>());

struct Inner {
    /// Mappings that have free records.
    partial: *mut Header,
    /// How many of these have no record in use.
    empty: u32,
    /// Era of the oldest mapping that is still ours.
    since: u32,
}

/// All mappings.
pub struct Slab {
    inner: Locked<Inner>,
}

// SAFETY: mappings are reached under the lock only.
unsafe impl Sync for Slab {}

impl Slab {
    pub const fn new() -> Self {
        Self { inner: Locked::new(Inner { partial: null_mut(), empty: 0, since: 0 }) }
    }

    /// Takes `n` records, or fewer if that needs another mapping than one.
    pub fn take(&self, n: u32, env: &Env) -> Result<List, Trouble> {
        let mut list = List::new();
        let mut new: *mut Header = null_mut();
        loop {
            let mut inner = self.inner.lock(&env.patience).ok_or(Trouble::Stuck)?;
            if !new.is_null() {
                // SAFETY: a fresh mapping of ours.
                unsafe { inner.adopt(new, env.patience.era) };
            }
            inner.take(n, &mut list);
            drop(inner);
            if list.len() > 0 {
                return Ok(list);
            }
            new = (env.source.map)(SLAB).cast();
            if new.is_null() {
                return Err(Trouble::NoMemory);
            }
        }
    }

    /// Gives records back, and mappings that have none in use; one of those is kept.
    pub fn give(&self, mut list: List, env: &Env) -> Result<(), Trouble> {
        let mut unused: *mut Header = null_mut();
        let mut inner = self.inner.lock(&env.patience).ok_or(Trouble::Stuck)?;
        while let Some(record) = list.pop() {
            // SAFETY: every record given back came from `take`, so it lies in a live slab of this
            // allocator.
            let empty = unsafe { inner.give(record) };
            if let Some(slab) = empty {
                // SAFETY: it is linked nowhere now.
                unsafe { (*slab).next = unused };
                unused = slab;
            }
        }
        drop(inner);
        while !unused.is_null() {
            let slab = unused;
            // SAFETY: no record of it is in use, and it is in no list.
            unsafe {
                unused = (*slab).next;
                (env.source.unmap)(slab.cast(), SLAB);
            }
        }
        Ok(())
    }

    /// Takes the lock for good.
    #[cfg(test)]
    pub fn hold(&self, env: &Env) {
        core::mem::forget(self.inner.lock(&env.patience));
    }

    /// In a forked child: if another thread was in here, its mappings are in no known state, and
    /// are left alone.
    pub fn forked(&self, parent: u32, env: &Env) {
        let abandoned = self.inner.is_held(parent);
        if let Some(mut inner) = self.inner.lock(&env.patience)
            && abandoned
        {
            *inner = Inner { partial: null_mut(), empty: 0, since: env.patience.era };
        }
    }
}

impl Inner {
    /// # Safety
    /// `slab` is a fresh mapping.
    unsafe fn adopt(&mut self, slab: *mut Header, era: u32) {
        let fresh =
            Header { next: null_mut(), prev: null_mut(), free: List::new(), cut: 0, used: 0, era };
        // SAFETY: by contract `slab` is a fresh, writable mapping that no other thread knows yet.
        unsafe {
            slab.write(fresh);
            self.link(slab);
        }
        self.empty += 1;
    }

    /// # Safety
    /// `slab` is ours and not in the list.
    unsafe fn link(&mut self, slab: *mut Header) {
        // SAFETY: by contract `slab` is ours and not in the list; the list's mappings are live.
        unsafe {
            ((*slab).prev, (*slab).next) = (null_mut(), self.partial);
            if let Some(next) = self.partial.as_mut() {
                next.prev = slab;
            }
        }
        self.partial = slab;
    }

    /// # Safety
    /// `slab` is in the list.
    unsafe fn unlink(&mut self, slab: *mut Header) {
        // SAFETY: by contract `slab` is in the list; the list's mappings are live.
        unsafe {
            let (prev, next) = ((*slab).prev, (*slab).next);
            match prev.as_mut() {
                Some(prev) => prev.next = next,
                None => self.partial = next,
            }
            if let Some(next) = next.as_mut() {
                next.prev = prev;
            }
        }
    }

    fn take(&mut self, n: u32, list: &mut List) {
        while list.len() < n
            // SAFETY: the list's mappings are live, and only we have them.
            && let Some(slab) = unsafe { self.partial.as_mut() }
        {
            if slab.used == 0 {
                self.empty -= 1;
            }
            while list.len() < n && slab.used < RECORDS {
                let record = slab.free.pop().unwrap_or_else(|| {
                    let at = size_of::<Header>() + slab.cut as usize * RECORD;
                    slab.cut += 1;
                    // SAFETY: within the mapping: all used or given back are fewer than there are.
                    unsafe { (&raw mut *slab).cast::<u8>().add(at) }
                });
                slab.used += 1;
                // SAFETY: the record was on the slab's free list or never handed out, so nobody has
                // it.
                unsafe { list.push(record) };
            }
            if slab.used == RECORDS {
                // SAFETY: it was the first of the list.
                unsafe { self.unlink(self.partial) };
            }
        }
    }

    /// A mapping that is not needed any more, if that was its last record.
    ///
    /// # Safety
    /// `record` is from `take`.
    unsafe fn give(&mut self, record: *mut u8) -> Option<*mut Header> {
        let at = record.map_addr(|addr| addr & !(SLAB - 1)).cast::<Header>();
        // SAFETY: mappings are aligned to their size and begin with their header.
        let slab = unsafe { &mut *at };
        if slab.era < self.since {
            return None;
        }
        if slab.used == RECORDS {
            // SAFETY: it is ours, and full ones are in no list.
            unsafe { self.link(at) };
        }
        // SAFETY: the same mapping; the record is nobody's now.
        unsafe {
            (*at).free.push(record);
            (*at).used -= 1;
            if (*at).used > 0 {
                return None;
            }
            if self.empty == 0 {
                self.empty = 1;
                return None;
            }
            self.unlink(at);
        }
        Some(at)
    }
}
