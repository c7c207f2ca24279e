//! The measurement as a pprof profile: contentions and delay at each stack that waited, as the
//! profile of contended mutexes that Go's runtime makes. `go tool pprof` and all that reads its
//! format opens it.
//!
//! The format is github.com/google/pprof/proto/profile.proto; names and field numbers below are
//! from there.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use self::proto::{Function, Label, Line, Location, Mapping, Sample, ValueType};
use crate::prose::futexes::{used_as, which};
use crate::prose::words::plain;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::symbolize::wrapper::own_frames;

/// The messages of profile.proto, as far as a measurement has something to say in them.
mod proto {
    /// All of it. A string elsewhere is an index into the table, whose first is empty; ids begin
    /// with 1.
    #[derive(prost::Message)]
    pub struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        pub location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub string_table: Vec<String>,
        #[prost(int64, tag = "10")]
        pub duration_nanos: i64,
        #[prost(message, optional, tag = "11")]
        pub period_type: Option<ValueType>,
        #[prost(int64, tag = "12")]
        pub period: i64,
        #[prost(int64, tag = "14")]
        pub default_sample_type: i64,
    }

    /// The meaning of the samples' values, and their unit.
    #[derive(Clone, Copy, prost::Message)]
    pub struct ValueType {
        #[prost(int64, tag = "1")]
        pub kind: i64,
        #[prost(int64, tag = "2")]
        pub unit: i64,
    }

    /// Values at a stack, innermost location first.
    #[derive(prost::Message)]
    pub struct Sample {
        #[prost(uint64, repeated, tag = "1")]
        pub location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub value: Vec<i64>,
        #[prost(message, repeated, tag = "3")]
        pub label: Vec<Label>,
    }

    #[derive(Clone, Copy, prost::Message)]
    pub struct Label {
        #[prost(int64, tag = "1")]
        pub key: i64,
        #[prost(int64, tag = "2")]
        pub str: i64,
    }

    /// A module, and what is resolved of it already.
    #[derive(Clone, Copy, prost::Message)]
    pub struct Mapping {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "3")]
        pub memory_limit: u64,
        #[prost(int64, tag = "5")]
        pub filename: i64,
        #[prost(bool, tag = "7")]
        pub has_functions: bool,
        #[prost(bool, tag = "8")]
        pub has_filenames: bool,
        #[prost(bool, tag = "9")]
        pub has_line_numbers: bool,
        #[prost(bool, tag = "10")]
        pub has_inline_frames: bool,
    }

    #[derive(prost::Message)]
    pub struct Location {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(uint64, tag = "2")]
        pub mapping_id: u64,
        #[prost(uint64, tag = "3")]
        pub address: u64,
        #[prost(message, repeated, tag = "4")]
        pub line: Vec<Line>,
    }

    #[derive(Clone, Copy, prost::Message)]
    pub struct Line {
        #[prost(uint64, tag = "1")]
        pub function_id: u64,
        #[prost(int64, tag = "2")]
        pub line: i64,
    }

    #[derive(Clone, Copy, prost::Message)]
    pub struct Function {
        #[prost(uint64, tag = "1")]
        pub id: u64,
        #[prost(int64, tag = "2")]
        pub name: i64,
        #[prost(int64, tag = "3")]
        pub system_name: i64,
        #[prost(int64, tag = "4")]
        pub filename: i64,
    }
}

/// Renders the profile, compressed as its readers expect.
pub fn render(report: &MeterReport) -> Vec<u8> {
    let mut profile = Profile::default();
    profile.string("");
    let contentions = profile.value_type("contentions", "count");
    let delay = profile.value_type("delay", "nanoseconds");
    profile.out.sample_type = vec![contentions, delay];
    for lock in &report.locks {
        for site in lock.sites.iter().filter(|site| site.numbers.wait.count > 0) {
            let frames = own_frames(&site.stack).iter();
            let location_id = frames.map(|frame| profile.location(frame)).collect();
            let wait = &site.numbers.wait;
            let value = vec![signed(wait.count), wait.total_ns as i64];
            let label = Label { key: profile.string("lock"), str: profile.string(&lock.name) };
            profile.out.sample.push(Sample { location_id, value, label: vec![label] });
        }
    }
    // Only the waits are known of locks that are made of futexes.
    for wait in report.waits.iter().filter(|wait| wait.is_for_lock() && wait.wait.count > 0) {
        let Some(futex) = &wait.futex else { continue };
        let frames = own_frames(&wait.stack).iter();
        let location_id = frames.map(|frame| profile.location(frame)).collect();
        let value = vec![signed(wait.wait.count), wait.wait.total_ns as i64];
        let lock = format!("{}{}", used_as(futex.kind), which(futex.name.as_deref(), futex.addr));
        let label = Label { key: profile.string("lock"), str: profile.string(&lock) };
        profile.out.sample.push(Sample { location_id, value, label: vec![label] });
    }
    profile.out.default_sample_type = profile.string("delay");
    profile.out.duration_nanos = signed(report.elapsed_ns);
    profile.out.period_type = Some(contentions);
    profile.out.period = 1;
    compress(&profile.out.encode_to_vec())
}

/// The format's numbers have a sign.
fn signed(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// A profile that is being made.
#[derive(Default)]
struct Profile {
    out: proto::Profile,
    /// The string table, by text.
    strings: HashMap<String, i64>,
    /// By path.
    mappings: HashMap<String, u64>,
    /// By name and file.
    functions: HashMap<(i64, i64), u64>,
    /// By mapping, address, function and line: an inlined call shares its caller's address.
    locations: HashMap<(u64, u64, u64, i64), u64>,
}

impl Profile {
    fn string(&mut self, text: &str) -> i64 {
        // pprof prints them as they are.
        let text = plain(text);
        let text = text.as_str();
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

    fn mapping(&mut self, path: &str) -> u64 {
        if let Some(&id) = self.mappings.get(path) {
            return id;
        }
        let id = self.mappings.len() as u64 + 1;
        self.mappings.insert(path.to_owned(), id);
        let filename = self.string(path);
        self.out.mapping.push(Mapping {
            id,
            // All addresses are the file's own.
            memory_limit: u64::MAX >> 1,
            filename,
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

    fn location(&mut self, frame: &Frame) -> u64 {
        let mapping_id = frame.module.as_deref().map_or(0, |path| self.mapping(path));
        let unnamed = format!("{:#x}", frame.offset);
        let name = frame.function.as_deref().unwrap_or(&unnamed);
        let function_id = self.function(name, frame.file.as_deref().unwrap_or(""));
        let line = i64::from(frame.line.unwrap_or(0));
        // The call itself: that of a return address is one byte before it.
        let address = frame.offset.saturating_sub(1);
        let next = self.locations.len() as u64 + 1;
        let key = (mapping_id, address, function_id, line);
        let id = *self.locations.entry(key).or_insert(next);
        if id == next {
            let line = vec![Line { function_id, line }];
            self.out.location.push(Location { id, mapping_id, address, line });
        }
        id
    }
}
