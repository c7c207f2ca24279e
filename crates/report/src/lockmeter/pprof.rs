//! The measurement as a pprof profile: contentions and delay at each stack that waited, as the profile of
//! contended mutexes that Go's runtime makes. `go tool pprof` and all that reads its format opens it.
//!
//! The format is github.com/google/pprof/proto/profile.proto; field numbers below are from there.

use std::collections::HashMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::protobuf::Message;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::symbolize::wrapper::own_frames;

/// Fields of `Profile`.
mod profile {
    pub const SAMPLE_TYPE: u32 = 1;
    pub const SAMPLE: u32 = 2;
    pub const MAPPING: u32 = 3;
    pub const LOCATION: u32 = 4;
    pub const FUNCTION: u32 = 5;
    pub const STRING_TABLE: u32 = 6;
    pub const DURATION_NANOS: u32 = 10;
    pub const PERIOD_TYPE: u32 = 11;
    pub const PERIOD: u32 = 12;
    pub const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// Renders the profile, compressed as its readers expect.
pub fn render(report: &MeterReport) -> Vec<u8> {
    let mut writer = Profile::default();
    writer.string("");
    let contentions = writer.value_type("contentions", "count");
    let delay = writer.value_type("delay", "nanoseconds");
    writer.out.message(profile::SAMPLE_TYPE, &contentions).message(profile::SAMPLE_TYPE, &delay);
    for lock in &report.locks {
        for site in lock.sites.iter().filter(|site| site.numbers.wait.count > 0) {
            let locations: Vec<u64> =
                own_frames(&site.stack).iter().map(|frame| writer.location(frame)).collect();
            let wait = &site.numbers.wait;
            let label = writer.label("lock", &lock.name);
            let mut sample = Message::default();
            sample.ints(1, &locations).ints(2, &[wait.count, wait.total_ns as u64]);
            sample.message(3, &label);
            writer.out.message(profile::SAMPLE, &sample);
        }
    }
    let default = writer.string("delay");
    writer
        .out
        .int(profile::DURATION_NANOS, report.elapsed_ns)
        .message(profile::PERIOD_TYPE, &contentions)
        .int(profile::PERIOD, 1)
        .int(profile::DEFAULT_SAMPLE_TYPE, default);
    compress(&writer.finish())
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// A profile that is being written.
#[derive(Default)]
struct Profile {
    out: Message,
    strings: HashMap<String, u64>,
    table: Vec<String>,
    /// By path.
    mappings: HashMap<String, u64>,
    /// By name and file.
    functions: HashMap<(u64, u64), u64>,
    /// By mapping, address, function and line: an inlined call shares its caller's address.
    locations: HashMap<(u64, u64, u64, u64), u64>,
}

impl Profile {
    fn string(&mut self, text: &str) -> u64 {
        if let Some(&index) = self.strings.get(text) {
            return index;
        }
        let index = self.table.len() as u64;
        self.table.push(text.to_owned());
        self.strings.insert(text.to_owned(), index);
        index
    }

    fn value_type(&mut self, kind: &str, unit: &str) -> Message {
        let (kind, unit) = (self.string(kind), self.string(unit));
        let mut message = Message::default();
        message.int(1, kind).int(2, unit);
        message
    }

    fn label(&mut self, key: &str, value: &str) -> Message {
        let (key, value) = (self.string(key), self.string(value));
        let mut message = Message::default();
        message.int(1, key).int(2, value);
        message
    }

    fn mapping(&mut self, path: &str) -> u64 {
        if let Some(&id) = self.mappings.get(path) {
            return id;
        }
        let id = self.mappings.len() as u64 + 1;
        self.mappings.insert(path.to_owned(), id);
        let file = self.string(path);
        let mut message = Message::default();
        // All addresses are the file's own. Functions, files, lines and inlined calls are resolved.
        message.int(1, id).int(3, u64::MAX >> 1).int(5, file);
        (7..=10).for_each(|resolved| {
            message.int(resolved, 1);
        });
        self.out.message(profile::MAPPING, &message);
        id
    }

    fn function(&mut self, name: &str, file: &str) -> u64 {
        let key = (self.string(name), self.string(file));
        if let Some(&id) = self.functions.get(&key) {
            return id;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(key, id);
        let mut message = Message::default();
        message.int(1, id).int(2, key.0).int(3, key.0).int(4, key.1);
        self.out.message(profile::FUNCTION, &message);
        id
    }

    fn location(&mut self, frame: &Frame) -> u64 {
        let mapping = frame.module.as_deref().map_or(0, |path| self.mapping(path));
        let unnamed = format!("{:#x}", frame.offset);
        let name = frame.function.as_deref().unwrap_or(&unnamed);
        let function = self.function(name, frame.file.as_deref().unwrap_or(""));
        let line = u64::from(frame.line.unwrap_or(0));
        // The call itself: that of a return address is one byte before it.
        let address = frame.offset.saturating_sub(1);
        let next = self.locations.len() as u64 + 1;
        let key = (mapping, address, function, line);
        let id = *self.locations.entry(key).or_insert(next);
        if id == next {
            let mut at = Message::default();
            at.int(1, function).int(2, line);
            let mut message = Message::default();
            message.int(1, id).int(2, mapping).int(3, address).message(4, &at);
            self.out.message(profile::LOCATION, &message);
        }
        id
    }

    fn finish(mut self) -> Vec<u8> {
        for text in &self.table {
            self.out.bytes(profile::STRING_TABLE, text.as_bytes());
        }
        self.out.into_bytes()
    }
}
