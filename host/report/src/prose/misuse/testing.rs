//! A finding of two mutexes, `a` and `b`, for the tests of sentences.

use lockwright_analysis::finding::action::Action;
use lockwright_analysis::finding::lock_kind::{LockKind, Subject};
use lockwright_analysis::finding::misuse::Misuse;
use lockwright_analysis::finding::{
    Details, Finding, Grade, Kind, LockInfo, LockOrigin, Name, Step, ThreadInfo,
};

use crate::prose::told;

/// A thread without a name.
pub fn thread(number: u32) -> ThreadInfo {
    ThreadInfo { name: String::new(), tid: 100 + number, number }
}

/// Asserts the sentences about a misuse of `a` by thread 1.
#[track_caller]
pub fn assert_told(misuse: &Misuse, title: &str, evidence: &[&str], help: &[&str]) {
    let finding = Finding {
        // No sentence depends on it.
        kind: Kind::BadUnlockBalance,
        grade: Grade::Likely,
        details: Details::Misuse(misuse.clone()),
        locks: ["a", "b"].map(mutex).into(),
        steps: vec![Step {
            thread: thread(1),
            lock: 0,
            action: Action::Unlocks,
            held: Vec::new(),
            stack: Vec::new(),
        }],
        pid: 1,
        process: None,
        origins: Vec::new(),
        also: 0,
    };
    let told = told(&finding);
    assert_eq!(told.title, title);
    assert_eq!(told.evidence, evidence);
    assert_eq!(told.help, help);
}

fn mutex(name: &str) -> LockInfo {
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
