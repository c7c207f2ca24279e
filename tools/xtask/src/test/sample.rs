//! How much of a check runs: all of it, or a part that the commit chooses.
//!
//! Mutants, planted faults and benchmarks are many of one kind, and each takes long. Each commit runs a part of them, a
//! release all. The commit's name chooses the part, so a repeated run repeats it, and over some commits every part has
//! its turn.

use std::fmt;
use std::process::Command;

use crate::workspace::{output, root};

/// How much of a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// The part whose turn it is.
    Turn(usize),
}

/// A build that takes minutes, which the other commits' checks do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// The command, from the packages of the published crates alone.
    Packaged,
    /// The tests of what is optimised as what is shipped.
    OptimisedTests,
}

impl Build {
    /// Each commit has one of so many.
    const ALL: usize = 2;
}

impl Extent {
    /// Whether what needs this build is due.
    pub fn has_build(self, build: Build) -> bool {
        self.has(build as usize, Build::ALL)
    }

    /// The turn of the commit that is checked out. Without one, everything runs.
    pub fn of_commit() -> Self {
        let mut git = Command::new("git");
        git.args(["rev-parse", "HEAD"]).current_dir(root());
        output(git).ok().and_then(|name| Self::of_name(&name)).unwrap_or(Self::Whole)
    }

    /// The turn of the commit with this name, in hexadecimal digits.
    fn of_name(name: &str) -> Option<Self> {
        usize::from_str_radix(name.get(..7)?, 16).ok().map(Self::Turn)
    }

    /// Whether the part with this number runs, of `parts` that take turns.
    ///
    /// # Panics
    /// If there are no parts.
    pub fn has(self, part: usize, parts: usize) -> bool {
        self.turn(parts).is_none_or(|turn| turn == part % parts)
    }

    /// Which of `parts` has its turn; none where all run.
    ///
    /// # Panics
    /// If there are no parts.
    pub fn turn(self, parts: usize) -> Option<usize> {
        match self {
            Self::Whole => None,
            Self::Turn(turn) => Some(turn % parts),
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("every check runs whole"),
            Self::Turn(_) => f.write_str(
                "of what a check repeats many times, the part runs that this commit's name chooses: `--all` runs everything",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_turn() {
        let runs = |extent: Extent| (0..8).filter(|&part| extent.has(part, 4)).collect::<Vec<_>>();
        assert_eq!(runs(Extent::Turn(0)), [0, 4]);
        assert_eq!(runs(Extent::Turn(7)), [3, 7]);
        assert_eq!(runs(Extent::Whole), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn each_commit_has_one_build_that_takes_minutes() {
        let all = [Build::Packaged, Build::OptimisedTests];
        let due = |turn| all.into_iter().filter(move |build| Extent::Turn(turn).has_build(*build));
        assert_eq!(
            (0..2).map(|turn| due(turn).collect()).collect::<Vec<Vec<_>>>(),
            all.map(|build| vec![build])
        );
        assert!(all.into_iter().all(|build| Extent::Whole.has_build(build)));
    }

    #[test]
    fn a_commits_name_chooses_the_turn() {
        let name = "00000a1fffffffffffffffffffffffffffffffff\n";
        assert_eq!(Extent::of_name(name), Some(Extent::Turn(0xa1)));
        assert_eq!(Extent::of_name(""), None);
        assert_eq!(Extent::of_name("no commit"), None);
    }
}
