//! Ledgers that were cut or scribbled over: a smaller report or none, never a panic.

use lockwright_analysis::finding::coverage::{Missing, Note};
use lockwright_ledger::Ledger;
use lockwright_ledger::layout::{Header, TableHeader, TableId};
use lockwright_ledger::rows::object::{ObjectFinding, ObjectPools, ObjectType, object_end};
use lockwright_ledger::rows::{Class, Finding, Held, Stack, Step, Text, Thread, finding_kind};
use lockwright_report::listing::Listing;
use lockwright_report::text::{TextOptions, render};

use crate::listing::listing;
use crate::objects::as_written;
use crate::story::{Story, report, told};

fn story() -> Vec<u8> {
    let mut story = Story::new();
    story.tell(
        "rwlock R
         T1: L(A) F(T2) L(B) L(G) U(G) U(B) U(A)
         T2: L(B) L(A) U(A) U(B) R(R) L(G) U(G) U(R)
         T3: L(G1) L(G2) U(G2) U(G1) L(X)
         T4: L(Y) B(X)
         T3: B(Y)",
    );
    let name = story.text(b"request");
    for fault in 1..=9 {
        let type_id = story.row(ObjectType { builtin: fault % 3, name, ..ObjectType::default() });
        let stack = story.stack(30 + u64::from(fault));
        let mut row = ObjectFinding {
            type_id,
            thread: 1,
            addr: 0x7000,
            stack,
            init_stack: stack,
            init_thread: 2,
            init_ns: 1,
            ..ObjectFinding::default()
        };
        as_written(&mut row, fault as u8, object_end::FREED);
        story.row(row);
    }
    story.row(ObjectPools { pool_free: 7, ..ObjectPools::default() });
    story.bytes()
}

/// How much a ledger may make of each of its bytes: a row of 64 names a text of 4,096 at most.
const MOST_PER_BYTE: usize = 64;

/// Not damaged: the writer finds room where it is, so the second part of a text may come first in the file.
#[test]
fn a_text_across_two_extents_of_which_the_second_comes_first() {
    use std::mem::offset_of;
    let mut story = Story::new();
    let mut whole = story.text(b"0123456789abcdef");
    let mut bytes = story.bytes();
    let of_table = offset_of!(Header, tables) + TableId::Bytes as usize * size_of::<TableHeader>();
    let first_extent = of_table + offset_of!(TableHeader, extents);
    let base = u32::from_le_bytes(bytes[of_table + 4..][..4].try_into().unwrap());
    while whole.offset + whole.len <= base {
        whole = story.text(b"0123456789abcdef");
    }
    assert!(whole.offset < base && whole.offset + whole.len > base, "{whole:?} across {base}");
    bytes = story.bytes();
    let at = u64::from_le_bytes(bytes[first_extent..][..8].try_into().unwrap());
    let moved = bytes.len() as u64;
    let extent = bytes[at as usize..][..base as usize].to_vec();
    bytes.extend(extent);
    bytes[first_extent..][..8].copy_from_slice(&moved.to_le_bytes());
    let ledger = Ledger::from_bytes(bytes).unwrap();
    assert_eq!(ledger.text(whole), "0123456789abcdef");
}

/// Rows that name the same megabyte, over and over: 2 MB were 20 GB of names.
#[test]
fn classes_that_share_a_name_of_a_megabyte() {
    let mut story = Story::with_room(256 << 20);
    story.tell("T1: L(A) L(B) U(B) U(A)\nT2: L(B) L(A) U(A) U(B)");
    let first = story.text(&[b'x'; 4096]);
    for _ in 1..256 {
        story.text(&[b'x'; 4096]);
    }
    let name = Text { offset: first.offset, len: 1 << 20 };
    for key in 0..20_000 {
        story.row(Class { name, key, ..Class::default() });
    }
    let ledger = story.ledger();
    let names: usize = ledger.rows::<Class>().map(|(_, row)| ledger.text(row.name).len()).sum();
    assert!(names <= ledger.bytes().len(), "{names} bytes of names");
    assert!(ledger.refused_rows() > 19_000);
    let most = MOST_PER_BYTE * ledger.bytes().len();
    let listed = listing(Listing::Classes, story.ledger()).len();
    assert!(listed < most, "{listed} bytes");
    let found = report(ledger);
    assert!(found.processes[0].notes.iter().any(|note| matches!(note, Note::RowsRefused(_))));
    assert_eq!(told(&found), ["likely circular-dependency: A B"], "what is whole is reported");
}

