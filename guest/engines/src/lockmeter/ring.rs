//! The timeline's ring ([`lockwright_ledger::timeline`]), and what a thread has of it.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};

use lockwright_ledger::layout::{Header, PAGE};
use lockwright_ledger::timeline::{CHUNK_EVENTS, Event, Timeline};

/// Ticks of a period, as a power of two: some 10 ms; 34 where the clock has nanoseconds.
const PERIOD: u32 = 25;

/// Short events of a period that a thread keeps.
const SHORT: u32 = 64;

/// What a thread has of the ring. Begins zeroed. Only the thread and its signal handlers change it.
#[repr(C)]
pub(super) struct OwnEvents {
    /// Address of its chunk, and in the low bits how many of its events have been taken. 0: it has none.
    next: AtomicU64,
    /// The chunk's number.
    number: AtomicU64,
    /// The last period in which it had a short event.
    period: u64,
    /// How many it has kept in it.
    short: u32,
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is in the ring, or was left out and counted.
    Done,
    /// The ring has to be made.
    NoRing,
    /// There is no storage for the chunk at this place.
    NoStorage(u32),
}

/// The ring of a ledger.
#[derive(Clone, Copy)]
pub struct Ring<'l> {
    base: *mut u8,
    pub(super) head: &'l Timeline,
}

impl<'l> Ring<'l> {
    /// The ring of the ledger that begins with `header`; `None` as long as there is none.
    pub fn of(header: &'l Header) -> Option<Self> {
        // Acquire pairs with the Release in `make_timeline`: the head is filled.
        let offset = header.timeline.load(Acquire);
        let base = core::ptr::from_ref(header).cast_mut().cast::<u8>();
        // SAFETY: an offset that the writer gave for a head lies in the mapping, which begins with the header; the head is zeroed,
        // stays mapped, and has only atomics.
        (offset != 0).then(|| Self { base, head: unsafe { &*base.add(offset as usize).cast() } })
    }

    /// A wait for a lock of so many ticks may be among the longest.
    pub fn is_among_worst(&self, ticks: u64) -> bool {
        // Relaxed: a hint.
        ticks > self.head.worst_least.load(Relaxed)
    }

    /// The longest waits.
    pub(super) fn worst(&self) -> *mut Event {
        // SAFETY: the head has a page of its own, and the longest waits the next, in one allocation.
        unsafe { core::ptr::from_ref(self.head).cast_mut().cast::<u8>().add(PAGE).cast() }
    }

    /// The chunk at a place that has storage.
    pub(super) fn chunk(&self, place: u32) -> *mut Event {
        let each = self.head.extent_chunks.load(Relaxed);
        let (extent, within) = (place / each, place % each);
        // Relaxed: published by `stored`, which the caller has looked at.
        let offset =
            self.head.extents[extent as usize].load(Relaxed) + u64::from(within) * PAGE as u64;
        // SAFETY: the place has storage, so the extent does, and it lies in the mapping.
        unsafe { self.base.add(offset as usize).cast() }
    }

    /// The chunk of that number has been taken by another thread since.
    fn is_overtaken(&self, number: u64) -> bool {
        // Relaxed: a thread that sees it late shares the chunk for a moment, which `write` allows.
        let taken = self.head.taken.load(Relaxed);
        taken.wrapping_sub(number) > u64::from(self.head.chunks.load(Relaxed))
    }
}

impl OwnEvents {
    /// A short event that ended at `end` may be kept.
    pub(super) fn admits(&mut self, end: u64) -> bool {
        let period = end >> PERIOD;
        if self.period != period {
            (self.period, self.short) = (period, 0);
        }
        self.short += 1;
        self.short <= SHORT
    }

    /// The place for the next event; `None` if there is none in the thread's chunk.
    pub(super) fn place(&self, ring: &Ring<'_>) -> Option<*mut Event> {
        // A handler of a signal that comes between has a place of its own.
        let next = self.next.fetch_add(1, Relaxed);
        let taken = (next % PAGE as u64) as usize;
        let is_there = next >= PAGE as u64
            && taken < CHUNK_EVENTS
            && !ring.is_overtaken(self.number.load(Relaxed));
        // SAFETY: `set` stored a chunk's address, which stays mapped, and the place is within.
        is_there.then(|| unsafe { ((next - taken as u64) as *mut Event).add(taken) })
    }

    /// The place of the name with which the thread's chunk begins; `None` if it has none.
    pub(super) fn name_place(&self, ring: &Ring<'_>) -> Option<*mut Event> {
        let chunk = self.next.load(Relaxed) & !(PAGE as u64 - 1);
        let is_there = chunk != 0 && !ring.is_overtaken(self.number.load(Relaxed));
        is_there.then_some(chunk as *mut Event)
    }

    /// The thread takes a chunk.
    pub(super) fn set(&self, chunk: *mut Event, number: u64) {
        self.number.store(number, Relaxed);
        self.next.store(chunk as u64, Relaxed);
    }
}
