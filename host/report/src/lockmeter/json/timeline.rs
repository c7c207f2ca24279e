//! How much there is of a timeline, and its longest waits, for machines. The files of `--timeline` have all of it.

use serde::Serialize;

use super::values::place_of;
use lockwright_analysis::lockmeter::timeline::{Lock, Ring, Slice, SliceKind, Thread, Timeline};

#[derive(Serialize)]
pub struct TimelineOut<'r> {
    waits: usize,
    holds: usize,
    hand_overs: usize,
    processes: Vec<RingOut>,
    locks: Vec<LockOut>,
    worst: Vec<WorstOut<'r>>,
}

#[derive(Serialize)]
struct RingOut {
    process: usize,
    events: u64,
    overwritten: u64,
    left_out: u64,
    torn: u64,
    from_ns: u64,
}

#[derive(Serialize)]
struct LockOut {
    process: usize,
    lock: usize,
    addr: u64,
    waited_ns: u64,
}

#[derive(Serialize)]
struct WorstOut<'r> {
    process: usize,
    pid: u32,
    tid: u32,
    thread: Option<&'r str>,
    lock: Option<usize>,
    site: Option<usize>,
    addr: u64,
    begun_ns: u64,
    waited_ns: u64,
    over: bool,
    timed_out: bool,
    holder: Option<HolderOut>,
    ended_by: Option<EndedOut>,
}

#[derive(Serialize)]
struct HolderOut {
    tid: u32,
    site: Option<usize>,
}

#[derive(Serialize)]
struct EndedOut {
    tid: u32,
    at_ns: u64,
}

pub fn timeline(timeline: &Timeline) -> TimelineOut<'_> {
    let worst = timeline.worst.iter().filter_map(|&place| timeline.at(place));
    TimelineOut {
        waits: timeline.count(SliceKind::Wait),
        holds: timeline.count(SliceKind::Hold),
        hand_overs: timeline.hand_overs().count(),
        processes: timeline.rings.iter().map(ring).collect(),
        locks: timeline.locks.iter().map(lock).collect(),
        worst: worst.map(|(thread, slice)| one(timeline, thread, slice)).collect(),
    }
}

fn ring(ring: &Ring) -> RingOut {
    let Ring { process, events, overwritten, left_out, torn, from_ns } = *ring;
    RingOut { process, events, overwritten, left_out, torn, from_ns }
}

fn lock(lock: &Lock) -> LockOut {
    let Lock { process, class, addr, waited_ns } = *lock;
    LockOut { process, lock: class, addr, waited_ns }
}

fn one<'r>(timeline: &'r Timeline, thread: &'r Thread, slice: &Slice) -> WorstOut<'r> {
    let (lock, site, _) = place_of(slice.at);
    let ended = slice.ended_by.and_then(|by| Some((timeline.threads.get(by.thread)?, by.at_ns)));
    WorstOut {
        process: thread.process,
        pid: thread.pid,
        tid: thread.tid,
        thread: thread.name.as_deref(),
        lock,
        site,
        addr: slice.addr,
        begun_ns: slice.begin_ns,
        waited_ns: slice.ns(),
        over: !slice.is_unfinished,
        timed_out: slice.gave_up,
        holder: slice
            .holder
            .map(|holder| HolderOut { tid: holder.tid, site: place_of(holder.at).1 }),
        ended_by: ended.map(|(by, at_ns)| EndedOut { tid: by.tid, at_ns }),
    }
}
