//! debugobjects' counters, of one process and of several.

use lockwright_ledger::rows::object::ObjectPools;
use lockwright_report::listing::Listing;

use crate::listing::{listing, listing_of};
use crate::story::Story;

/// The figures that the kernel's mailing list has of a machine after three builds.
fn pools() -> ObjectPools {
    ObjectPools {
        pool_free: 5901 - 3742,
        pool_pcp_free: 3742,
        pool_min_free: 1022,
        pool_used: 104_805,
        pool_max_used: 168_081,
        objs_allocated: 5_796_864,
        objs_freed: 5_687_182,
        pool_lock_acquired: 77,
        ..ObjectPools::default()
    }
}

#[test]
fn pools_are_shown_as_the_kernel_does() {
    let mut story = Story::new();
    story.tell("T1: L(A) U(A)");
    story.row(pools());
    let text = listing(Listing::Stats, story.ledger());
    let own = text.split("debug_objects:\n").nth(1).expect("a section");
    let names: Vec<&str> = own.lines().map(|line| line.split(':').next().unwrap().trim()).collect();
    let kernels = [
        "max_chain",
        "max_checked",
        "warnings",
        "fixups",
        "pool_free",
        "pool_pcp_free",
        "pool_min_free",
        "pool_used",
        "pool_max_used",
        "on_free_list",
        "objs_allocated",
        "objs_freed",
    ];
    assert_eq!(names[..12], kernels);
    assert_eq!(names[12..], ["pool_lock_acquired", "pool_lock_contended", "lost", "off"]);
    for line in [
        "pool_free     :5901",
        "pool_pcp_free :3742",
        "pool_min_free :1022",
        "pool_used     :104805",
        "pool_max_used :168081",
        "on_free_list  :0",
        "objs_allocated:5796864",
        "objs_freed    :5687182",
        "pool_lock_acquired:77",
    ] {
        assert!(own.lines().any(|shown| shown == line), "no {line} in\n{own}");
    }
}

#[test]
fn pools_of_several_processes_are_one() {
    let mut stories = [Story::new(), Story::new(), Story::new()];
    for story in &mut stories {
        story.tell("T1: L(A) U(A)");
    }
    stories[0].row(pools());
    stories[2].row(ObjectPools { pool_min_free: 7, max_chain: 3, off: 1, ..pools() });
    let ledgers = stories.each_mut().map(Story::ledger);
    let text = listing_of(Listing::Stats, &ledgers);
    for line in [
        "max_chain     :3",
        "pool_free     :11802",
        "pool_min_free :7",
        "pool_max_used :168081",
        "off           :1",
    ] {
        assert!(text.lines().any(|shown| shown == line), "no {line} in\n{text}");
    }
    assert!(text.contains("lock-classes:                                  3"), "{text}");
}

#[test]
fn without_pools_one_line_says_so() {
    let text = listing(Listing::Stats, Story::new().tell("T1: L(A) U(A)").ledger());
    let last = text.lines().last();
    assert_eq!(last, Some("debug_objects: nothing, for objects were not tracked"), "{text}");
}