#[test]
fn stacks_that_share_thousands_of_frames() {
    let mut story = Story::with_room(256 << 20);
    story.tell("T1: L(A) L(B) U(B) U(A)");
    let frames: Vec<u64> = (0..4096).collect();
    let first = story.frames(&frames);
    for hash in 0..20_000 {
        story.row(Stack { first, len: 4096, hash, ..Stack::default() });
    }
    let ledger = story.ledger();
    let frames: usize =
        ledger.rows::<Stack>().filter_map(|(id, _)| Some(ledger.stack(id)?.0.len())).sum();
    assert!(frames * size_of::<u64>() <= MOST_PER_BYTE * ledger.bytes().len(), "{frames} frames");
    assert!(told(&report(ledger)).is_empty());
}

#[test]
fn deadlocks_of_thousands_of_overlapping_steps() {
    let mut story = Story::with_room(256 << 20);
    story.tell("T1: L(A) L(B) U(B) U(A)");
    let mut first_step = 0;
    for addr in 0..20_000 {
        let id = story.row(Step { thread: 1, class: 1, addr, ..Step::default() });
        first_step = if first_step == 0 { id } else { first_step };
    }
    for at in 0..2_000 {
        let kind = finding_kind::DEADLOCK;
        let steps = 18_000;
        story.row(Finding { kind, first_step: first_step + at, steps, ..Finding::default() });
    }
    let ledger = story.ledger();
    let steps: u64 = ledger.rows::<Finding>().map(|(_, row)| u64::from(row.steps)).sum();
    assert!(steps <= ledger.len_of::<Step>(), "{steps} steps");
    assert_eq!(ledger.refused_rows(), 1_999);
    let found = report(ledger);
    let steps: usize = found.findings.iter().map(|finding| finding.steps.len()).sum();
    assert_eq!(steps, 18_000, "the first is whole");
    assert!(!found.processes[0].notes.is_empty());
}

#[test]
fn threads_that_share_what_they_hold() {
    let mut story = Story::with_room(256 << 20);
    let taken: String = (0..5_000).map(|i| format!(" L(A{i})@1")).collect();
    story.tell(&format!("T1:{taken}"));
    let ledger = story.ledger();
    let (_, holder) = ledger.rows::<Thread>().max_by_key(|(_, row)| row.held.capacity).unwrap();
    assert_eq!(ledger.held(&holder).len(), 5_000);
    for _ in 0..10_000 {
        story.row(holder);
    }
    let ledger = story.ledger();
    let held: usize = ledger.rows::<Thread>().map(|(_, row)| ledger.held(&row).len()).sum();
    assert!(held * size_of::<Held>() <= 2 * ledger.bytes().len(), "{held} held locks");
}

/// Numbers without a pattern, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % sides
    }
}

#[test]
fn cut_anywhere() {
    let whole = story();
    let mut dice = Dice(1);
    for _ in 0..60 {
        let mut bytes = whole.clone();
        bytes.truncate(dice.roll(whole.len()));
        if let Ok(ledger) = Ledger::from_bytes(bytes) {
            let notes = &report(ledger).processes[0].notes;
            assert!(
                notes.iter().any(|note| matches!(note, Note::Missing(Missing::LedgerCut { .. }))),
                "{notes:?}"
            );
        }
    }
}

#[test]
fn scribbled_over() {
    scribble(1000, 2);
}

/// `cargo test --release -p lockwright-cli --test stories -- --ignored`: minutes.
#[test]
#[ignore = "a million ledgers take minutes"]
fn a_million_times_scribbled_over() {
    scribble(1_000_000, 3);
}

fn scribble(times: u32, seed: u64) {
    let whole = story();
    // Where there are rows, so that the dice do not mostly hit emptiness.
    let written: Vec<usize> = (128..whole.len()).filter(|&i| whole[i] != 0).collect();
    let mut dice = Dice(seed);
    for _ in 0..times {
        let mut bytes = whole.clone();
        for _ in 0..1 + dice.roll(40) {
            let near = written[dice.roll(written.len())];
            bytes[near] = dice.roll(256) as u8;
        }
        if let Ok(ledger) = Ledger::from_bytes(bytes.clone()) {
            render(&report(ledger), &TextOptions { colour: false, all: true, width: 100 });
        }
        if let Ok(ledger) = Ledger::from_bytes(bytes) {
            listing(Listing::Stats, ledger);
        }
    }
}
