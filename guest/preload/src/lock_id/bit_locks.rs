//! Locks that are one bit of a word, as GLib's bit locks are: several may lie in one word.
//!
//! Each is known by an address within its word: the first that was met there by the word's own, the
//! next by that of the byte after, up to four. So what becomes of memory becomes of them: as locks
//! known by their address they are forgotten with the block that they lie in, and what comes to lie
//! there next is another lock. The word itself is never read here: it is part of an object, which
//! may be gone.
//!
//! Nothing reports the end of a word in a frame: such locks go unwatched.

use lockwright_engines::lockdep::Ident;

use super::side_table::SideTable;
use crate::recorder::state;
use crate::stack::stack_bounds;

/// Bytes of a word, of a pointer its lower ones: for as many locks there are addresses.
const BYTES: u64 = 4;

/// Locks by word: for each of the addresses a byte with the number of the bit, and 1; 0 if it stands
/// for none yet.
#[unsafe(link_section = "lockwright_forked")]
static BITS: SideTable = SideTable::new();

/// What stands for a word whose locks go unwatched: there is no such bit, and no address is left.
const UNWATCHED: Ident = Ident(u64::MAX);

/// Bits that can be locks.
const MOST: u64 = 32;

/// Place within `bits`, as [`BITS`] has them, of what stands for a lock, or for none.
fn place(bits: Ident, what: u64) -> Option<u64> {
    (0..BYTES).find(|at| bits.0 >> (8 * at) & 0xff == what)
}

/// The address that stands for the lock, if it has been met.
pub fn known(word: u64, bit: i32) -> Option<u64> {
    let number = u64::try_from(bit).ok().filter(|bit| *bit < MOST)? + 1;
    BITS.get(word).and_then(|bits| place(bits, number)).map(|at| word + at)
}

/// The address that stands for the lock, which is about to be taken. `None` if it is not to be
/// watched.
pub fn address(word: u64, bit: i32) -> Option<u64> {
    known(word, bit).or_else(|| known_slow(word, bit))
}

#[cold]
fn known_slow(word: u64, bit: i32) -> Option<u64> {
    let number = u64::try_from(bit).ok().filter(|bit| *bit < MOST)? + 1;
    let bits = BITS.get(word);
    if !word.is_multiple_of(BYTES) || bits == Some(UNWATCHED) {
        return None;
    }
    if state::status() == state::FORKED {
        state::begin_child();
    }
    let is_in_frame = stack_bounds::has_now(word);
    state::with_core(|_| {
        if is_in_frame {
            BITS.insert(word, UNWATCHED);
            return None;
        }
        // Another thread may have been here since.
        let bits = BITS.get(word).unwrap_or(Ident(0));
        let at = place(bits, number).or_else(|| {
            let free = place(bits, 0)?;
            BITS.insert(word, Ident(bits.0 | number << (8 * free)));
            Some(free)
        })?;
        Some(word + at)
    })?
}

/// The address stands for one of these locks.
pub fn is_one(address: u64) -> bool {
    let word = address & !(BYTES - 1);
    let bits = BITS.get(word).filter(|bits| *bits != UNWATCHED);
    bits.is_some_and(|bits| bits.0 >> (8 * (address - word)) & 0xff != 0)
}

/// The memory `[from, to)` is about to go: calls `f` with the address of each of these locks in it.
/// What comes to lie there next has others.
pub fn go(from: u64, to: u64, mut f: impl FnMut(u64)) {
    if !BITS.has_any(from, to) {
        return;
    }
    BITS.each(from, to, |word, bits| {
        let locks = (0..BYTES).filter(|at| bits != UNWATCHED && bits.0 >> (8 * at) & 0xff != 0);
        locks.for_each(|at| f(word + at));
    });
    state::with_core(|_| BITS.remove_range(from, to));
}
