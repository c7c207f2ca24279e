//! The timeline, as threads write it.
//!
//! An event is written on slow paths only: after a wait, and after a hold that somebody waited for or that was long. Long events
//! are always kept: a thread has few of them, as they are long. Of short ones a thread keeps the first few of each period. The
//! periods of all threads begin at the same moments of the clock, so what is kept of a lock that is fought for all the time is
//! how all its threads did for a moment, with each hand-over, and not one event here and one there.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright_ledger::Writer;
use lockwright_ledger::layout::{Header, PAGE};
use lockwright_ledger::timeline::{Event, HEAD_BYTES, Timeline, WORST, event_state, shape, write};

use super::core::LockMeter;
use super::off_cpu::LONG;
use super::ring::{Kept, Ring};
use super::thread::MeterThread;

/// A ring takes at most one part in so many of its ledger.
const PARTS: u64 = 8;

impl MeterThread {
    /// Whether an event is to be kept. One that is not is counted.
    pub fn admits(&mut self, event: &Event) -> bool {
        let is_admitted = event.ticks() >= LONG
            || self.own_waits().is_some_and(|own| own.events.admits(event.end));
        self.row.left_out += u64::from(!is_admitted);
        is_admitted
    }

    /// Counts an event that there was no room for.
    pub fn leave_out(&mut self) {
        self.row.left_out += 1;
    }

    /// Writes an event to the ring. `name` asks for the thread's name, with which a chunk begins.
    pub fn keep_event(
        &mut self,
        header: &Header,
        event: &Event,
        name: impl FnOnce() -> [u8; 16],
    ) -> Kept {
        let Some(ring) = Ring::of(header) else { return Kept::NoRing };
        let event = Event { tid: self.row.tid, ..*event };
        let Some(own) = self.own_waits().map(|own| &own.events) else {
            self.leave_out();
            return Kept::Done;
        };
        // An event at which another thread still writes, having lost the processor, is passed over.
        while let Some(at) = own.place(&ring) {
            // SAFETY: an event of a chunk, which is accessed by `write` alone.
            if unsafe { write(at, &event) } {
                return Kept::Done;
            }
        }
        let place =
            |number: u64| (number % u64::from(ring.head.chunks.load(Relaxed)).max(1)) as u32;
        // Acquire pairs with the Release in `store_chunk`: the extents up to there.
        let is_stored = |place: u32| place < ring.head.stored.load(Acquire);
        // Relaxed: numbers, which publish nothing. The next chunk is looked at first, so that it is not taken in vain.
        let next = place(ring.head.taken.load(Relaxed));
        if !is_stored(next) {
            return Kept::NoStorage(next);
        }
        let number = ring.head.taken.fetch_add(1, Relaxed);
        let place = place(number);
        if !is_stored(place) {
            return Kept::NoStorage(place);
        }
        own.set(ring.chunk(place), number);
        if let Some(at) = own.place(&ring) {
            // SAFETY: an event of the chunk that was just taken, which is accessed by `write` alone.
            unsafe { write(at, &Event::named(event.tid, name(), event.end)) };
        }
        match own.place(&ring) {
            // SAFETY: an event of the chunk that was just taken, which is accessed by `write` alone.
            Some(at) if unsafe { write(at, &event) } => {}
            _ => self.leave_out(),
        }
        Kept::Done
    }

    /// Writes the name that the thread has now over that with which its chunk begins. A thread without events has no chunk.
    pub fn keep_name(&mut self, header: &Header, name: [u8; 16], now: u64) {
        let tid = self.row.tid;
        let Some(own) = self.own_waits().map(|own| &own.events) else { return };
        if let Some(at) = Ring::of(header).and_then(|ring| own.name_place(&ring)) {
            // SAFETY: an event of a chunk of the thread's, which is accessed by `write` alone.
            unsafe { write(at, &Event::named(tid, name, now)) };
        }
    }
}

impl LockMeter {
    /// Makes the ring, of the size that the header asks for, unless there is one. False: there is no room.
    pub fn make_timeline(&mut self, writer: &mut Writer) -> bool {
        if writer.header().timeline.load(Relaxed) != 0 {
            return true;
        }
        let bytes = writer.header().timeline_bytes.load(Relaxed).min(writer.room() / PARTS);
        let Some(offset) = writer.alloc(HEAD_BYTES) else { return false };
        let (chunks, each) = shape(bytes);
        // SAFETY: allocated just now: zeroed, a page and more, aligned; nobody else has it.
        let head = unsafe { &*writer.at(offset).cast::<Timeline>() };
        head.chunks.store(chunks, Relaxed);
        head.extent_chunks.store(each, Relaxed);
        // Pairs with the Acquire in `Ring::of`.
        writer.header().timeline.store(offset, Release);
        true
    }

    /// Gives the chunk at a place storage, and all before it. False: there is no room.
    pub fn store_chunk(&mut self, writer: &mut Writer, place: u32) -> bool {
        let offset = writer.header().timeline.load(Relaxed);
        // SAFETY: the head that `make_timeline` made, which stays mapped and has only atomics.
        let head = unsafe { &*writer.at(offset).cast::<Timeline>() };
        let each = head.extent_chunks.load(Relaxed);
        loop {
            let stored = head.stored.load(Relaxed);
            if place < stored {
                return true;
            }
            let Some(extent) = head.extents.get((stored / each) as usize) else { return false };
            let Some(at) = writer.alloc(each as usize * PAGE) else { return false };
            extent.store(at, Relaxed);
            // Pairs with the Acquire in `keep_event`: the extent is named.
            head.stored.store(stored + each, Release);
        }
    }

    /// Keeps a wait for a lock among the longest, if it is one of them. The caller's thread is `tid`.
    pub fn keep_worst(&mut self, header: &Header, event: &Event) {
        let Some(ring) = Ring::of(header) else { return };
        let (mut least, mut second) = ((u64::MAX, 0), u64::MAX);
        for i in 0..WORST {
            // SAFETY: one of the longest waits, all of which are mapped. Only the holder of the engine's lock writes them, who is
            // the caller: so it is read as it is.
            let there = unsafe { ring.worst().add(i).read() };
            let ticks = if there.state == event_state::WRITTEN { there.ticks() } else { 0 };
            if ticks < least.0 {
                (least, second) = ((ticks, i), least.0);
            } else {
                second = second.min(ticks);
            }
        }
        if event.ticks() > least.0 {
            // SAFETY: one of the longest waits, which is written by `write` alone.
            unsafe { write(ring.worst().add(least.1), event) };
            // Relaxed: a hint.
            ring.head.worst_least.store(second.min(event.ticks()), Relaxed);
        }
    }
}
