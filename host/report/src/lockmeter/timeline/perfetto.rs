//! The timeline for ui.perfetto.dev and trace_processor: a track for each thread, and two for each lock that was waited for, with
//! its holders and with the number of its waiters.
//!
//! trace_processor drops slices of one track that overlap, and a flow without an end vanishes. So tracks are filled by [`lanes`],
//! and both ends of a flow are written together.

use std::collections::HashMap;

use prost::Message;

use super::lanes::{Step, lanes};
use super::proto::{
    CounterDescriptor, DebugAnnotation, Interned, InternedData, ProcessDescriptor, SourceLocation,
    ThreadDescriptor, Trace, TracePacket, TrackDescriptor, TrackEvent, event_type,
};
use super::words::{self, Words};
use crate::prose::words::plain;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::{At, MeterReport};
use lockwright_analysis::lockmeter::timeline::{Slice, SliceKind, Timeline};

/// All packets are of one writer.
const SEQUENCE: u32 = 1;

/// Flags of a packet that begins a sequence, and of one that needs what was interned before.
const CLEARED: u32 = 1;
const NEEDS_INTERNED: u32 = 2;

/// Categories of events.
pub mod category {
    /// A thread waits.
    pub const WAIT: &str = "wait";
    /// A thread holds a lock.
    pub const HOLD: &str = "hold";
    /// A thread ends another's wait.
    pub const HAND_OVER: &str = "hand-over";
    /// A thread goes on that another has ended the wait of.
    pub const WAKE_UP: &str = "wake-up";
    /// A lock is held, on its own track.
    pub const HOLDER: &str = "holder";
}

/// Renders the trace.
pub fn render(report: &MeterReport) -> Vec<u8> {
    let empty = Timeline::default();
    let mut writer = Writer::new(report, report.timeline.as_ref().unwrap_or(&empty));
    writer.processes();
    writer.threads();
    writer.hand_overs();
    writer.locks();
    writer.finish()
}

/// A packet at a time. Those of one time have the order of their ranks, then that in which they were made.
struct Timed {
    time: u64,
    /// Moments that a flow begins at come before the ends of waits that it leads to.
    rank: u8,
    event: TrackEvent,
}

struct Writer<'r> {
    words: Words<'r>,
    report: &'r MeterReport,
    timeline: &'r Timeline,
    interned: Texts,
    tracks: Vec<TrackDescriptor>,
    events: Vec<Timed>,
}

/// Texts with a number each, and what has to be written of them yet.
#[derive(Default)]
struct Texts {
    names: HashMap<String, u64>,
    categories: HashMap<&'static str, u64>,
    annotations: HashMap<&'static str, u64>,
    places: HashMap<(String, String, u32), u64>,
    data: InternedData,
}

impl Texts {
    fn name(&mut self, text: String) -> u64 {
        let next = self.names.len() as u64 + 1;
        *self.names.entry(text).or_insert_with_key(|name| {
            self.data.event_names.push(Interned { iid: next, name: name.clone() });
            next
        })
    }

    fn category(&mut self, text: &'static str) -> u64 {
        let next = self.categories.len() as u64 + 1;
        *self.categories.entry(text).or_insert_with(|| {
            self.data.event_categories.push(Interned { iid: next, name: text.to_owned() });
            next
        })
    }

    fn annotation(&mut self, text: &'static str) -> u64 {
        let next = self.annotations.len() as u64 + 1;
        *self.annotations.entry(text).or_insert_with(|| {
            self.data.debug_annotation_names.push(Interned { iid: next, name: text.to_owned() });
            next
        })
    }

