//! The timeline: waits and holds in time, if the user asked for them. All here is on slow paths.

use core::sync::atomic::{AtomicU64, Ordering::*};

use lockwright_engines::lockmeter::{CellRef, For, Kept, MeterThread, Ring};
use lockwright_ledger::Header;
use lockwright_ledger::timeline::{Event, event_flag, event_kind};

use super::meter::{header, is_full, prepare, with_meter, with_space};
use super::{clock, tls};
use crate::os::sys;

/// Bytes that the user asked for, 0 if no timeline.
static BYTES: AtomicU64 = AtomicU64::new(0);

/// A timeline is asked for: at start, before any thread.
pub fn ask(bytes: u64) {
    BYTES.store(bytes, Relaxed);
}

/// A ledger begins.
pub fn start(header: &Header) {
    header.timeline_bytes.store(BYTES.load(Relaxed), Relaxed);
}

/// A timeline was asked for.
#[inline(always)]
pub fn is_wanted() -> bool {
    BYTES.load(Relaxed) != 0
}

/// A wait of `cell` for `what`, of so many ticks, ended at `ended`.
#[cold]
pub fn wait(thread: &mut MeterThread, cell: CellRef, what: &For, ticks: u64, ended: u64) {
    let event = Event {
        kind: event_kind::WAIT,
        flags: what.flags,
        site: cell.site(),
        addr: what.addr,
        begin: ended.saturating_sub(ticks),
        end: ended,
        holder: what.holder,
        holder_site: what.holder_site,
        when: what.when,
        by: what.by,
        ..Event::default()
    };
    keep(thread, &event);
}

/// The lock at `addr` (0: not known which) was held from `since` (0: not known) to `ended`.
#[cold]
pub fn hold(
    thread: &mut MeterThread,
    addr: u64,
    cell: CellRef,
    since: u64,
    ended: u64,
    flags: u16,
) {
    let begin = if since == 0 { ended } else { since.min(ended) };
    let (kind, site) = (event_kind::HOLD, cell.site());
    keep(thread, &Event { kind, flags, site, addr, begin, end: ended, ..Event::default() });
}

/// The calling thread, or the process, ends: the thread may have got a name since its last event.
pub fn ends() {
    // Asked first: a process that is not metered has no page for the rest.
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let Some(thread) = (unsafe { tls::get().as_mut() }) else { return };
    if is_wanted()
        && let Some(header) = header()
    {
        thread.keep_name(header, sys::thread_name(), clock::now());
    }
}

/// Flags of a hold.
pub fn flags(is_waited_for: bool, is_shared: bool) -> u16 {
    let waited_for = if is_waited_for { event_flag::WAITED_FOR } else { 0 };
    waited_for | if is_shared { event_flag::SHARED } else { 0 }
}

#[inline(never)]
fn keep(thread: &mut MeterThread, event: &Event) {
    let Some(header) = header() else { return };
    prepare(thread);
    if event.flags & event_flag::LOCK != 0
        && Ring::of(header).is_some_and(|ring| ring.is_among_worst(event.ticks()))
    {
        let event = Event { tid: thread.tid(), ..*event };
        with_meter(|meter, _| meter.keep_worst(header, &event));
    }
    if !thread.admits(event) {
        return;
    }
    // Once for the ring, once for the chunk's storage, and then there are both.
    for _ in 0..3 {
        let has_room = match thread.keep_event(header, event, sys::thread_name) {
            Kept::Done => return,
            _ if is_full() => false,
            Kept::NoRing => {
                with_space(thread, |meter, core, _| meter.make_timeline(core.writer()))
                    == Some(true)
            }
            Kept::NoStorage(place) => {
                with_space(thread, |meter, core, _| meter.store_chunk(core.writer(), place))
                    == Some(true)
            }
        };
        if !has_room {
            break;
        }
    }
    thread.leave_out();
}
