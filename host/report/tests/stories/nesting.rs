//! Locks nested within their class.

use crate::story::{Story, told, verdict};
use lockwright_report::prose::told as told_of;

#[test]
fn both_orders_of_one_pair() {
    let story = "
        static A
        T1: L(A1)@1 L(A2)@2 U(A2) U(A1)
        T2: L(A2)@1 L(A1)@2 U(A1) U(A2)";
    let report = Story::new().tell(story).report();
    assert_eq!(told(&report), ["likely circular-dependency: table0[] table0[]"]);
    assert_eq!(
        told_of(&report.findings[0]).title,
        "`table0[1]` and `table0[2]` are taken in both orders"
    );
}

#[test]
fn ascending_addresses_are_clean() {
    let story = "T1: L(A1) L(A2) U(A2) U(A1) L(A2) L(A5) U(A5) U(A2)\nT2: L(A3) L(A4) U(A4) U(A3)";
    assert!(verdict(story).is_empty());
}

#[test]
fn no_discipline_at_all() {
    let story = "
        static A
        T1: L(A1) L(A2) U(A2) U(A1)
        T2: L(A4) L(A3) U(A3) U(A4)";
    assert_eq!(verdict(story)[0].split(':').next(), Some("possible recursive-locking"));
}

/// The pairs of [`no_discipline_at_all`], but each lock is taken at two places of its own.
#[test]
fn elements_with_purposes_are_no_class() {
    let story = "
        static A
        T1: L(A1) L(A2) U(A2) U(A1) L(A1) U(A1) L(A2) U(A2)
        T2: L(A4) L(A3) U(A3) U(A4) L(A4) U(A4) L(A3) U(A3)";
    assert!(verdict(story).is_empty());
    // One more place that takes any of them.
    let loops = format!("{story} L(A1)@9 U(A1) L(A2)@9 U(A2) L(A3)@9 U(A3) L(A4)@9 U(A4)");
    assert_eq!(verdict(&loops)[0].split(':').next(), Some("possible recursive-locking"));
}

#[test]
fn two_purposes_in_both_orders() {
    let story = "static A\nT1: L(A1) L(A2) U(A2) U(A1)\nT2: L(A2) L(A1) U(A1) U(A2)";
    assert_eq!(verdict(story), ["likely circular-dependency: table0[1] table0[2]"]);
}

#[test]
fn parent_before_child_is_clean() {
    let story = "
        T1: L(A5) L(A2) U(A2) U(A5)
        T2: L(A5) L(A9) U(A9) U(A5)
        T3: L(A2) L(A1) U(A1) U(A2)
        T4: L(A2) L(A7) U(A7) U(A2)";
    assert!(verdict(story).is_empty());
}

#[test]
fn hand_over_hand_is_clean() {
    let mut story = Story::new();
    // A list whose order has nothing to do with addresses.
    let list = [3, 9, 1, 7, 2, 8];
    for thread in ["T1", "T2"] {
        story.tell(&format!("{thread}: L(A{})@1", list[0]));
        for step in list.windows(2) {
            story.tell(&format!("{thread}: L(A{})@2 U(A{})", step[1], step[0]));
        }
        story.tell(&format!("{thread}: U(A{})", list[5]));
    }
    assert!(told(&story.report()).is_empty());
}

#[test]
fn dining_philosophers() {
    let mut story = Story::new();
    story.tell("static Fork");
    for i in 0..5 {
        let (left, right) = (i, (i + 1) % 5);
        story.tell(&format!(
            "T{}: L(Fork{left})@1 L(Fork{right})@2 U(Fork{right}) U(Fork{left})",
            i + 1
        ));
    }
    let report = story.report();
    let ring = ["table0[]"; 5].join(" ");
    assert_eq!(told(&report), [format!("likely circular-dependency: {ring}")]);
    assert_eq!(
        told_of(&report.findings[0]).title,
        "`table0[0]`, `table0[1]`, `table0[2]` and 2 more are taken in a cycle"
    );
}

#[test]
fn one_left_handed_philosopher_saves_them() {
    let mut story = Story::new();
    story.tell("static Fork");
    for i in 0..5 {
        let (first, second) = if i == 4 { (0, 4) } else { (i, i + 1) };
        story.tell(&format!(
            "T{i}: L(Fork{first})@1 L(Fork{second})@2 U(Fork{second}) U(Fork{first})"
        ));
    }
    assert!(told(&story.report()).is_empty());
}

/// Two pairs that have no lock in common follow an order by chance only, whatever the locks are.
#[test]
fn two_pairs_of_heap_objects_in_opposite_directions() {
    let report = Story::new()
        .tell(
            "
            T1: L(A1) L(A2) U(A2) U(A1)
            T2: L(A4) L(A3) U(A3) U(A4)",
        )
        .report();
    assert_eq!(told(&report)[0].split(':').next(), Some("possible recursive-locking"));
    let evidence = &told_of(&report.findings[0]).evidence;
    assert!(evidence[1].contains("no pair was taken both ways"), "{evidence:?}");
}

/// One lock of each pair is only read, by readers that do not wait for each other.
#[test]
fn pairs_taken_both_ways_by_readers_are_told_as_such() {
    let report = Story::new()
        .tell(
            "
            rwlock A
            T1: R(A1) W(A2) U(A2) U(A1)
            T2: W(A2) R(A1) U(A1) U(A2)",
        )
        .report();
    assert_eq!(told(&report)[0].split(':').next(), Some("possible recursive-locking"));
    let evidence = &told_of(&report.findings[0]).evidence;
    assert!(evidence[1].contains("one of the two is only read"), "{evidence:?}");
    assert!(evidence.iter().all(|line| !line.contains("through a writer")), "{evidence:?}");
}
