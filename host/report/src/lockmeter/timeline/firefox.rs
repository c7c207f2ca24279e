//! The timeline for profiler.firefox.com: a marker for each wait and hold, with its stack.

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, Frame as ProfileFrame, FrameFlags, FrameInfo, Marker,
    MarkerFieldFlags, MarkerFieldFormat, MarkerLocations, MarkerTiming, MarkerTypeHandle, Profile,
    ReferenceTimestamp, RuntimeSchemaMarkerField, RuntimeSchemaMarkerSchema, SamplingInterval,
    StringHandle, ThreadHandle, Timestamp,
};

use super::words::{self, Words};
use crate::prose::words::plain;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::lockmeter::timeline::{Slice, SliceKind, Timeline};

/// Renders the profile.
pub fn render(report: &MeterReport) -> Vec<u8> {
    let empty = Timeline::default();
    let timeline = report.timeline.as_ref().unwrap_or(&empty);
    let words = Words(report);
    let product =
        timeline.rings.first().map_or_else(String::new, |ring| words.process(ring.process));
    // Nothing is sampled: the profile's only rows are markers.
    let interval = SamplingInterval::from_millis(1);
    let mut profile =
        Profile::new(&product, ReferenceTimestamp::from_millis_since_unix_epoch(0.0), interval);
    profile.set_os_name("Linux");
    profile.set_symbolicated(true);
    let wait = profile.add_category("Wait", CategoryColor::Orange);
    let hold = profile.add_category("Hold", CategoryColor::Blue);
    let kinds = Kinds { wait, hold, schema: profile.register_marker_type(schema()) };
    for ring in &timeline.rings {
        let Some(process) = report.processes.get(ring.process) else { continue };
        let start = moment(ring.from_ns);
        let handle = profile.add_process(&words.process(ring.process), process.pid, start);
        let threads = timeline.threads.iter().filter(|thread| thread.process == ring.process);
        for thread in threads {
            let begun = thread.slices.first().map_or(ring.from_ns, |slice| slice.begin_ns);
            let is_main = thread.tid == thread.pid;
            let to = profile.add_thread(handle, thread.tid, moment(begun), is_main);
            profile.set_thread_name(to, &words::thread(thread));
            profile.set_thread_show_markers_in_timeline(to, true);
            for slice in &thread.slices {
                add(&mut profile, to, kinds, words, timeline, slice);
            }
        }
    }
    // Writing to memory cannot fail.
    serde_json::to_vec(&profile).unwrap_or_default()
}

#[derive(Clone, Copy)]
struct Kinds {
    wait: CategoryHandle,
    hold: CategoryHandle,
    schema: MarkerTypeHandle,
}

fn moment(ns: u64) -> Timestamp {
    Timestamp::from_nanos_since_reference(ns)
}

/// What a marker says, apart from its name and time.
fn schema() -> RuntimeSchemaMarkerSchema {
    let field = |key: &str, label: &str| RuntimeSchemaMarkerField {
        key: key.into(),
        label: label.into(),
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    };
    RuntimeSchemaMarkerSchema {
        type_name: "lockwright".into(),
        description: Some("A wait or a hold of a lock, as lockwright recorded it.".into()),
        locations: MarkerLocations::MARKER_CHART
            | MarkerLocations::MARKER_TABLE
            | MarkerLocations::TIMELINE_OVERVIEW,
        chart_label: Some("{marker.data.what}".into()),
        tooltip_label: Some("{marker.name}".into()),
        table_label: Some("{marker.data.what}, {marker.data.other}".into()),
        fields: vec![
            field("what", "What"),
            field("other", "Held at first by"),
            field("ended", "Ended by"),
            field("how", "How"),
        ],
        graphs: Vec::new(),
    }
}

/// The marker of a slice.
struct OfSlice {
    kinds: Kinds,
    is_wait: bool,
    name: StringHandle,
    fields: [StringHandle; 4],
}

impl Marker for OfSlice {
    fn marker_type(&self, _: &mut Profile) -> MarkerTypeHandle {
        self.kinds.schema
    }

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        if self.is_wait { self.kinds.wait } else { self.kinds.hold }
    }

    fn string_field_value(&self, field: u32) -> StringHandle {
        self.fields[field as usize % self.fields.len()]
    }

    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}

fn add(
    profile: &mut Profile,
    thread: ThreadHandle,
    kinds: Kinds,
    words: Words<'_>,
    timeline: &Timeline,
    slice: &Slice,
) {
    let is_wait = slice.kind == SliceKind::Wait;
    let other =
        slice.holder.map_or_else(String::new, |holder| match words.stack(holder.at).first() {
            Some(frame) => format!("thread {}, in {}", holder.tid, place(frame)),
            None => format!("thread {}", holder.tid),
        });
    let ended = slice.ended_by.and_then(|by| timeline.threads.get(by.thread));
    let ended = ended.map_or_else(String::new, words::who);
    let how = [
        (slice.gave_up, "gave up"),
        (slice.is_unfinished, "not over"),
        (slice.is_shared, "shared"),
        (slice.is_waited_for, "waited for"),
    ];
    let how: Vec<&str> = how.into_iter().filter_map(|(is, what)| is.then_some(what)).collect();
    let name = match slice.kind {
        SliceKind::Hold => "hold",
        SliceKind::Wait if slice.is_lock_wait() => "Lock contention",
        SliceKind::Wait => "wait",
    };
    let fields = [words.what(slice), other, ended, how.join(", ")];
    let marker = OfSlice {
        kinds,
        is_wait,
        name: profile.intern_string(name),
        fields: fields.map(|text| profile.intern_string(&text)),
    };
    let timing = MarkerTiming::Interval(moment(slice.begin_ns), moment(slice.end_ns));
    let marker = profile.add_marker(thread, timing, marker);
    let frames = words.stack(slice.at).iter().rev();
    let labels: Vec<StringHandle> =
        frames.map(|frame| profile.intern_string(&place(frame))).collect();
    let frames = labels.into_iter().map(|label| FrameInfo {
        frame: ProfileFrame::Label(label),
        category_pair: CategoryHandle::OTHER.into(),
        flags: FrameFlags::empty(),
    });
    let stack = profile.intern_stack_frames(thread, frames);
    profile.set_marker_stack(thread, marker, stack);
}

fn place(frame: &Frame) -> String {
    let function = plain(frame.function.as_deref().unwrap_or("?"));
    match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{function} ({}:{line})", plain(file)),
        _ => function,
    }
}
