//! lockmeter: which lock, which caller, which holder, for how long.
//!
//! Each thread counts in cells of its own, one per call site that it has been at; nothing that is
//! shared is written unless somebody waits, or a histogram's buckets are not used enough to be a
//! cell's own (`run_owner.rs`). An acquisition and its hold are counted after the lock was let go, so
//! that no hold is made longer by it; meanwhile the acquisition stands in the thread's stack of
//! held locks.
//!
//! **Blame.** A contended lock has a board ([`board`]), on which each leaving holder adds its hold
//! time. A wait is charged to the holders whose sums grew while it lasted. A holder of an
//! uncontended lock adds nothing anywhere.
//!
//! The model is the kernel's lockmeter, as Hansen's 2002 patches used it, without its faults: see
//! docs.

pub mod board;
mod cell;
pub mod conditions;
mod contention;
mod core;
mod off_cpu;
mod pending;
mod readers;
mod ring;
mod run_owner;
mod runs;
mod shares;
mod steps;
mod thread;
mod timeline;

pub use self::board::{Boards, Hold, Left, Place};
pub use self::cell::{CellRef, Rest};
pub use self::conditions::{Conditions, On, Signal};
pub use self::contention::{Contention, Waiting};
pub use self::core::{Call, LockMeter};
pub use self::off_cpu::{LONG, LongHold, Period, Reading};
pub use self::pending::{CondWait, For, LastWait, LastWord, Pending, Woken};
pub use self::readers::ReadersRef;
pub use self::ring::{Kept, Ring};
pub use self::runs::Missing;
pub use self::shares::{Share, Shares};
pub use self::thread::{Ending, MeterThread};

/// The key of a call site's cell: `what` is the lock's class, or class and instance.
///
/// The site is mixed before the lock is added: call sites that lie close together differ in as few bits as classes
/// that were made one after the other, and the two differences would cancel out.
#[inline(always)]
pub fn key(what: u64, mode: u16, site: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let what = what ^ u64::from(mode).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (site.wrapping_mul(ODD) ^ what).wrapping_mul(ODD);
    // Not 0, which marks a free slot. The high bits index.
    mixed | 1
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::HashSet;

    use super::key;

    /// As of a program that takes locks of many classes at a few places close together.
    #[test]
    fn cells_of_near_call_sites_and_classes_are_apart() {
        for (class_bits, what) in [("class alone", 32), ("class and instance", 0)] {
            let mut keys = HashSet::new();
            for site in (0x5555_5555_5100..0x5555_5555_5200).step_by(8) {
                for lock in 1..4096u64 {
                    let of = lock << 32 | if what == 0 { lock } else { 0 };
                    assert!(keys.insert(key(of, 0, site)), "{class_bits}: {site:#x}, {lock}");
                }
            }
        }
    }
}
