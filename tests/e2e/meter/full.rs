//! A ledger without space left: the old lockmeter took one lock for all that its tables had no room
//! for.

use std::collections::HashMap;

use crate::harness::{program, under};

#[test]
fn what_is_lost_takes_no_lock_and_is_told_at_the_head() {
    let run = under("meter", &["--instances"], program("meter_full.c")).run();
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert_eq!(run.report()["incomplete"][0]["reason"], "file-size", "{}", run.stderr);
    let text = run.text();
    let says: HashMap<&str, u64> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, number)| (name, number.parse().expect("a number")))
        .collect();
    assert!(says["until_full"] > 1000, "what takes the lock is seen to do so: {text}");
    assert_eq!(says["when_full"], 0, "system calls of what is lost");
    let lost = run.report()["lost"].as_u64().expect("a count");
    assert!(lost >= says["not_recorded"], "{lost} lost of {text}");
    let (head, _) = run.stderr.split_once("\nLOCKS").expect("a head");
    assert!(head.contains("records lost: numbers are too small"), "{head}");
}
