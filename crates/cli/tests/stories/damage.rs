//! Ledgers that were cut or scribbled over: a smaller report or none, never a panic.

use lockwright_cli::listing::Listing;
use lockwright_cli::report::text::{TextOptions, render};
use lockwright_ledger::Ledger;
use lockwright_ledger::rows::object::{ObjectFinding, ObjectPools, ObjectType, object_end};

use crate::objects::as_written;
use crate::story::{Story, listing, report};

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
            assert!(notes.iter().any(|note| note.contains("cut short")), "{notes:?}");
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
