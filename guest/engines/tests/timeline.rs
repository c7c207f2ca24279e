//! The timeline's ring: what it keeps, what it leaves out and counts, and that no reader sees parts of two events.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockmeter::{Kept, LockMeter, MeterThread};
use lockwright_ledger::rows::meter::Meter;
use lockwright_ledger::timeline::{
    CHUNK_DEEDS, CHUNK_EVENTS, Event, Timeline, WORST, event_flag, event_kind,
};
use lockwright_ledger::{Header, Ledger, Writer, layout::PAGE};

/// Ticks of an event that is long enough to be kept always.
const LONG: u64 = 1 << 17;

struct Host {
    meter: LockMeter,
    writer: Writer,
    base: *const u8,
    len: usize,
    /// The name that threads have now.
    name: [u8; 16],
}

impl Host {
    fn new(pages: usize, timeline_bytes: u64) -> Self {
        let words = vec![0u64; (pages + 1) * PAGE / 8].leak();
        let base = (words.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
        let len = pages * PAGE;
        let fill = |header: &Header| header.timeline_bytes.store(timeline_bytes, Relaxed);
        // SAFETY: the words are leaked and zeroed, and `base` is the first page boundary in them.
        let writer = unsafe { Writer::create(base, len, |_, _| Ok(()), fill) }.unwrap();
        Self { meter: LockMeter::new(), writer, base, len, name: *b"first\0\0\0\0\0\0\0\0\0\0\0" }
    }

    fn thread(&mut self, tid: u32) -> &'static mut MeterThread {
        let thread = self.meter.thread_start(&mut self.writer, tid, 0).unwrap();
        // SAFETY: a row of the leaked ledger; the test uses one reference at a time.
        let thread = unsafe { &mut *thread };
        self.meter.pending_memory(&mut self.writer, thread);
        thread
    }

