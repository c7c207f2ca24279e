//! With their locks replaced by `lockwright swap`, programs behave as with the C library's, too, on each lock that
//! there is. The locks take turns.

use crate::differences::{Case, differences};
use crate::family::Family;
use crate::harness;

/// Cases that tell what bytes of an object are in glibc, or do what POSIX leaves undefined and
/// where glibc's answer leaves the lock unusable: a write lock that another thread releases. And
/// condition variables at bad pointers: a signal marks one that can only be read as met, and a wait by
/// a clock that is none is an error before the deadline is read.
const EXEMPT: &[&str] = &[
    "too_many_readers",
    "unlocked_by_another",
    "spin",
    "spin_shared",
    "spin_of_no_sharing",
    "conditions",
    "threads_of_c11",
];

/// The locks that `lockwright swap` has.
fn locks() -> Vec<String> {
    let list =
        harness::native(harness::tool().get_program()).args(["swap", "--lock", "list"]).run();
    assert_eq!(list.code(), 0, "{}", list.stderr);
    let text = list.text();
    let rows = text.lines().skip(1).take_while(|line| !line.is_empty());
    rows.filter_map(|row| row.split_whitespace().next()).map(str::to_owned).collect()
}

fn differing(family: &Family, natively: &[Case], lock: &str) -> Vec<String> {
    let under = family.said(harness::under("swap", &["--lock", lock], family.program()), &[]);
    differences(natively, &under).into_iter().map(|difference| difference.name).collect()
}

fn says_the_same_on_all_locks(name: &'static str) {
    let family = Family::build(name);
    let natively = family.natively(&[]);
    let locks = locks();
    assert!(locks.iter().any(|lock| lock == "hybrid") && locks.len() > 4, "{locks:?}");
    for lock in harness::due(locks, 3) {
        let mut wrong = differing(&family, &natively, &lock);
        wrong.retain(|case| !EXEMPT.contains(&case.as_str()));
        assert!(wrong.is_empty(), "{lock}: {wrong:?}");
    }
}

/// Families of cases about what is replaced, or about what happens to it.
macro_rules! say_the_same_on_all_locks {
    ($($family:ident)*) => {
        mod on_all_locks {
            $(
                #[test]
                fn $family() {
                    super::says_the_same_on_all_locks(stringify!($family));
                }
            )*
        }
    };
}

say_the_same_on_all_locks! {
    c11
    cancellation
    condition
    condition_old
    mutex
    other_names
    pointers
    process
    robust
    rwlock
    signals
    sync
    thread
}

#[test]
fn a_case_that_looks_inside_is_noticed() {
    let family = Family::build("rwlock");
    let differing = differing(&family, &family.natively(&[]), "hybrid");
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
