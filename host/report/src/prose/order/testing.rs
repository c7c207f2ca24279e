//! A finding of two mutexes, `a` and `b`, and two threads, for the tests of sentences: thread 1
//! holds `a` and takes `b`, thread 2 holds `b` and takes `a`.

use lockwright_analysis::finding::action::{Access, Action};
use lockwright_analysis::finding::order::{Evidence, Fault, OrderFault, Remedy};
use lockwright_analysis::finding::{Details, Finding, Grade, Kind, Step};

use crate::prose::testing::{mutex, thread};
use crate::prose::{Told, told};

/// The sentences about `fault`, with this evidence and these remedies.
pub fn told_of(fault: Fault, evidence: Vec<Evidence>, remedies: Vec<Remedy>) -> Told {
    told(&Finding {
        kind: Kind::CircularDependency,
        grade: Grade::Likely,
        details: Details::Order(OrderFault { fault, evidence, remedies }),
        locks: ["a", "b"].map(mutex).into(),
        steps: vec![step(1, 1), step(2, 0)],
        pid: 1,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: 0,
    })
}

fn step(number: u32, lock: usize) -> Step {
    Step {
        thread: thread(number),
        lock,
        action: Action::Acquires { access: Access::Exclusive, timed: false },
        held: Vec::new(),
        stack: Vec::new(),
    }
}
