//! A finding of an object `a`, for the tests of sentences.

use lockwright_analysis::finding::object::{By, InUse, ObjectFault};
use lockwright_analysis::finding::{Details, Finding, Grade, Kind};
use lockwright_ledger::rows::object::{object_end, object_state};

use crate::prose::testing::{mutex, thread};
use crate::prose::{Told, told};

/// A fault of an object that thread 1 has initialised and destroyed, and that thread 2 uses.
pub fn fault(builtin: u32, fault: u8, op: u8) -> ObjectFault {
    ObjectFault {
        builtin,
        fault,
        op,
        was: object_state::NONE,
        how: object_end::NONE,
        states: None,
        made: By::Thread(thread(1)),
        made_unshown: false,
        ended: By::Thread(thread(1)),
        in_use: InUse::Now(thread(2)),
        fixed: false,
        hint: None,
    }
}

/// The sentences about a fault of `a`.
pub fn told_of(fault: ObjectFault) -> Told {
    told(&Finding {
        // No sentence depends on it.
        kind: Kind::ObjectUninitialised,
        grade: Grade::Likely,
        details: Details::Object(fault),
        locks: vec![mutex("a")],
        steps: Vec::new(),
        pid: 1,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: 0,
    })
}

/// Asserts the sentences about a fault of `a`, without the kernel's own for it.
#[track_caller]
pub fn assert_told(fault: ObjectFault, title: &str, evidence: &[&str], help: &[&str]) {
    let mut told = told_of(fault);
    told.evidence.retain(|line| !line.starts_with("as the kernel's debugobjects puts it"));
    assert_eq!(told.title, title);
    assert_eq!(told.evidence, evidence);
    assert_eq!(told.help, help);
}
