//! The timeline of a ledger, as it is read: its events, checked one by one.

use std::mem::{offset_of, size_of};
use std::vec::Vec;

use crate::layout::PAGE;
use crate::reader::{Ledger, u32_at, u64_at};
use crate::timeline::{CHUNK_DEEDS, EXTENTS, Event, HEAD_BYTES, Timeline, WORST, event_kind};

/// What a timeline has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// The events of the ring, and those of the longest waits for locks that are not there any more; in the order of their ends.
    pub events: Vec<Event>,
    /// The names of threads: by kernel id, NUL padded. Of two of one thread the later comes later.
    pub names: Vec<(u32, [u8; 16])>,
    /// The longest waits for locks, the longest first.
    pub worst: Vec<Event>,
    /// Events at the most that were overwritten by later ones.
    pub overwritten: u64,
    /// Events that were being written, or are damaged.
    pub torn: u64,
}

impl Ledger {
    /// The timeline; `None` if none was asked for.
    pub fn events(&self) -> Option<Events> {
        let header = self.header();
        (header.timeline_bytes != 0).then(|| self.events_at(header.timeline))
    }

    /// The events of the timeline whose head is at `head`: as far as they are in the file.
    fn events_at(&self, head: u64) -> Events {
        let mut found = Events::default();
        let bytes = self.bytes();
        let Ok(head) = usize::try_from(head) else { return found };
        let Some(end) = head.checked_add(HEAD_BYTES) else { return found };
        if head == 0 || end > bytes.len() {
            return found;
        }
        let worst = event_bytes(&bytes[head + PAGE..end]).take(WORST);
        found.worst = whole(worst, &mut found.torn).collect();
        found.worst.sort_by_key(|event| (u64::MAX - event.ticks(), event.begin, event.tid));

        let chunks = u32_at(bytes, head + offset_of!(Timeline, chunks));
        let per_extent = u32_at(bytes, head + offset_of!(Timeline, extent_chunks)) as usize;
        let taken = u64_at(bytes, head + offset_of!(Timeline, taken));
        let beyond = taken.saturating_sub(chunks.into());
        found.overwritten = beyond.saturating_mul(CHUNK_DEEDS as u64);
        // In a forged file all extents may be the same one: together they have no more than the file has.
        let mut left = bytes.len();
        for i in 0..EXTENTS {
            let at = u64_at(bytes, head + offset_of!(Timeline, extents) + 8 * i);
            let Some(from) = usize::try_from(at).ok().filter(|&at| at != 0) else { continue };
            let Some(extent) = bytes.get(from..) else { continue };
            let len = extent.len().min(per_extent.saturating_mul(PAGE)).min(left);
            left -= len;
            let torn = &mut found.torn;
            found.events.extend(whole(event_bytes(&extent[..len]), torn));
        }
        let order =
            |event: &Event| (event.end, event.begin, event.tid, event.kind, event.site, event.addr);
        found.events.extend(&found.worst);
        found.events.sort_by_key(order);
        found.events.dedup();
        found.names =
            found.events.iter().filter_map(|event| Some((event.tid, event.name()?))).collect();
        found.events.retain(|event| event.kind != event_kind::NAME);
        found
    }
}

fn event_bytes(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.chunks_exact(size_of::<Event>())
}

/// The events that are whole. Counts those that are not.
fn whole<'b>(
    events: impl Iterator<Item = &'b [u8]>,
    torn: &mut u64,
) -> impl Iterator<Item = Event> {
    events.map(decode).filter(move |event| {
        let is_whole = event.is_whole()
            && matches!(event.kind, event_kind::WAIT | event_kind::HOLD | event_kind::NAME)
            && event.begin <= event.end;
        *torn += u64::from(!is_whole && event.state != 0);
        is_whole
    })
}

fn decode(bytes: &[u8]) -> Event {
    let how = u32_at(bytes, offset_of!(Event, kind));
    Event {
        state: u32_at(bytes, offset_of!(Event, state)),
        tid: u32_at(bytes, offset_of!(Event, tid)),
        kind: how as u16,
        flags: (how >> 16) as u16,
        site: u32_at(bytes, offset_of!(Event, site)),
        addr: u64_at(bytes, offset_of!(Event, addr)),
        begin: u64_at(bytes, offset_of!(Event, begin)),
        end: u64_at(bytes, offset_of!(Event, end)),
        holder: u32_at(bytes, offset_of!(Event, holder)),
        holder_site: u32_at(bytes, offset_of!(Event, holder_site)),
        when: u64_at(bytes, offset_of!(Event, when)),
        by: u32_at(bytes, offset_of!(Event, by)),
        check: u32_at(bytes, offset_of!(Event, check)),
    }
}
