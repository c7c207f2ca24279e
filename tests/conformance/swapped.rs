//! With their locks replaced by `lockwright swap`, programs behave as with the C library's, too.
//!
//! Cases wait for each other to sleep, so it is a lock that sleeps that they run on.

use crate::differences::differences;
use crate::family::Family;
use crate::harness;

/// Families of cases about what is replaced, or about what happens to it.
const FAMILIES: &[&str] = &[
    "c11",
    "cancellation",
    "condition",
    "condition_old",
    "mutex",
    "other_names",
    "process",
    "robust",
    "rwlock",
    "signals",
    "sync",
    "thread",
];

/// Cases that tell what bytes of an object are in glibc, or do what POSIX leaves undefined and
/// where glibc's answer leaves the lock unusable: a write lock that another thread releases.
const EXEMPT: &[&str] =
    &["too_many_readers", "unlocked_by_another", "spin", "spin_shared", "spin_of_no_sharing"];

fn differing(family: &Family, command: &str, options: &[&str]) -> Vec<String> {
    let natively = family.natively(&[]);
    let under = family.said(harness::under(command, options, family.program()), &[]);
    let found = differences(&natively, &under);
    found.into_iter().map(|difference| difference.name).collect()
}

fn cases_say_the_same_on(lock: &str) {
    for name in FAMILIES {
        let differing = differing(&Family::build(name), "swap", &["--lock", lock]);
        let wrong: Vec<_> =
            differing.iter().filter(|case| !EXEMPT.contains(&case.as_str())).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
}

#[test]
fn cases_say_the_same_on_the_hybrid_mutex() {
    cases_say_the_same_on("hybrid");
}

#[test]
fn cases_say_the_same_on_the_kernels_mutex() {
    cases_say_the_same_on("mutex");
}

#[test]
fn a_case_that_looks_inside_is_noticed() {
    let differing = differing(&Family::build("rwlock"), "swap", &["--lock", "hybrid"]);
    assert!(differing.contains(&"too_many_readers".to_owned()), "{differing:?}");
}

#[test]
fn cases_say_the_same_where_swapped_locks_are_measured() {
    let tool = harness::tool().get_program().to_owned();
    for name in ["condition", "mutex", "c11"] {
        let family = Family::build(name);
        let job = harness::under("meter", &[] as &[&str], &tool);
        let job = job.args(["swap", "--"]).args([family.program()]);
        let under = family.said(job, &[]);
        let found = differences(&family.natively(&[]), &under);
        let found: Vec<_> = found.into_iter().map(|difference| difference.name).collect();
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}
