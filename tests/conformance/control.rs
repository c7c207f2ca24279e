//! Libraries with planted faults instead of the tool: the cases about each fault must find it.

use std::collections::BTreeSet;

use crate::differences::{Case, differences};
use crate::family::Family;
use crate::harness;

/// What the cases of a family say natively, and with a preloaded library of that fault.
fn with_fault(family: &Family, fault: &str) -> (Vec<Case>, Vec<Case>) {
    let flags = [&format!("-D{fault}"), "-shared", "-fPIC"];
    let library = harness::build("../conformance/faults/broken.c", &flags);
    (family.natively(&[]), family.preloading(&library))
}

/// Names of the cases that tell.
fn caught(family: &Family, fault: &str) -> BTreeSet<String> {
    let (natively, with) = with_fault(family, fault);
    differences(&natively, &with).into_iter().map(|difference| difference.name).collect()
}

#[test]
fn planted_faults_are_found() {
    let (mutex, rwlock) = (Family::build("mutex"), Family::build("rwlock"));
    for (family, fault, case) in [
        (&mutex, "LEAVES_ERRNO", "errorcheck"),
        (&mutex, "TRIES_FIRST", "deadlines_normal"),
        (&mutex, "IS_BUSY", "recursive_inherit_robust"),
        (&mutex, "DIES", "destroyed_while_locked"),
        (&rwlock, "WRITES", "prefer_reader"),
    ] {
        let caught = caught(family, fault);
        assert!(caught.contains(case), "{fault} is not seen by {case}, but by {caught:?}");
    }
}

#[test]
fn a_library_that_changes_nothing_is_none() {
    assert!(caught(&Family::build("rwlock"), "NOTHING").is_empty());
}