    fn place(&mut self, frame: &Frame) -> u64 {
        let function = plain(frame.function.as_deref().unwrap_or(""));
        let file = plain(frame.file.as_deref().unwrap_or(""));
        let line = frame.line.unwrap_or(0);
        let next = self.places.len() as u64 + 1;
        let key = (file, function, line);
        *self.places.entry(key).or_insert_with_key(|(file, function, line)| {
            let some = |text: &String| (!text.is_empty()).then(|| text.clone());
            self.data.source_locations.push(SourceLocation {
                iid: next,
                file_name: some(file),
                function_name: some(function),
                line_number: (*line != 0).then_some(*line),
            });
            next
        })
    }
}

/// Numbers of tracks.
mod uuid {
    /// Of one kind each, so that none is another's.
    const fn of(kind: u64, index: usize, lane: usize) -> u64 {
        kind << 56 | (index as u64) << 16 | lane as u64
    }

    pub const fn process(index: usize) -> u64 {
        of(1, index, 0)
    }

    pub const fn thread(index: usize, lane: usize) -> u64 {
        of(2, index, lane)
    }

    pub const fn lock(index: usize, lane: usize) -> u64 {
        of(3, index, lane)
    }

    pub const fn waiters(index: usize) -> u64 {
        of(4, index, 0)
    }
}

impl<'r> Writer<'r> {
    fn new(report: &'r MeterReport, timeline: &'r Timeline) -> Self {
        let (interned, tracks, events) = (Texts::default(), Vec::new(), Vec::new());
        Self { words: Words(report), report, timeline, interned, tracks, events }
    }

    fn processes(&mut self) {
        for ring in &self.timeline.rings {
            let Some(process) = self.report.processes.get(ring.process) else { continue };
            let process = ProcessDescriptor {
                pid: process.pid as i32,
                cmdline: process.command.iter().map(|word| plain(word)).collect(),
                process_name: self.words.process(ring.process),
            };
            let uuid = uuid::process(ring.process);
            self.tracks.push(TrackDescriptor {
                uuid,
                process: Some(process),
                ..TrackDescriptor::default()
            });
        }
    }

    fn threads(&mut self) {
        for (index, thread) in self.timeline.threads.iter().enumerate() {
            let descriptor = ThreadDescriptor {
                pid: thread.pid as i32,
                tid: thread.tid as i32,
                thread_name: words::thread(thread),
            };
            self.tracks.push(TrackDescriptor {
                uuid: uuid::thread(index, 0),
                parent_uuid: Some(uuid::process(thread.process)),
                thread: Some(descriptor),
                ..TrackDescriptor::default()
            });
            let slices = thread.slices.iter().map(|slice| (slice.begin_ns, slice.end_ns));
            for (number, lane) in lanes(slices).into_iter().enumerate() {
                let track_uuid = uuid::thread(index, number);
                if number > 0 {
                    self.tracks.push(TrackDescriptor {
                        uuid: track_uuid,
                        parent_uuid: Some(uuid::thread(index, 0)),
                        name: Some("other locks held".to_owned()),
                        ..TrackDescriptor::default()
                    });
                }
                for (time, step) in lane {
                    let event = match step {
                        Step::Begin(slice) => self.begin(&thread.slices[slice]),
                        Step::End(_) => {
                            TrackEvent { kind: event_type::SLICE_END, ..TrackEvent::default() }
                        }
                    };
                    let event = TrackEvent { track_uuid, ..event };
                    self.events.push(Timed { time, rank: 1, event });
                }
            }
        }
    }

    /// The ends of waits by other threads: a moment there, a moment here, and a flow between them. A flow to the end of a slice would
    /// be taken for one from its beginning.
    fn hand_overs(&mut self) {
        for (number, (place, slice, hand_over)) in self.timeline.hand_overs().enumerate() {
            let what = self.words.what(slice);
            let (ends, goes_on) = match slice.is_lock_wait() {
                true => (format!("releases {what}"), format!("gets {what}")),
                false => (format!("ends a wait for {what}"), format!("goes on after {what}")),
            };
            let flow = vec![number as u64 + 1];
            let from = self.moment(category::HAND_OVER, hand_over.thread, ends);
            let event = TrackEvent { flow_ids: flow.clone(), ..from };
            self.events.push(Timed { time: hand_over.at_ns, rank: 0, event });
            let to = self.moment(category::WAKE_UP, place.thread, goes_on);
            let event = TrackEvent { terminating_flow_ids: flow, ..to };
            // Behind the end of the wait.
            self.events.push(Timed { time: slice.end_ns, rank: 1, event });
        }
    }

