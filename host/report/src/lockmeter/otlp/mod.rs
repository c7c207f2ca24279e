//! The same samples as OpenTelemetry's signal for profiles has them. The signal is in development: its names and field numbers
//! may change with each release. These are of opentelemetry-proto 1.45, profiles/v1development.

mod proto;

use std::collections::HashMap;

use prost::Message;

use self::proto::any_value::Value;
use self::proto::{
    AnyValue, ExportProfilesServiceRequest, ExportProfilesServiceResponse, Function,
    InstrumentationScope, KeyValue, KeyValueAndUnit, Line, Mapping, ProfilesDictionary, Resource,
    ResourceProfiles, ScopeProfiles, Stack, ValueType,
};
use super::contention::{Location, Sample};
use super::pprof::Period;
use crate::prose::words::plain;

/// What a request is about besides its samples.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The resource: the name of an attribute, and its text.
    pub attributes: &'a [(String, String)],
    /// Another request with this id is the same one, sent again.
    pub id: [u8; 16],
    /// When the waits ended.
    pub period: Period,
}

/// The request to export these samples: a profile of their numbers, and one of their times. It is not compressed.
pub fn encode(samples: &[Sample], about: &About<'_>) -> Vec<u8> {
    let mut dictionary = Dictionary::new();
    let counts = dictionary.profile(samples, about, &CONTENTIONS);
    let times = dictionary.profile(samples, about, &DELAY);
    let attributes = about.attributes.iter().map(|(key, value)| KeyValue {
        key: key.clone(),
        value: Some(AnyValue { value: Some(Value::String(value.clone())) }),
    });
    let scope = InstrumentationScope {
        name: "lockwright".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let request = ExportProfilesServiceRequest {
        resource_profiles: vec![ResourceProfiles {
            resource: Some(Resource { attributes: attributes.collect() }),
            scope_profiles: vec![ScopeProfiles {
                scope: Some(scope),
                profiles: vec![counts, times],
            }],
        }],
        dictionary: Some(dictionary.out),
    };
    request.encode_to_vec()
}

/// What the server says that it has not taken of a request. It does not want that again.
pub fn complaint(answer: &[u8]) -> Option<String> {
    let partial = ExportProfilesServiceResponse::decode(answer).ok()?.partial_success?;
    let why = plain(&partial.error_message);
    match partial.rejected_profiles {
        0 if why.is_empty() => None,
        0 => Some(format!("the server warns: {why}")),
        rejected => Some(format!("the server rejected {rejected} profiles: {why}")),
    }
}

/// What a profile has of each sample. The format has one value of a sample in a profile.
struct Quantity {
    kind: &'static str,
    unit: &'static str,
    of: fn(&Sample) -> u64,
    /// In the profile's id, which has to be its own.
    number: u8,
}

const CONTENTIONS: Quantity =
    Quantity { kind: "contentions", unit: "count", of: |sample| sample.count, number: 0 };

const DELAY: Quantity =
    Quantity { kind: "delay", unit: "nanoseconds", of: |sample| sample.ns, number: 1 };

/// Tables that are being made. The first entry of each stands for nothing.
struct Dictionary<'s> {
    out: ProfilesDictionary,
    strings: HashMap<String, i32>,
    mappings: HashMap<(&'s str, &'s str), i32>,
    functions: HashMap<(i32, i32), i32>,
    locations: HashMap<&'s Location, i32>,
    stacks: HashMap<Vec<i32>, i32>,
    attributes: HashMap<(i32, String), i32>,
}

impl<'s> Dictionary<'s> {
    fn new() -> Self {
        Self {
            out: ProfilesDictionary {
                mapping_table: vec![Mapping::default()],
                location_table: vec![proto::Location::default()],
                function_table: vec![Function::default()],
                link_table: vec![proto::Link {}],
                string_table: vec![String::new()],
                attribute_table: vec![KeyValueAndUnit::default()],
                stack_table: vec![Stack::default()],
            },
            strings: HashMap::from([(String::new(), 0)]),
            mappings: HashMap::new(),
            functions: HashMap::new(),
            locations: HashMap::new(),
            stacks: HashMap::new(),
            attributes: HashMap::new(),
        }
    }

