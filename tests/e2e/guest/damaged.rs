//! Ledgers that are not what they should be: said plainly, never a crash.

use std::fs;
use std::path::{Path, PathBuf};

use lockwright_ledger::Ledger;

use crate::harness::{Run, Scratch, check_with, ledgers, program, run, tool, until};

/// The bytes of a sound ledger with a finding in it.
fn sound() -> Vec<u8> {
    let mut running = check_with(&["--keep"], program("abba.c")).spawn();
    until("the end", || (!running.is_running()).then_some(()));
    let kept = ledgers(&running.ledger_dir());
    assert_eq!(kept.len(), 1, "{kept:?} {}", running.stderr());
    // Only what is used: the file is a hole from there on.
    let used = Ledger::open(&kept[0]).expect("sound").header().used as usize;
    let file = fs::File::open(&kept[0]).unwrap();
    let mut bytes = vec![0; used];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).unwrap();
    bytes
}

fn report(ledger: &Path) -> Run {
    let mut command = tool();
    command.arg("report").arg(ledger);
    let run = run(command);
    assert!(
        run.status.code().is_some_and(|code| code != 101 && code != 134),
        "{:?} {}",
        run.status,
        run.stderr
    );
    run
}

fn stored(scratch: &Scratch, name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn sound_ones_are_read_anywhere() {
    let scratch = Scratch::new();
    let run = report(&stored(&scratch, "copied.lwl", &sound()));
    assert_eq!(run.code(), 66, "{}", run.stderr);
}

#[test]
fn another_version() {
    let scratch = Scratch::new();
    let mut bytes = sound();
    bytes[8..12].copy_from_slice(&4711u32.to_ne_bytes());
    let path = stored(&scratch, "future.lwl", &bytes);
    let run = report(&path);
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert!(run.stderr.contains("4711"), "the version seen: {}", run.stderr);
    assert!(run.stderr.contains(path.to_str().unwrap()), "{}", run.stderr);
    assert!(run.stderr.contains("help: "), "{}", run.stderr);
}

#[test]
fn no_ledger_at_all() {
    let scratch = Scratch::new();
    for bytes in [b"" as &[u8], b"#!/bin/sh\n", &[0; 100_000]] {
        let run = report(&stored(&scratch, "other.lwl", bytes));
        assert_eq!(run.code(), 125, "{}", run.stderr);
        assert!(run.stderr.contains("not a lockwright ledger"), "{}", run.stderr);
    }
    let run = report(&scratch.join("missing.lwl"));
    assert_eq!(run.code(), 125);
    assert!(run.stderr.contains("missing.lwl"), "{}", run.stderr);
    let empty = scratch.join("empty");
    fs::create_dir(&empty).unwrap();
    let run = report(&empty);
    assert_eq!(run.code(), 125);
    assert!(run.stderr.contains("empty"), "{}", run.stderr);
}

#[test]
fn cut_short() {
    let scratch = Scratch::new();
    let bytes = sound();
    let run = report(&stored(&scratch, "head.lwl", &bytes[..100]));
    assert_eq!(run.code(), 125, "{}", run.stderr);
    assert!(run.stderr.contains("truncated"), "{}", run.stderr);
    // With the header there, what is left is read, and what is gone is mentioned.
    for eighth in 1..8 {
        let len = (bytes.len() * eighth / 8).max(lockwright_ledger::layout::HEADER_BYTES);
        let run = report(&stored(&scratch, "part.lwl", &bytes[..len]));
        assert!([125, 66].contains(&run.code()), "{eighth}/8: {}", run.stderr);
        assert!(run.stderr.contains("cut short"), "{eighth}/8: {}", run.stderr);
    }
}

#[test]
fn random_damage_never_crashes_the_report() {
    let scratch = Scratch::new();
    let sound = sound();
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for round in 0..40 {
        let mut bytes = sound.clone();
        // The header and the tables that lie first decide most: half of the damage goes there.
        for _ in 0..1 + next() % 40 {
            let reach = if next() % 2 == 0 { bytes.len() } else { bytes.len().min(24 << 10) };
            let at = 16 + (next() as usize) % (reach - 24);
            match next() % 3 {
                0 => bytes[at] ^= 1 << (next() % 8),
                1 => bytes[at..at + 8].fill(0xff),
                _ => bytes[at..at + 8].copy_from_slice(&next().to_ne_bytes()),
            }
        }
        let run = report(&stored(&scratch, "damaged.lwl", &bytes));
        assert!(
            [0, 66, 125].contains(&run.code()),
            "round {round}: {:?} {}",
            run.status,
            run.stderr
        );
    }
}
