//! A finding of two mutexes, `a` and `b`, for the tests of sentences.

use lockwright_analysis::finding::action::Action;
use lockwright_analysis::finding::misuse::Misuse;
use lockwright_analysis::finding::{Details, Finding, Grade, Kind, Step};

use crate::prose::testing::mutex;
pub use crate::prose::testing::thread;
use crate::prose::told;

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
        confirmation: None,
        also: 0,
    };
    let told = told(&finding);
    assert_eq!(told.title, title);
    assert_eq!(told.evidence, evidence);
    assert_eq!(told.help, help);
}
