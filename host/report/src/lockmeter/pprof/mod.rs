//! The measurement as a pprof profile: contentions and delay at each stack that waited, as the
//! profile of contended mutexes that Go's runtime makes. `go tool pprof` and all that reads its
//! format opens it.
//!
//! The format is github.com/google/pprof/proto/profile.proto; names and field numbers are from
//! there.

mod proto;

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use self::proto::{Function, Label, Line, Mapping, ValueType};
use super::contention::{Location, Sample, samples};
use lockwright_analysis::lockmeter::model::MeterReport;

/// When a profile's waits ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Period {
    /// Begin, ns since the epoch; 0 if it is not known.
    pub begun_ns: u64,
    /// Its length, ns.
    pub duration_ns: u64,
}

/// Renders the profile, compressed as its readers expect.
pub fn render(report: &MeterReport) -> Vec<u8> {
    encode(&samples(report), Period { begun_ns: 0, duration_ns: report.elapsed_ns })
}

/// The profile of these samples, compressed likewise.
pub fn encode(samples: &[Sample], period: Period) -> Vec<u8> {
    let mut profile = Profile::default();
    profile.string("");
    let contentions = profile.value_type("contentions", "count");
    let delay = profile.value_type("delay", "nanoseconds");
    profile.out.sample_type = vec![contentions, delay];
    for sample in samples {
        let location_id = sample.frames.iter().map(|frame| profile.location(frame)).collect();
        let value = vec![signed(sample.count), signed(sample.ns)];
        let label = Label { key: profile.string("lock"), str: profile.string(&sample.lock) };
        profile.out.sample.push(proto::Sample { location_id, value, label: vec![label] });
    }
    profile.out.default_sample_type = profile.string("delay");
    profile.out.time_nanos = signed(period.begun_ns);
    profile.out.duration_nanos = signed(period.duration_ns);
    profile.out.period_type = Some(contentions);
    profile.out.period = 1;
    compress(&profile.out.encode_to_vec())
}

/// The format's numbers have a sign.
fn signed(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// `bytes` as gzip has them.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// A profile that is being made.
#[derive(Default)]
struct Profile<'s> {
    out: proto::Profile,
    /// The string table, by text.
    strings: HashMap<String, i64>,
    /// By path and build id.
    mappings: HashMap<(&'s str, &'s str), u64>,
    /// By name and file.
    functions: HashMap<(i64, i64), u64>,
    /// An inlined call shares its caller's address.
    locations: HashMap<&'s Location, u64>,
}

impl<'s> Profile<'s> {
    fn string(&mut self, text: &str) -> i64 {
        if let Some(&index) = self.strings.get(text) {
            return index;
        }
        let index = self.out.string_table.len() as i64;
        self.out.string_table.push(text.to_owned());
        self.strings.insert(text.to_owned(), index);
        index
    }

    fn value_type(&mut self, kind: &str, unit: &str) -> ValueType {
        ValueType { kind: self.string(kind), unit: self.string(unit) }
    }

    fn mapping(&mut self, path: &'s str, build_id: &'s str) -> u64 {
        if let Some(&id) = self.mappings.get(&(path, build_id)) {
            return id;
        }
        let id = self.mappings.len() as u64 + 1;
        self.mappings.insert((path, build_id), id);
        let (filename, build_id) = (self.string(path), self.string(build_id));
        self.out.mapping.push(Mapping {
            id,
            // All addresses are the file's own.
            memory_limit: u64::MAX >> 1,
            filename,
            build_id,
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
        });
        id
    }

    fn function(&mut self, name: &str, file: &str) -> u64 {
        let (name, filename) = (self.string(name), self.string(file));
        let next = self.functions.len() as u64 + 1;
        let id = *self.functions.entry((name, filename)).or_insert(next);
        if id == next {
            self.out.function.push(Function { id, name, system_name: name, filename });
        }
        id
    }

    fn location(&mut self, frame: &'s Location) -> u64 {
        if let Some(&id) = self.locations.get(frame) {
            return id;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(frame, id);
        let mapping_id =
            frame.module.as_deref().map_or(0, |path| self.mapping(path, &frame.build_id));
        let function_id = self.function(&frame.name(), frame.file.as_deref().unwrap_or(""));
        let line = vec![Line { function_id, line: frame.line.into() }];
        self.out.location.push(proto::Location { id, mapping_id, address: frame.address, line });
        id
    }
}
