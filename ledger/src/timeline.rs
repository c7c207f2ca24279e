//! The timeline: what threads waited for and held, in time, as far as there is room for it.
//!
//! It is a ring of events in chunks. Each thread takes a chunk by one atomic addition and fills it alone, so threads share no cache
//! line. Once the ring is full, a chunk is taken that was filled before, and its events are overwritten one by one. In front of the
//! ring lies a board of the longest waits for locks, which stay. A chunk begins with the name of its thread, so that a name is there
//! as long as an event is that needs it.
//!
//! A thread can lose the processor while it writes an event, for so long that another thread comes to the same chunk. So a writer
//! claims an event before it writes it, and leaves it alone if another has claimed it. A reader may copy an event while it is
//! being written: a check sum says whether all of its words are of one event.

use core::mem::size_of;
use core::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64, fence};

use crate::layout::PAGE;

/// Events of a chunk, which is a page.
pub const CHUNK_EVENTS: usize = PAGE / size_of::<Event>();

/// Waits and holds of a chunk: its first event is the name of its thread.
pub const CHUNK_DEEDS: usize = CHUNK_EVENTS - 1;

/// Extents that the ring can have.
pub const EXTENTS: usize = 256;

/// Waits for locks that stay, the longest.
pub const WORST: usize = CHUNK_EVENTS;

/// Bytes of the head and of the longest waits behind it.
pub const HEAD_BYTES: usize = 2 * PAGE;

/// Least and most bytes of a ring.
pub const LEAST_BYTES: u64 = 64 << 10;
/// See [`LEAST_BYTES`].
pub const MOST_BYTES: u64 = 512 << 20;

/// What the ring is, and where it lies. It begins zeroed.
#[repr(C)]
#[derive(Debug)]
pub struct Timeline {
    /// Chunks of the ring.
    pub chunks: AtomicU32,
    /// Chunks of an extent.
    pub extent_chunks: AtomicU32,
    /// Chunks that threads have taken so far: number `n` is the one at place `n % chunks`. Changes.
    pub taken: AtomicU64,
    /// Chunks that have storage: the first ones. Changes.
    pub stored: AtomicU32,
    /// Not used.
    pub reserved: u32,
    /// A shorter wait is not among the longest, ticks. Changes.
    pub worst_least: AtomicU64,
    /// File offset of each extent, 0 if there is none yet. Change.
    pub extents: [AtomicU64; EXTENTS],
}

const _: () = assert!(size_of::<Timeline>() <= PAGE && PAGE.is_multiple_of(size_of::<Event>()));

/// Values of [`Event::state`].
pub mod event_state {
    /// The event is whole.
    pub const WRITTEN: u32 = 1;
    /// A thread writes it.
    pub const CLAIMED: u32 = 2;
}

/// Values of [`Event::kind`].
pub mod event_kind {
    /// A wait. Its site says for what.
    pub const WAIT: u16 = 1;
    /// A lock was held.
    pub const HOLD: u16 = 2;
    /// The thread had a name then: its bytes are those of the address and of `when`, in this order.
    pub const NAME: u16 = 3;
}

/// Bits of [`Event::flags`].
pub mod event_flag {
    /// A wait that was given up, or a trial that ran out of time.
    pub const GAVE_UP: u16 = 1;
    /// A hold: a thread waited for the lock when it ended.
    pub const WAITED_FOR: u16 = 2;
    /// A hold that others can share: for reading.
    pub const SHARED: u16 = 4;
    /// `when` is CLOCK_MONOTONIC, nanoseconds, and no ticks.
    pub const WHEN_NS: u16 = 8;
    /// A wait for a lock.
    pub const LOCK: u16 = 16;
    /// A wait at a barrier: the thread came last, so that all went on.
    pub const CAME_LAST: u16 = 32;
}

/// Something that a thread did, from a moment to another. An element of the ring, and of the longest waits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// One of [`event_state`]; 0 if there has been none here.
    pub state: u32,
    /// Kernel id of the thread.
    pub tid: u32,
    /// One of [`event_kind`].
    pub kind: u16,
    /// [`event_flag`] bits.
    pub flags: u16,
    /// Where: [`crate::rows::meter::Site`].
    pub site: u32,
    /// What was waited for or held: the address of the lock, condition variable, semaphore or futex. 0 if it is not known.
    pub addr: u64,
    /// When it began, ticks; 0 of a hold whose beginning is not known.
    pub begin: u64,
    /// When it ended, ticks.
    pub end: u64,
    /// Kernel id of the thread that held the lock when a wait for it began, 0 if that is not known.
    pub holder: u32,
    /// Where that thread took it, 0 if that is not known.
    pub holder_site: u32,
    /// When the wait was ended by another thread, 0 if that is not known: when the last holder let the lock go, or when the signal
    /// was given.
    pub when: u64,
    /// Kernel id of the thread that ended it, 0 if that is not known.
    pub by: u32,
    /// Check sum of the other fields but the state.
    pub check: u32,
}

const _: () = assert!(size_of::<Event>() == 64);