    fn profile(
        &mut self,
        samples: &'s [Sample],
        about: &About<'_>,
        quantity: &Quantity,
    ) -> proto::Profile {
        let contentions = self.value_type(CONTENTIONS.kind, CONTENTIONS.unit);
        let mut profile_id = about.id;
        profile_id[15] ^= quantity.number;
        let samples = samples.iter().map(|sample| proto::Sample {
            stack_index: self.stack(&sample.frames),
            attribute_indices: vec![self.attribute("lock", &sample.lock)],
            values: vec![(quantity.of)(sample).try_into().unwrap_or(i64::MAX)],
        });
        proto::Profile {
            samples: samples.collect(),
            sample_type: Some(self.value_type(quantity.kind, quantity.unit)),
            time_unix_nano: about.period.begun_ns,
            duration_nano: about.period.duration_ns,
            period_type: Some(contentions),
            period: 1,
            profile_id: profile_id.to_vec(),
        }
    }

    fn string(&mut self, text: &str) -> i32 {
        if let Some(&index) = self.strings.get(text) {
            return index;
        }
        let index = put(&mut self.out.string_table, text.to_owned());
        self.strings.insert(text.to_owned(), index);
        index
    }

    fn value_type(&mut self, kind: &str, unit: &str) -> ValueType {
        ValueType { type_strindex: self.string(kind), unit_strindex: self.string(unit) }
    }

    fn attribute(&mut self, key: &str, value: &str) -> i32 {
        let key_strindex = self.string(key);
        if let Some(&index) = self.attributes.get(&(key_strindex, value.to_owned())) {
            return index;
        }
        let text = AnyValue { value: Some(Value::String(value.to_owned())) };
        let attribute = KeyValueAndUnit { key_strindex, value: Some(text) };
        let index = put(&mut self.out.attribute_table, attribute);
        self.attributes.insert((key_strindex, value.to_owned()), index);
        index
    }

    fn stack(&mut self, frames: &'s [Location]) -> i32 {
        let location_indices: Vec<i32> = frames.iter().map(|frame| self.location(frame)).collect();
        if location_indices.is_empty() {
            return 0;
        }
        if let Some(&index) = self.stacks.get(&location_indices) {
            return index;
        }
        let stack = Stack { location_indices: location_indices.clone() };
        let index = put(&mut self.out.stack_table, stack);
        self.stacks.insert(location_indices, index);
        index
    }

    fn location(&mut self, frame: &'s Location) -> i32 {
        if let Some(&index) = self.locations.get(frame) {
            return index;
        }
        let mapping_index =
            frame.module.as_deref().map_or(0, |path| self.mapping(path, &frame.build_id));
        let function_index = self.function(&frame.name(), frame.file.as_deref().unwrap_or(""));
        let location = proto::Location {
            mapping_index,
            address: frame.address,
            lines: vec![Line { function_index, line: frame.line.into() }],
        };
        let index = put(&mut self.out.location_table, location);
        self.locations.insert(frame, index);
        index
    }

    fn mapping(&mut self, path: &'s str, build_id: &'s str) -> i32 {
        if let Some(&index) = self.mappings.get(&(path, build_id)) {
            return index;
        }
        let has_id = !build_id.is_empty();
        let id = has_id.then(|| self.attribute("process.executable.build_id.gnu", build_id));
        let mapping = Mapping {
            // All addresses are the file's own.
            memory_limit: u64::MAX >> 1,
            filename_strindex: self.string(path),
            attribute_indices: id.into_iter().collect(),
        };
        let index = put(&mut self.out.mapping_table, mapping);
        self.mappings.insert((path, build_id), index);
        index
    }

    fn function(&mut self, name: &str, file: &str) -> i32 {
        let (name_strindex, filename_strindex) = (self.string(name), self.string(file));
        if let Some(&index) = self.functions.get(&(name_strindex, filename_strindex)) {
            return index;
        }
        let function =
            Function { name_strindex, system_name_strindex: name_strindex, filename_strindex };
        let index = put(&mut self.out.function_table, function);
        self.functions.insert((name_strindex, filename_strindex), index);
        index
    }
}

/// The index of `item` in the table, whose end it becomes.
fn put<T>(table: &mut Vec<T>, item: T) -> i32 {
    table.push(item);
    (table.len() - 1).try_into().unwrap_or(0)
}
