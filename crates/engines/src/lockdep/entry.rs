//! An entry of a thread's stack of held locks: what the engine itself notes of it.
//!
//! Some notes matter when the lock is released for good. An entry has [`CLOSER`] in its recursion
//! count exactly as long as it has one of those, so that the fast path of release, which looks at
//! that count anyway, learns of all of them at once.

use lockwright_ledger::rows::Held;
use lockwright_ledger::rows::held_flag::LEFT;

/// [`Held::recursion`]: its release is not for the fast path. Only [`mark`] and [`unmark`] change
/// it.
pub(super) const CLOSER: u32 = 1 << 31;

/// [`Held::flags`]: has a [`Hold`].
///
/// [`Hold`]: lockwright_ledger::rows::Hold
pub(super) const LENT: u16 = 1 << 8;
/// [`Held::flags`]: being held, it is after another thread's hold.
pub(super) const PASSING: u16 = 1 << 9;
/// [`Held::flags`]: its release decides about a call site.
pub(super) const ON_TRIAL: u16 = 1 << 10;
/// [`Held::flags`]: pinned.
pub(super) const PINNED: u16 = 1 << 11;
/// [`Held::flags`]: its last owner died and nobody has made it consistent.
pub(super) const INCONSISTENT: u16 = 1 << 12;
/// [`Held::flags`]: a robust mutex, whose owner may end.
pub(super) const ROBUST: u16 = 1 << 13;
/// [`Held::flags`]: `node` is the instance's own context below its parent.
pub(super) const PLACED: u16 = 1 << 14;
/// [`Held::flags`]: given up in the middle of the stack, to be removed.
pub(super) const DEAD: u16 = 1 << 15;

/// The flags that matter when the lock is released for good.
const MATTERS_AT_RELEASE: u16 = LEFT | LENT | PASSING | ON_TRIAL | PINNED | INCONSISTENT;

/// Sets a flag of the entry.
pub(super) fn mark(held: &mut Held, flag: u16) {
    held.flags |= flag;
    update_closer(held);
}

/// Clears a flag of the entry.
pub(super) fn unmark(held: &mut Held, flag: u16) {
    held.flags &= !flag;
    update_closer(held);
}

fn update_closer(held: &mut Held) {
    let closer = if held.flags & MATTERS_AT_RELEASE == 0 { 0 } else { CLOSER };
    held.recursion = recursions(held) | closer;
}

/// The next release of the lock gives it up.
pub(super) fn is_last_release(held: &Held) -> bool {
    recursions(held) == 0
}

/// How many more times than once the lock of an entry is held.
pub fn recursions(held: &Held) -> u32 {
    held.recursion & !CLOSER
}