impl Event {
    /// A thread has this name, NUL padded, at the time `now`.
    pub fn named(tid: u32, name: [u8; 16], now: u64) -> Self {
        let [addr, when] = [&name[..8], &name[8..]].map(|half| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(half);
            u64::from_le_bytes(bytes)
        });
        Self { tid, kind: event_kind::NAME, addr, when, begin: now, end: now, ..Self::default() }
    }

    /// The name that it gives a thread, NUL padded.
    pub fn name(&self) -> Option<[u8; 16]> {
        let mut name = [0; 16];
        name[..8].copy_from_slice(&self.addr.to_le_bytes());
        name[8..].copy_from_slice(&self.when.to_le_bytes());
        (self.kind == event_kind::NAME).then_some(name)
    }

    /// How long it was, ticks.
    pub fn ticks(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }

    /// What `check` has to be.
    fn sum(&self) -> u32 {
        let words = [
            u64::from(self.tid) << 32 | u64::from(self.site),
            u64::from(self.kind) << 16 | u64::from(self.flags),
            self.addr,
            self.begin,
            self.end,
            u64::from(self.holder) << 32 | u64::from(self.holder_site),
            self.when,
            u64::from(self.by),
        ];
        // An odd factor, and a shift between: each word changes the sum, and so does their order.
        let sum = words.iter().fold(0x9e37_79b9_7f4a_7c15, |sum: u64, word| {
            let mixed = (sum ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
            mixed ^ mixed >> 32
        });
        sum as u32
    }

    /// All of it is of one event.
    pub fn is_whole(&self) -> bool {
        self.state == event_state::WRITTEN && self.check == self.sum()
    }
}

/// Writes an event over what is there. False: another thread is writing there, and nothing is done.
///
/// # Safety
/// `at` is a mapped event that is only accessed by this function, and by atomics.
pub unsafe fn write(at: *mut Event, event: &Event) -> bool {
    // SAFETY: by contract `at` is mapped; the state is its first word, aligned.
    let state = unsafe { AtomicU32::from_ptr(&raw mut (*at).state) };
    // Acquire pairs with the Release below, of the thread that wrote here before: its stores come before ours.
    if state.swap(event_state::CLAIMED, AcqRel) == event_state::CLAIMED {
        return false;
    }
    // A reader that copies any of the stores below, and the state before them, finds the check sum wrong. That the state is
    // claimed first saves it the trouble.
    fence(Release);
    let event = Event { check: event.sum(), ..*event };
    // SAFETY: by contract `at` is mapped; its words are aligned, and accessed by atomics alone. Relaxed: the Release below publishes
    // them.
    unsafe {
        AtomicU32::from_ptr(&raw mut (*at).tid).store(event.tid, Relaxed);
        let how = u32::from(event.kind) | u32::from(event.flags) << 16;
        AtomicU32::from_ptr((&raw mut (*at).kind).cast()).store(how, Relaxed);
        AtomicU32::from_ptr(&raw mut (*at).site).store(event.site, Relaxed);
        AtomicU64::from_ptr(&raw mut (*at).addr).store(event.addr, Relaxed);
        AtomicU64::from_ptr(&raw mut (*at).begin).store(event.begin, Relaxed);
        AtomicU64::from_ptr(&raw mut (*at).end).store(event.end, Relaxed);
        AtomicU32::from_ptr(&raw mut (*at).holder).store(event.holder, Relaxed);
        AtomicU32::from_ptr(&raw mut (*at).holder_site).store(event.holder_site, Relaxed);
        AtomicU64::from_ptr(&raw mut (*at).when).store(event.when, Relaxed);
        AtomicU32::from_ptr(&raw mut (*at).by).store(event.by, Relaxed);
        AtomicU32::from_ptr(&raw mut (*at).check).store(event.check, Relaxed);
    }
    // Pairs with the Acquire above, and with that of a reader: the event is whole.
    state.store(event_state::WRITTEN, Release);
    true
}

const _: () = assert!(cfg!(target_endian = "little"), "kind and flags are stored as one word");

/// How many chunks a ring of so many bytes has, and each of its extents.
pub fn shape(bytes: u64) -> (u32, u32) {
    let chunks = bytes.clamp(LEAST_BYTES, MOST_BYTES) as usize / PAGE;
    let per_extent = chunks.div_ceil(EXTENTS).next_power_of_two().max(LEAST_EXTENT);
    (chunks as u32, per_extent as u32)
}

/// Chunks of the smallest extent: few small pieces, and little room that is not used.
const LEAST_EXTENT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        Event { tid: 7, kind: event_kind::WAIT, site: 3, begin: 10, end: 30, ..Event::default() }
    }

    #[test]
    fn an_event_is_whole_or_none() {
        let mut place = Event::default();
        assert!(!place.is_whole());
        // SAFETY: a variable, aligned, that nobody else has.
        assert!(unsafe { write(&raw mut place, &event()) });
        assert!(place.is_whole());
        assert_eq!((place.tid, place.site, place.ticks()), (7, 3, 20));
        for changed in [
            Event { tid: 8, ..place },
            Event { end: 31, ..place },
            Event { kind: event_kind::HOLD, ..place },
            Event { begin: place.end, end: place.begin, ..place },
            Event { state: event_state::CLAIMED, ..place },
        ] {
            assert!(!changed.is_whole(), "{changed:?}");
        }
    }

    #[test]
    fn a_name_comes_back_as_it_was() {
        let name = *b"fifteen letters\0";
        assert_eq!(Event::named(7, name, 5).name(), Some(name));
        assert_eq!(event().name(), None);
    }

    #[test]
    fn a_claimed_event_is_left_alone() {
        let mut place = Event { state: event_state::CLAIMED, ..event() };
        let before = place;
        // SAFETY: a variable, aligned, that nobody else has.
        assert!(!unsafe { write(&raw mut place, &Event { tid: 9, ..event() }) });
        assert_eq!(place, before);
    }

    #[test]
    fn a_ring_of_any_size_has_extents_enough() {
        for bytes in [0, 1, LEAST_BYTES, 1 << 20, 16 << 20, (16 << 20) + 5, 100 << 20, u64::MAX] {
            let (chunks, each) = shape(bytes);
            assert!(chunks as usize * PAGE >= LEAST_BYTES as usize);
            assert!(chunks.div_ceil(each) as usize <= EXTENTS, "{bytes}");
        }
    }
}