    fn moment(&mut self, category: &'static str, thread: usize, name: String) -> TrackEvent {
        TrackEvent {
            kind: event_type::INSTANT,
            track_uuid: uuid::thread(thread, 0),
            category_iids: vec![self.interned.category(category)],
            name_iid: Some(self.interned.name(name)),
            ..TrackEvent::default()
        }
    }

    /// The beginning of a thread's slice.
    fn begin(&mut self, slice: &Slice) -> TrackEvent {
        let category = match slice.kind {
            SliceKind::Wait => category::WAIT,
            SliceKind::Hold => category::HOLD,
        };
        let mut annotations = Vec::new();
        if slice.addr != 0 {
            annotations.push(self.text("address", format!("{:#x}", slice.addr)));
        }
        if let Some(holder) = slice.holder {
            annotations.push(self.number("owner tid", holder.tid.into()));
            if let Some(place) = self.place_of(holder.at) {
                annotations.push(self.text("owner took it at", place));
            }
        }
        for (is, what) in [
            (slice.gave_up, "gave up"),
            (slice.is_unfinished, "not over"),
            (slice.is_shared, "shared"),
            (slice.is_waited_for, "waited for"),
        ] {
            if is {
                annotations.push(self.number(what, 1));
            }
        }
        let place = self.words.stack(slice.at).first();
        TrackEvent {
            kind: event_type::SLICE_BEGIN,
            category_iids: vec![self.interned.category(category)],
            name_iid: Some(self.interned.name(self.words.slice(slice))),
            debug_annotations: annotations,
            source_location_iid: place.map(|frame| self.interned.place(frame)),
            ..TrackEvent::default()
        }
    }

    fn place_of(&self, at: At) -> Option<String> {
        let frame = self.words.stack(at).first()?;
        let function = plain(frame.function.as_deref().unwrap_or("?"));
        Some(match (&frame.file, frame.line) {
            (Some(file), Some(line)) => format!("{function} ({}:{line})", plain(file)),
            _ => function,
        })
    }

    fn text(&mut self, name: &'static str, value: String) -> DebugAnnotation {
        let name_iid = self.interned.annotation(name);
        DebugAnnotation { name_iid, string_value: Some(value), int_value: None }
    }

    fn number(&mut self, name: &'static str, value: i64) -> DebugAnnotation {
        let name_iid = self.interned.annotation(name);
        DebugAnnotation { name_iid, string_value: None, int_value: Some(value) }
    }

    /// Each lock's holders and waiters.
    fn locks(&mut self) {
        let mut holds: Vec<Vec<(u64, u64, usize)>> = vec![Vec::new(); self.timeline.locks.len()];
        let mut waiters: Vec<Vec<(u64, i64)>> = vec![Vec::new(); self.timeline.locks.len()];
        for (place, slice) in self.timeline.slices() {
            let Some(lock) = slice.lock else { continue };
            match slice.kind {
                SliceKind::Hold => holds[lock].push((slice.begin_ns, slice.end_ns, place.thread)),
                SliceKind::Wait => {
                    waiters[lock].extend([(slice.begin_ns, 1), (slice.end_ns, -1)]);
                }
            }
        }
        for (index, (mut holds, mut waiters)) in holds.into_iter().zip(waiters).enumerate() {
            holds.sort_by_key(|&(begin, end, thread)| (begin, std::cmp::Reverse(end), thread));
            self.holders(index, &apart(holds));
            waiters.sort_unstable();
            self.waiters(index, &waiters);
        }
    }

