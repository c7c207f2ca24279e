//! Identities by address, for what cannot carry a stamp: robust and process-shared mutexes, and
//! everything if the C library's layout is not the one we know.
//!
//! Written under the core's lock, read without. A full table is replaced by one twice the size; old
//! ones stay mapped, because somebody may be reading them (their sizes add up to less than the
//! last).

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};

use lockwright_engines::lockdep::Ident;

use crate::os::sys;

#[repr(C)]
struct Slot {
    /// Address, 0 while the slot is free. Never changes once set.
    key: AtomicU64,
    /// Instance and class, 0 if the address means nothing now.
    value: AtomicU64,
}

#[repr(C)]
struct Table {
    capacity: u64,
    used: AtomicU64,
    slots: [Slot; 0],
}

const FIRST: u64 = 1024;

/// A map from addresses to two words of 32 bits.
pub struct SideTable {
    table: AtomicPtr<Table>,
}

impl SideTable {
    /// An empty table.
    pub const fn new() -> Self {
        Self { table: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// The value stored for `key`.
    pub fn get(&self, key: u64) -> Option<Ident> {
        // Acquire pairs with the Release in `grow`: the table's slots are filled.
        let table = self.table.load(Acquire);
        // SAFETY: null or a table that stays mapped.
        let table = unsafe { table.as_ref() }?;
        // Acquire pairs with the Release in `put`.
        let value = table.slot(key)?.value.load(Acquire);
        (value != 0).then_some(Ident(value))
    }

    /// Stores a value. To be called under the core's lock.
    pub fn insert(&self, key: u64, ident: Ident) {
        self.put(key, ident.0);
    }

    /// The value stored for `key`, to be changed in place by those who agree what it means.
    pub fn word(&self, key: u64) -> Option<&'static AtomicU64> {
        // Acquire pairs with the Release in `grow`: the table's slots are filled.
        // SAFETY: null or a table that stays mapped.
        let table = unsafe { self.table.load(Acquire).as_ref() }?;
        Some(&table.slot(key)?.value)
    }

    /// Hands everything over to `other`, and is empty. Only where no other thread is.
    pub fn move_to(&self, other: &Self) {
        other.table.store(self.table.swap(core::ptr::null_mut(), Relaxed), Relaxed);
    }

    /// Forgets a value. To be called under the core's lock.
    pub fn remove(&self, key: u64) {
        if self.get(key).is_some() {
            self.put(key, 0);
        }
    }

    /// Forgets all. Only where no other thread is.
    pub fn clear(&self) {
        // A page that is not written to is none for the kernel to copy.
        if !self.table.load(Relaxed).is_null() {
            self.table.store(core::ptr::null_mut(), Relaxed);
        }
    }

    /// There are values for keys in `[from, to)`.
    pub fn has_any(&self, from: u64, to: u64) -> bool {
        // Acquire pairs with the Release in `grow`: the table's slots are filled.
        // SAFETY: null or a table that stays mapped.
        let table = unsafe { self.table.load(Acquire).as_ref() };
        table.is_some_and(|table| table.of(from, to).next().is_some())
    }

    /// Calls `f` with each key in `[from, to)` that has a value, and with that.
    pub fn each(&self, from: u64, to: u64, mut f: impl FnMut(u64, Ident)) {
        // Acquire pairs with the Release in `grow`: the table's slots are filled.
        // SAFETY: null or a table that stays mapped.
        if let Some(table) = unsafe { self.table.load(Acquire).as_ref() } {
            let slots = table.of(from, to);
            slots.for_each(|slot| f(slot.key.load(Relaxed), Ident(slot.value.load(Relaxed))));
        }
    }

    /// Forgets all values for keys in `[from, to)`. To be called under the core's lock.
    pub fn remove_range(&self, from: u64, to: u64) {
        // SAFETY: null or a table that stays mapped; nobody replaces it meanwhile.
        if let Some(table) = unsafe { self.table.load(Relaxed).as_ref() } {
            table.of(from, to).for_each(|slot| slot.value.store(0, Release));
        }
    }

    fn put(&self, key: u64, value: u64) {
        // SAFETY: null or a table that stays mapped.
        let mut table = unsafe { self.table.load(Relaxed).as_ref() };
        if table.is_none_or(|t| (t.used.load(Relaxed) + 1) * 4 > t.capacity * 3) {
            table = self.grow();
        }
        if let Some(table) = table {
            table.put(key, value);
        }
    }

    #[cold]
    fn grow(&self) -> Option<&'static Table> {
        // SAFETY: the word is null or points to a table that stays mapped.
        let old = unsafe { self.table.load(Relaxed).as_ref() };
        let capacity = old.map_or(FIRST, |old| old.capacity * 2);
        let bytes = size_of::<Table>() + capacity as usize * size_of::<Slot>();
        let at = sys::map_zeroed(bytes).cast::<Table>();
        if at.is_null() {
            return None;
        }
        // SAFETY: the mapping is zeroed, which is a valid table, large enough for it, and known to
        // nobody else yet.
        let new = unsafe {
            (*at).capacity = capacity;
            &*at
        };
        for slot in old.into_iter().flat_map(Table::slots) {
            let value = slot.value.load(Relaxed);
            if value != 0 {
                new.put(slot.key.load(Relaxed), value);
            }
        }
        // Pairs with the Acquire in `get`.
        self.table.store(at, Release);
        Some(new)
    }
}

impl Table {
    fn slots(&self) -> &[Slot] {
        // SAFETY: each table is mapped with `capacity` slots behind its header.
        unsafe { core::slice::from_raw_parts(self.slots.as_ptr(), self.capacity as usize) }
    }

    /// Slots with a value, of keys in `[from, to)`: by looking each up or by looking all through,
    /// whichever is less.
    fn of(&self, from: u64, to: u64) -> impl Iterator<Item = &Slot> {
        let is_few = to - from < self.capacity;
        let each = (from..to).take_while(move |_| is_few).filter_map(|key| self.slot(key));
        let all = self.slots().iter().take_while(move |_| !is_few);
        let of_range = move |slot: &&Slot| (from..to).contains(&slot.key.load(Relaxed));
        each.chain(all.filter(of_range)).filter(|slot| slot.value.load(Relaxed) != 0)
    }

    fn slot(&self, key: u64) -> Option<&Slot> {
        let slots = self.slots();
        let mask = slots.len() - 1;
        let mut i = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize & mask;
        for _ in 0..slots.len() {
            // Acquire pairs with the Release of the key in `put`.
            match slots[i].key.load(Acquire) {
                0 => return None,
                found if found == key => return Some(&slots[i]),
                _ => i = (i + 1) & mask,
            }
        }
        None
    }

    fn put(&self, key: u64, value: u64) {
        if let Some(slot) = self.slot(key) {
            slot.value.store(value, Release);
            return;
        }
        let slots = self.slots();
        let mask = slots.len() - 1;
        let mut i = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize & mask;
        while slots[i].key.load(Relaxed) != 0 {
            i = (i + 1) & mask;
        }
        slots[i].value.store(value, Release);
        slots[i].key.store(key, Release);
        self.used.fetch_add(1, Relaxed);
    }
}