    /// What the library does with an event.
    fn add(&mut self, thread: &mut MeterThread, event: &Event) {
        // SAFETY: the header of the leaked ledger.
        let header = unsafe { &*self.base.cast::<Header>() };
        if event.flags & event_flag::LOCK != 0 {
            self.meter.keep_worst(header, &Event { tid: thread.tid(), ..*event });
        }
        if !thread.admits(event) {
            return;
        }
        loop {
            let has_room = match thread.keep_event(header, event, || self.name) {
                Kept::Done => return,
                Kept::NoRing => self.meter.make_timeline(&mut self.writer),
                Kept::NoStorage(place) => self.meter.store_chunk(&mut self.writer, place),
            };
            if !has_room {
                return thread.leave_out();
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: the leaked buffer; nobody writes meanwhile.
        unsafe { std::slice::from_raw_parts(self.base, self.len) }.to_vec()
    }

    fn ledger(&self) -> Ledger {
        Ledger::from_bytes(self.bytes()).unwrap()
    }
}

fn wait(begin: u64, ticks: u64) -> Event {
    let (kind, flags) = (event_kind::WAIT, event_flag::LOCK);
    Event { kind, flags, site: 1, addr: 8, begin, end: begin + ticks, ..Event::default() }
}

fn left_out(ledger: &Ledger) -> u64 {
    ledger.rows::<Meter>().map(|(_, meter)| meter.left_out).sum()
}

#[test]
fn without_a_timeline_there_is_none() {
    assert_eq!(Host::new(64, 0).ledger().events(), None);
}

#[test]
fn what_fits_is_there_once_with_its_thread() {
    let mut host = Host::new(4096, 1 << 20);
    let (first, second) = (host.thread(7), host.thread(8));
    for i in 0..300 {
        host.add(first, &wait(i * 10 * LONG, LONG + i));
        host.add(second, &wait(i * 10 * LONG + 5, LONG + i));
    }
    let ledger = host.ledger();
    let found = ledger.events().unwrap();
    assert_eq!((found.events.len(), found.overwritten, found.torn), (600, 0, 0));
    assert_eq!(found.events.iter().filter(|event| event.tid == 7).count(), 300);
    assert!(found.events.is_sorted_by_key(|event| event.end));
    assert_eq!(left_out(&ledger), 0);
    // The longest are those that came last.
    let worst: Vec<u64> = found.worst.iter().map(Event::ticks).collect();
    let expected: Vec<u64> = (0..300).rev().flat_map(|i| [LONG + i; 2]).take(WORST).collect();
    assert_eq!(worst, expected);
}

#[test]
fn a_full_ring_has_the_latest_and_the_longest() {
    let mut host = Host::new(4096, 64 << 10);
    let thread = host.thread(7);
    let events = 20_000;
    for i in 0..events {
        // The second is the longest by far.
        let ticks = if i == 1 { 50 * LONG } else { LONG };
        host.add(thread, &wait(i * 100 * LONG, ticks));
    }
    let found = host.ledger().events().unwrap();
    let ring = (64 << 10) / size_of::<Event>() / CHUNK_EVENTS * CHUNK_DEEDS;
    assert!((ring - CHUNK_DEEDS..=ring + WORST).contains(&found.events.len()));
    let all = found.overwritten + found.events.len() as u64;
    assert!((events..events + CHUNK_DEEDS as u64 + WORST as u64).contains(&all), "{all}");
    assert_eq!(found.events.last().unwrap().end, (events - 1) * 100 * LONG + LONG);
    assert_eq!(found.worst[0].begin, 100 * LONG);
    assert!(found.events.contains(&found.worst[0]));
}

#[test]
fn of_short_ones_a_thread_keeps_a_few_in_each_period_and_counts_the_others() {
    let mut host = Host::new(4096, 1 << 20);
    let thread = host.thread(7);
    const PERIOD: u64 = 1 << 25;
    for period in 1..4 {
        for i in 0..1000 {
            host.add(thread, &wait(period * PERIOD + i * 100, 50));
        }
        host.add(thread, &wait(period * PERIOD + 200_000, LONG));
    }
    let ledger = host.ledger();
    let found = ledger.events().unwrap();
    let short = found.events.iter().filter(|event| event.ticks() < LONG).count() as u64;
    let long = found.events.iter().filter(|event| event.ticks() >= LONG).count();
    assert_eq!((long, left_out(&ledger)), (3, 3 * (1000 - 64)));
    // Some of those that were left out may be among the longest.
    assert!((3 * 64..=3 * 64 + WORST as u64).contains(&short), "{short}");
}

/// A chunk begins with its thread's name. So the last one is there, however often the ring was overwritten, and what a thread is called
/// when it ends comes last.
#[test]
fn names_stay_as_long_as_what_they_name() {
    let mut host = Host::new(4096, 64 << 10);
    let (first, second) = (host.thread(7), host.thread(8));
    host.add(first, &wait(0, LONG));
    host.name = *b"second\0\0\0\0\0\0\0\0\0\0";
    for i in 1..20_000 {
        host.add(second, &wait(i * 10 * LONG, LONG));
    }
    let names = |host: &Host| host.ledger().events().unwrap().names;
    assert!(names(&host).iter().all(|it| *it == (8, host.name)) && !names(&host).is_empty());
    // SAFETY: the header of the leaked ledger.
    let header = unsafe { &*host.base.cast::<Header>() };
    let last = *b"last\0\0\0\0\0\0\0\0\0\0\0\0";
    second.keep_name(header, last, 20_000 * 10 * LONG);
    assert_eq!(names(&host).last(), Some(&(8, last)));
    // A thread without events in the ring has no place for one.
    let third = host.thread(9);
    third.keep_name(header, last, 0);
    assert!(names(&host).iter().all(|it| it.0 == 8));
}

/// A thread that writes seldom, while others go round the ring.
#[test]
fn a_thread_whose_chunk_was_overtaken_takes_another() {
    let mut host = Host::new(4096, 64 << 10);
    let (seldom, often) = (host.thread(7), host.thread(8));
    host.add(seldom, &wait(0, LONG));
    for i in 1..5000 {
        host.add(often, &wait(i * 10 * LONG, LONG));
    }
    host.add(seldom, &wait(60_000 * LONG, LONG));
    host.add(often, &wait(70_000 * LONG, LONG));
    let found = host.ledger().events().unwrap();
    let of: Vec<u32> = found.events.iter().rev().take(2).map(|event| event.tid).collect();
    assert_eq!(of, [8, 7]);
}

#[test]
fn a_ledger_without_room_counts_what_it_leaves_out() {
    // The ring of 64 KiB takes an eighth of it at most, and there is less.
    let mut host = Host::new(20, 64 << 10);
    let thread = host.thread(7);
    for i in 0..3000 {
        host.add(thread, &wait(i * 10 * LONG, LONG));
    }
    let ledger = host.ledger();
    let found = ledger.events().unwrap();
    assert!(left_out(&ledger) > 0);
    assert!(found.events.len() as u64 + left_out(&ledger) + found.overwritten >= 3000);
}

/// Whatever bytes a copy has, the reader neither panics nor takes parts of two events for one.
#[test]
fn a_torn_or_forged_ring_loses_events_and_nothing_else() {
    let mut host = Host::new(128, 64 << 10);
    let thread = host.thread(7);
    let mut written = HashSet::new();
    for i in 0..2000 {
        let event = wait(i * 10 * LONG, LONG + i);
        written.insert((event.begin, event.end));
        host.add(thread, &event);
    }
    let whole = host.bytes();
    let head = host.ledger().header().timeline as usize;
    let mut random = 1u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % below
    };
    for round in 0..120 {
        let mut bytes = whole.clone();
        for _ in 0..1 + round % 40 {
            // In the head, in an event, or anywhere behind.
            let at = match next(3) {
                0 => head + next(size_of::<Timeline>()),
                1 => head + PAGE + next(PAGE),
                _ => head + next(whole.len() - head),
            };
            bytes[at] = next(256) as u8;
        }
        if round % 3 == 0 {
            // Parts of one event over another, as a copy that is made meanwhile has them.
            let [from, to] = [0, 1].map(|_| head + PAGE + 64 * next(64));
            let word = 8 * next(7);
            let moved = whole[from + word..from + word + 8].to_vec();
            bytes[to + word..to + word + 8].copy_from_slice(&moved);
        }
        if round % 7 == 0 {
            bytes.truncate(head + next(whole.len() - head));
        }
        if let Ok(ledger) = Ledger::from_bytes(bytes)
            && let Some(found) = ledger.events()
        {
            for event in found.events {
                assert!(written.contains(&(event.begin, event.end)), "{event:?}");
            }
        }
    }
}
