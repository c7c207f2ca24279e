//! Locks and threads for the tests of sentences.

use lockwright_analysis::finding::lock_kind::{LockKind, Subject};
use lockwright_analysis::finding::{LockInfo, LockOrigin, Name, ThreadInfo};

/// A thread without a name.
pub fn thread(number: u32) -> ThreadInfo {
    ThreadInfo { name: String::new(), tid: 100 + number, number }
}

/// A mutex that is a variable.
pub fn mutex(name: &str) -> LockInfo {
    LockInfo {
        name: Name::symbol(name),
        class: Name::symbol(name),
        class_by_place: None,
        kind: Subject::Lock(LockKind::Mutex),
        addr: None,
        created: Vec::new(),
        origin: LockOrigin::Static,
    }
}
