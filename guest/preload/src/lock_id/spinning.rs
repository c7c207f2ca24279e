//! Which classes of locks spin: asked before each call that may sleep, without the core's lock.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use lockwright_engines::lockdep::{Core, Ident};
use lockwright_ledger::rows::{Class, wait_type};

use crate::os::upcall::Upcall;

/// Classes that there is room for. What is of a later one goes for one that does not spin: no
/// program is known that takes its first spinlock so late.
const CLASSES: usize = 1 << 16;

static SPINNING: [AtomicU64; CLASSES / 64] = [const { AtomicU64::new(0) }; CLASSES / 64];
/// There is one.
static ANY: AtomicBool = AtomicBool::new(false);

/// Called when there is the first: from then on calls that may sleep are looked at.
pub static FIRST: Upcall<fn()> = Upcall::none();

/// The class of `ident` is new, or it is news how its locks wait. With the core's lock held.
pub fn note(core: &Core, ident: Ident) {
    let class = ident.class();
    let Some(word) = SPINNING.get(class as usize / 64) else { return };
    let row = core.ledger().get::<Class>(class);
    // Relaxed: the thread that takes the lock is the one that has noted it, or has it from there by
    // way of the core's lock.
    if row.is_none_or(|row| row.waits() != wait_type::SPIN) {
        // Where no class spins, no bit is set, and a forked child would get a page for nothing.
        if any() {
            word.fetch_and(!(1 << (class % 64)), Relaxed);
        }
        return;
    }
    word.fetch_or(1 << (class % 64), Relaxed);
    if !ANY.swap(true, Relaxed)
        && let Some(first) = FIRST.get()
    {
        first();
    }
}

/// There are spinning locks in this process.
#[inline(always)]
pub fn any() -> bool {
    ANY.load(Relaxed)
}

/// The locks of the class spin.
pub fn has(class: u32) -> bool {
    SPINNING
        .get(class as usize / 64)
        .is_some_and(|word| word.load(Relaxed) >> (class % 64) & 1 != 0)
}

/// A ledger begins, whose classes are others.
pub fn forget() {
    if any() {
        SPINNING.iter().for_each(|word| word.store(0, Relaxed));
    }
}
