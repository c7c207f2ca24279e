//! What was found, and what has a place, for people.

use std::collections::BTreeMap;
use std::fmt;

/// What a place is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The atomic instruction that takes a lock which is free.
    Acquisition,
    /// The call that takes a lock which is not.
    Wait,
    /// The call of the cold half of a try.
    Try,
    /// The atomic instruction that releases a lock.
    Release,
    /// A call of a function that takes a lock, and is not inlined.
    Lock,
    /// A call of a function that tries to.
    TryLock,
    /// A call of a function that releases one.
    Unlock,
}

/// Why something has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A call of the cold function was found, and no atomic instruction that leads to it.
    NoAtomic,
    /// Some jump leads between the bytes of the place.
    BranchTarget,
    /// An instruction there would do something else elsewhere.
    Unmovable,
    /// The instructions there are too long.
    TooLong,
    /// Another place has its bytes.
    Overlaps,
    /// The function has jumps whose targets are not known.
    UnknownJumps,
    /// The function keeps values where a call would overwrite them.
    RedZone,
    /// The address cannot be computed elsewhere.
    Operand,
    /// The cold function is jumped to, not called.
    TailCall,
    /// No function's bounds are known there.
    NoFunction,
    /// What a register has that is called through is not known on all ways.
    UnknownCall,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Acquisition => "inlined acquisitions",
            Self::Wait => "waits",
            Self::Try => "slow tries",
            Self::Release => "inlined releases",
            Self::Lock => "calls that lock",
            Self::TryLock => "calls that try to lock",
            Self::Unlock => "calls that unlock",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAtomic => "no atomic instruction leads to the call",
            Self::BranchTarget => "a jump leads between the bytes",
            Self::Unmovable => "an instruction there cannot be moved",
            Self::TooLong => "the instructions there are too long",
            Self::Overlaps => "another place has these bytes",
            Self::UnknownJumps => "the function has jumps to unknown addresses",
            Self::RedZone => "the function keeps values below its stack pointer",
            Self::Operand => "the lock's address cannot be computed elsewhere",
            Self::TailCall => "the function is jumped to, not called",
            Self::NoFunction => "the function has no unwind information",
            Self::UnknownCall => "what is called through a register is not known on all ways",
        })
    }
}

/// How many of a kind there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Found in all.
    pub found: u32,
    /// Those with a place.
    pub placed: u32,
    /// The addresses of those without, by reason.
    pub unplaced: BTreeMap<Reason, Vec<u64>>,
}

/// What was found, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub BTreeMap<Kind, Count>);

impl Counts {
    /// Notes one more.
    pub fn note(&mut self, kind: Kind, address: u64, placed: Result<(), Reason>) {
        let count = self.0.entry(kind).or_default();
        count.found += 1;
        match placed {
            Ok(()) => count.placed += 1,
            Err(reason) => count.unplaced.entry(reason).or_default().push(address),
        }
    }

    /// How many of some kinds were found, and how many have a place.
    pub fn sum(&self, kinds: &[Kind]) -> (u32, u32) {
        let counts = kinds.iter().filter_map(|kind| self.0.get(kind));
        counts.fold((0, 0), |sum, count| (sum.0 + count.found, sum.1 + count.placed))
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, count) in &self.0 {
            write!(f, "{kind}: {} of {}", count.placed, count.found)?;
            for (reason, addresses) in &count.unplaced {
                write!(f, "; {}: {reason}", addresses.len())?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
