//! From the events in ledgers to slices of threads.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::Thread as ThreadRow;
use lockwright_ledger::rows::meter::Meter;
use lockwright_ledger::timeline::{Event, event_flag, event_kind};

use super::barriers;
use super::slices::{HandOver, Holder, Lock, Place, Ring, Slice, SliceKind, Thread, Timeline};
use crate::lockmeter::model::clock::Ticks;
use crate::lockmeter::model::site_table::SiteTable;
use crate::lockmeter::model::{At, Clock, Waiter};

/// Locks that have a track of their own: more than a reader can look at.
const MOST_LOCKS: usize = 100;

/// Longest waits that are listed.
const WORST: usize = 64;

/// No time is later: two of them can be added.
const LATEST: u64 = i64::MAX as u64 / 2;

/// A timeline that is being made.
#[derive(Debug, Default)]
pub struct Builder {
    /// When the run began, CLOCK_MONOTONIC.
    start_ns: u64,
    timeline: Timeline,
    /// By process and kernel id. The number is that of the thread as long as they have no order.
    numbers: BTreeMap<(usize, u32), usize>,
}

/// What a wait or hold was of.
#[derive(Clone, Copy)]
struct Moments<'m> {
    ticks: &'m Ticks,
    start_ns: u64,
}

impl Moments<'_> {
    /// A reading of the clock as a time of the timeline.
    fn at(self, reading: u64) -> u64 {
        self.since(self.ticks.monotonic_ns(reading))
    }

    fn since(self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.start_ns).min(LATEST)
    }
}

impl Builder {
    /// The run began at `start_ns`, CLOCK_MONOTONIC.
    pub fn new(start_ns: u64) -> Self {
        Self { start_ns, ..Self::default() }
    }

    /// Adds what a process recorded. `at` has the sites of its ledger.
    pub(in crate::lockmeter) fn add(
        &mut self,
        ledger: &Ledger,
        process: usize,
        ticks: &Ticks,
        at: &SiteTable,
    ) {
        // Without a clock no event has a time.
        if ticks.clock == Clock::Unknown {
            return;
        }
        let Some(events) = ledger.events() else { return };
        let pid = ledger.header().pid;
        let moments = Moments { ticks, start_ns: self.start_ns };
        let left_out =
            ledger.rows::<Meter>().fold(0u64, |sum, (_, meter)| sum.saturating_add(meter.left_out));
        let from = events.events.iter().map(|event| moments.at(event.begin)).min();
        self.timeline.rings.push(Ring {
            process,
            events: events.events.len() as u64,
            overwritten: events.overwritten,
            left_out,
            torn: events.torn,
            from_ns: from.unwrap_or(0),
        });
        for event in &events.events {
            let slice = self.slice(event, (process, pid), moments, at);
            let thread = self.thread(process, pid, event.tid);
            self.timeline.threads[thread].slices.push(slice);
        }
        // Where lockdep watches, too, it sees each change of a name.
        let by_lockdep = ledger.rows::<ThreadRow>().map(|(_, row)| (row.tid, row.name));
        for (tid, name) in events.names.into_iter().chain(by_lockdep) {
            let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
            if let Some(&thread) = self.numbers.get(&(process, tid)).filter(|_| !name.is_empty()) {
                let name = String::from_utf8_lossy(name).into_owned();
                self.timeline.threads[thread].name = Some(name);
            }
        }
    }

    /// Adds a wait that is not over. Its process began at `start_ns`, CLOCK_MONOTONIC.
    pub(in crate::lockmeter) fn add_unfinished(&mut self, waiter: &Waiter, start_ns: u64) {
        let is_recorded = self.timeline.rings.iter().any(|ring| ring.process == waiter.process);
        let (Some(begun), Some(waited)) = (waiter.begun_ns, waiter.waited_ns) else { return };
        if !is_recorded {
            return;
        }
        let begin_ns = start_ns.saturating_sub(self.start_ns).saturating_add(begun as u64);
        let begin_ns = begin_ns.min(LATEST);
        let holder = waiter.holders.first().map(|holder| {
            let at = match (waiter.at, holder.site) {
                (At::Lock { lock, .. }, Some(site)) => At::Lock { lock, site },
                _ => At::Unknown,
            };
            Holder { tid: holder.tid, at }
        });
        let thread = self.thread(waiter.process, waiter.pid, waiter.tid);
        self.timeline.threads[thread].slices.push(Slice {
            kind: SliceKind::Wait,
            begin_ns,
            end_ns: begin_ns.saturating_add(waited as u64).min(LATEST),
            at: waiter.at,
            addr: waiter.addr,
            lock: None,
            holder,
            ended_by: None,
            gave_up: false,
            is_unfinished: true,
            is_shared: false,
            is_waited_for: false,
            came_last: false,
        });
    }

