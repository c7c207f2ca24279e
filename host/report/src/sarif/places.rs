//! Frames as SARIF's locations.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::message::Message;
use super::uri;
use crate::prose::action::act;
use crate::prose::words::{plain, quote};
use lockwright_analysis::finding::{Finding, Frame, HeldLock, Name, Step};
use lockwright_analysis::symbolize::wrapper::first_own_frame;

/// location (3.28).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<Physical>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<Logical>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

/// physicalLocation (3.29).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<Address>,
}

/// artifactLocation (3.4).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

/// region (3.30).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u32>,
}

/// address (3.32): in the address space of the module's file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Address {
    relative_address: i64,
    kind: &'static str,
}

/// logicalLocation (3.33).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Logical {
    fully_qualified_name: String,
    kind: &'static str,
}

/// The base of relative URIs.
#[derive(Serialize)]
pub struct Bases {
    #[serde(rename = "SRCROOT")]
    root: Artifact,
}

/// Makes locations of frames.
pub struct Places {
    /// Sources below it are named relative to it, so that the document fits another copy of them.
    here: Option<PathBuf>,
}

impl Places {
    /// Sources below the current directory will be relative to it.
    pub fn new() -> Self {
        Self { here: std::env::current_dir().ok().filter(|dir| dir != Path::new("/")) }
    }

    /// The bases of the relative paths.
    pub fn bases(&self) -> Option<Bases> {
        let here = self.here.as_ref()?.to_str()?;
        let uri = uri::file(&format!("{here}/"));
        Some(Bases { root: Artifact { uri, uri_base_id: None } })
    }

    fn artifact(&self, file: &str) -> Artifact {
        let below = self.here.as_ref().and_then(|here| Path::new(file).strip_prefix(here).ok());
        match below.and_then(Path::to_str) {
            Some(below) => Artifact { uri: uri::path(below), uri_base_id: Some("SRCROOT") },
            None => Artifact { uri: uri::file(file), uri_base_id: None },
        }
    }

    /// A line of a file that the user named.
    pub fn line(&self, file: &str, line: u32) -> Location {
        let region = Some(Region { start_line: line, start_column: None });
        let physical = Physical { artifact_location: self.artifact(file), region, address: None };
        Location {
            id: None,
            physical_location: Some(physical),
            logical_locations: vec![],
            message: None,
        }
    }

    /// A frame, and what happened there.
    pub fn frame(&self, frame: &Frame, message: Option<String>) -> Location {
        let physical_location = match (&frame.file, frame.line, &frame.module) {
            (Some(file), Some(line), _) => Some(Physical {
                artifact_location: self.artifact(file),
                region: Some(Region { start_line: line, start_column: frame.column }),
                address: None,
            }),
            // The byte before a return address is in the call.
            (_, _, Some(module)) => i64::try_from(frame.offset).ok().map(|offset| Physical {
                artifact_location: self.artifact(module),
                region: None,
                address: Some(Address {
                    relative_address: (offset - 1).max(0),
                    kind: "instruction",
                }),
            }),
            _ => None,
        };
        let function = frame
            .function
            .as_deref()
            .map(|name| Logical { fully_qualified_name: plain(name), kind: "function" });
        Location {
            id: None,
            physical_location,
            logical_locations: function.into_iter().collect(),
            message: message.map(Message::new),
        }
    }

    /// The first frame that is not a mere wrapper, and what happened there.
    pub fn stack(&self, stack: &[Frame], message: String) -> Location {
        self.frame(first_own_frame(stack).unwrap_or(&Frame::default()), Some(message))
    }

    /// Where a thread did what a step tells.
    pub fn of_step(&self, finding: &Finding, step: &Step) -> Location {
        self.stack(&step.stack, did(finding, step))
    }

    /// The places of a finding besides the first step's: numbered from 1.
    pub fn related(&self, finding: &Finding) -> Vec<Location> {
        let mut all = Vec::new();
        for (i, step) in finding.steps.iter().enumerate() {
            for held in part(step) {
                all.push(self.stack(&held.stack, taken(step, held)));
            }
            if i > 0 {
                all.push(self.of_step(finding, step));
            }
        }
        for lock in finding.locks.iter().filter(|lock| !lock.created.is_empty()) {
            let text = format!("{}: {}", plain(&quote(&lock.name)), lock.origin.name());
            all.push(self.stack(&lock.created, text));
        }
        for (id, location) in (1..).zip(&mut all) {
            location.id = Some(id);
        }
        all
    }
}

/// The locks held in a step that the finding is about.
pub fn part(step: &Step) -> impl Iterator<Item = &HeldLock> {
    step.held.iter().filter(|held| held.lock.is_some())
}

/// "thread 2 (teller) acquires `vault`".
pub fn did(finding: &Finding, step: &Step) -> String {
    let unknown = Name::symbol("?");
    let name = finding.locks.get(step.lock).map_or(&unknown, |lock| &lock.name);
    plain(&format!("{} {}", step.thread, act(step.action, &quote(name))))
}

/// "thread 2 (teller) took `vault`".
pub fn taken(step: &Step, held: &HeldLock) -> String {
    plain(&format!("{} took {}", step.thread, quote(&held.name)))
}