    fn holders(&mut self, index: usize, holds: &[(u64, u64, usize)]) {
        let lock = self.timeline.locks[index];
        let name = self.words.lock(&lock);
        for (number, lane) in
            lanes(holds.iter().map(|hold| (hold.0, hold.1))).into_iter().enumerate()
        {
            let track_uuid = uuid::lock(index, number);
            self.tracks.push(TrackDescriptor {
                uuid: track_uuid,
                parent_uuid: Some(uuid::process(lock.process)),
                name: Some(format!("{name}: held by")),
                ..TrackDescriptor::default()
            });
            for (time, step) in lane {
                let event = match step {
                    Step::End(_) => TrackEvent {
                        kind: event_type::SLICE_END,
                        track_uuid,
                        ..TrackEvent::default()
                    },
                    Step::Begin(hold) => {
                        let thread = &self.timeline.threads[holds[hold].2];
                        TrackEvent {
                            kind: event_type::SLICE_BEGIN,
                            track_uuid,
                            category_iids: vec![self.interned.category(category::HOLDER)],
                            name_iid: Some(self.interned.name(words::who(thread))),
                            ..TrackEvent::default()
                        }
                    }
                };
                self.events.push(Timed { time, rank: 1, event });
            }
        }
    }

    fn waiters(&mut self, index: usize, changes: &[(u64, i64)]) {
        let lock = self.timeline.locks[index];
        self.tracks.push(TrackDescriptor {
            uuid: uuid::waiters(index),
            parent_uuid: Some(uuid::process(lock.process)),
            name: Some(format!("{}: waiters", self.words.lock(&lock))),
            counter: Some(CounterDescriptor { unit_name: "threads".to_owned() }),
            ..TrackDescriptor::default()
        });
        let mut count = 0;
        for (at, &(time, change)) in changes.iter().enumerate() {
            count += change;
            // Of several changes at once, what they come to.
            if changes.get(at + 1).is_some_and(|next| next.0 == time) {
                continue;
            }
            let event = TrackEvent {
                kind: event_type::COUNTER,
                track_uuid: uuid::waiters(index),
                counter_value: Some(count),
                ..TrackEvent::default()
            };
            self.events.push(Timed { time, rank: 1, event });
        }
    }

    fn finish(mut self) -> Vec<u8> {
        let mut packet = vec![TracePacket {
            trusted_packet_sequence_id: SEQUENCE,
            sequence_flags: CLEARED,
            interned_data: Some(core::mem::take(&mut self.interned.data)),
            ..TracePacket::default()
        }];
        packet.extend(self.tracks.into_iter().map(|track| TracePacket {
            trusted_packet_sequence_id: SEQUENCE,
            track_descriptor: Some(track),
            ..TracePacket::default()
        }));
        self.events.sort_by_key(|timed| (timed.time, timed.rank));
        packet.extend(self.events.into_iter().map(|timed| TracePacket {
            timestamp: Some(timed.time),
            trusted_packet_sequence_id: SEQUENCE,
            sequence_flags: NEEDS_INTERNED,
            track_event: Some(timed.event),
            ..TracePacket::default()
        }));
        Trace { packet }.encode_to_vec()
    }
}

/// Holds of one lock by different threads that overlap by less than clocks are apart begin when the one before ended.
fn apart(holds: Vec<(u64, u64, usize)>) -> Vec<(u64, u64, usize)> {
    /// A holder reads its clock before it tries for the lock, and before it lets it go.
    const SKEW_NS: u64 = 1_000;
    let mut last = 0;
    let mut holds: Vec<_> = holds
        .into_iter()
        .map(|(begin, end, thread)| {
            let is_skewed = begin < last && end > last && last - begin < SKEW_NS;
            let begin = if is_skewed { last } else { begin };
            last = last.max(end);
            (begin, end, thread)
        })
        .collect();
    holds.sort_by_key(|&(begin, end, thread)| (begin, std::cmp::Reverse(end), thread));
    holds
}