    /// The number of a thread, which is made if there is none.
    fn thread(&mut self, process: usize, pid: u32, tid: u32) -> usize {
        let threads = &mut self.timeline.threads;
        *self.numbers.entry((process, tid)).or_insert_with(|| {
            threads.push(Thread { process, pid, tid, name: None, slices: Vec::new() });
            threads.len() - 1
        })
    }

    fn slice(
        &mut self,
        event: &Event,
        (process, pid): (usize, u32),
        moments: Moments<'_>,
        at: &SiteTable,
    ) -> Slice {
        let is = |flag: u16| event.flags & flag != 0;
        let (begin_ns, end_ns) = (moments.at(event.begin), moments.at(event.end));
        let is_wait = event.kind == event_kind::WAIT;
        let holder = (is_wait && event.holder != 0)
            .then(|| Holder { tid: event.holder, at: at.get(event.holder_site) });
        let when = match is(event_flag::WHEN_NS) {
            true => moments.since(event.when),
            false => moments.at(event.when),
        };
        // What begins and ends within the same nanosecond has no room for a moment between.
        let is_ended = is_wait && event.by != 0 && event.when != 0 && begin_ns < end_ns;
        let ended_by = is_ended.then(|| HandOver {
            thread: self.thread(process, pid, event.by),
            at_ns: when.clamp(begin_ns, end_ns - 1),
        });
        Slice {
            kind: if is_wait { SliceKind::Wait } else { SliceKind::Hold },
            begin_ns,
            end_ns: end_ns.max(begin_ns),
            at: at.get(event.site),
            addr: event.addr,
            lock: None,
            holder,
            ended_by,
            gave_up: is(event_flag::GAVE_UP),
            is_unfinished: false,
            is_shared: is(event_flag::SHARED),
            is_waited_for: is(event_flag::WAITED_FOR),
            came_last: is_wait && is(event_flag::CAME_LAST),
        }
    }

    /// The timeline; `None` if no process recorded any.
    pub fn finish(self) -> Option<Timeline> {
        let Self { mut timeline, numbers, .. } = self;
        if timeline.rings.is_empty() {
            return None;
        }
        sort_threads(&mut timeline, &numbers);
        for thread in &mut timeline.threads {
            thread.slices.sort_by_key(|slice| {
                (slice.begin_ns, Reverse(slice.end_ns), slice.kind, slice.at, slice.addr)
            });
        }
        barriers::end_waits(&mut timeline);
        give_tracks(&mut timeline);
        let waits = timeline.slices().filter(|(_, slice)| slice.is_lock_wait());
        let mut worst: Vec<(Reverse<u64>, u64, Place)> =
            waits.map(|(place, slice)| (Reverse(slice.ns()), slice.begin_ns, place)).collect();
        worst.sort_unstable();
        worst.truncate(WORST);
        timeline.worst = worst.into_iter().map(|(_, _, place)| place).collect();
        Some(timeline)
    }
}

/// Puts the threads in the order of their processes and ids.
fn sort_threads(timeline: &mut Timeline, numbers: &BTreeMap<(usize, u32), usize>) {
    let mut moved = vec![0; timeline.threads.len()];
    numbers.values().enumerate().for_each(|(new, &old)| moved[old] = new);
    timeline.threads.sort_by_key(|thread| (thread.process, thread.tid));
    let slices = timeline.threads.iter_mut().flat_map(|thread| &mut thread.slices);
    for ended in slices.filter_map(|slice| slice.ended_by.as_mut()) {
        ended.thread = moved[ended.thread];
    }
}

/// Gives the locks that were waited for longest a track each, and says so in their slices.
fn give_tracks(timeline: &mut Timeline) {
    let key = |process: usize, slice: &Slice| match slice.at {
        At::Lock { lock, .. } if slice.addr != 0 => Some((process, lock, slice.addr)),
        _ => None,
    };
    let mut waited: HashMap<(usize, usize, u64), u64> = HashMap::new();
    for thread in &timeline.threads {
        for slice in thread.slices.iter().filter(|slice| slice.kind == SliceKind::Wait) {
            if let Some(key) = key(thread.process, slice) {
                let sum = waited.entry(key).or_default();
                *sum = sum.saturating_add(slice.ns());
            }
        }
    }
    let mut waited: Vec<_> = waited.into_iter().collect();
    waited.sort_unstable_by_key(|&(key, ns)| (Reverse(ns), key));
    waited.truncate(MOST_LOCKS);
    let tracks: HashMap<_, usize> =
        waited.iter().enumerate().map(|(track, &(key, _))| (key, track)).collect();
    timeline.locks = waited
        .into_iter()
        .map(|((process, class, addr), waited_ns)| Lock { process, class, addr, waited_ns })
        .collect();
    for thread in &mut timeline.threads {
        for slice in &mut thread.slices {
            slice.lock = key(thread.process, slice).and_then(|key| tracks.get(&key).copied());
        }
    }
}
