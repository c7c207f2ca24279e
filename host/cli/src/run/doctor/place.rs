//! Where lockwright would work: its directory for ledgers, limits, other preloaded libraries, and
//! one trial with a program of its own.

use std::path::Path;

use lockwright_ledger::layout::FILE_LENGTHS;

use super::diagnosis::{Effect, Finding};
use super::room::room_here;
use crate::ledger_dir::{RunDir, Surroundings, free_space};
use crate::run::prices::calibrate::{self, Trial};
use crate::run::watch::c_library;
use crate::run::watch::engines::Engines;
use crate::run::watch::preload::Preload;
use lockwright_analysis::finding::coverage::OtherLayouts;
use lockwright_analysis::symbolize::PRELOAD_FILE_NAME;
use lockwright_report::prose::coverage;

/// What is in the way here, whatever the program.
pub fn examine(chosen: Option<&Path>) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(room_here());
    findings.extend(other_preloads());
    if findings.iter().any(|finding| finding.effect == Effect::Blocks) {
        return findings;
    }
    let around = Surroundings::current();
    let unusable = |error: &lockwright_console::error::Error| {
        let what = error.reasons().collect::<Vec<_>>().join("; ");
        let finding = Finding::new("ledger-directory", Effect::Blocks, what);
        error.remedies().fold(finding, Finding::help)
    };
    let mut dir = match RunDir::create(chosen, &around) {
        Ok(dir) => dir,
        Err(error) => {
            findings.push(unusable(&error));
            return findings;
        }
    };
    findings.extend(little_space(dir.path()));
    let preload = match Preload::unpack(&mut dir, &around) {
        Ok(preload) => preload,
        Err(error) => {
            findings.push(unusable(&error));
            return findings;
        }
    };
    let engines = Engines {
        lockdep: true,
        objects: true,
        lockmeter: None,
        bounces: false,
        timeline: None,
        allocations: false,
    };
    match calibrate::trial(&preload, &engines, dir.path()) {
        Trial::Unknown => {}
        Trial::Watched { stamped, other_layouts } => {
            findings.extend((!stamped).then(slower));
            findings.extend(other_layouts.as_ref().map(objects_unread));
        }
        // A limit explains it, and is reported.
        Trial::Unwatched if !findings.is_empty() => {}
        Trial::Unwatched => findings.push(
            Finding::new(
                "trial",
                Effect::Blocks,
                "a program of lockwright's own could not be watched here",
            )
            .help("name another place for ledgers: --ledger-dir DIR")
            .help("see whether a sandbox forbids to map files, or clears LD_PRELOAD"),
        ),
    }
    findings
}

/// Locks carry no identity.
fn slower() -> Finding {
    let what = format!(
        "glibc {} lays out locks in another way than lockwright knows: all is seen, but slower",
        c_library::version_text()
    );
    Finding::new("layout", Effect::Note, what).help("use a newer lockwright")
}

/// Some objects' bytes are not read.
fn objects_unread(other: &OtherLayouts) -> Finding {
    Finding::new("object-layout", Effect::Hides, coverage::other_layouts(other))
        .help("use a newer lockwright")
        .help("if LD_PRELOAD names a library that has these functions: leave it out")
}

/// A file system on which not even the smallest ledger could fill up.
fn little_space(dir: &Path) -> Option<Finding> {
    let least = FILE_LENGTHS[FILE_LENGTHS.len() - 1];
    let free = free_space(dir).ok().filter(|&free| free < least)?;
    let what = format!(
        "only {} MiB are free in {}: where that is not enough, watching stops early",
        free >> 20,
        dir.parent().unwrap_or(dir).display()
    );
    Some(
        Finding::new("little-space", Effect::Note, what)
            .help("name a directory with more space, best on a tmpfs: --ledger-dir DIR"),
    )
}

/// Libraries that the user's environment preloads, too.
fn other_preloads() -> Option<Finding> {
    let list = std::env::var("LD_PRELOAD").ok()?;
    let others: Vec<&str> = list
        .split([' ', ':'])
        .filter(|entry| !entry.is_empty() && !entry.ends_with(PRELOAD_FILE_NAME))
        .collect();
    if others.is_empty() {
        return None;
    }
    let what = format!(
        "LD_PRELOAD names {}: they stay, after lockwright's library, which hands each call on to them",
        others.join(", ")
    );
    Some(Finding::new("other-preloads", Effect::Note, what).help(
        "if one of them must come first (a sanitizer's runtime), leave it out while you check",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::doctor::room::room;

    #[test]
    fn limits_leave_room_or_not() {
        let effect = |space, file| room(space, file).map(|finding| finding.effect);
        assert_eq!(effect(u64::MAX, u64::MAX), None);
        assert_eq!(effect(4 << 30, u64::MAX), Some(Effect::Note));
        assert_eq!(effect(u64::MAX, 1 << 20), Some(Effect::Blocks));
        assert_eq!(effect(128 << 20, u64::MAX), Some(Effect::Note));
        assert_eq!(effect(4 << 20, u64::MAX), Some(Effect::Blocks));
        let note = room(4 << 30, u64::MAX).unwrap();
        assert!(note.what.contains("512 MiB"), "{}", note.what);
    }
}
