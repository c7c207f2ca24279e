//! An entry of a thread's stack of held locks: what the engine itself notes of it.
//!
//! Some notes matter when the lock is released for good. An entry has [`CLOSER`] in its recursion
//! count exactly as long as it has one of those, so that the fast path of release, which looks at
//! that count anyway, learns of all of them at once.

//!
//! Other threads look at five words of an entry, and at no others: the lock's address, its identity,
//! where it was taken, its context, and mode with flags. See [`crate::held`].

use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use lockwright_ledger::rows::Held;
use lockwright_ledger::rows::held_flag::{IN_COND_WAIT, LEFT, MONITOR};

use crate::held::{Entry, addr_of, word};
use crate::lockdep::acquire::Ident;

/// [`Held::recursion`]: its release is not for the fast path. Only [`mark`] and [`unmark`] change
/// it.
pub(crate) const CLOSER: u32 = 1 << 31;

/// [`Held::flags`]: with one of these it is no lock that the thread keeps, as far as is known.
pub(crate) const NOT_KEPT: u16 = IN_COND_WAIT | MONITOR;
/// [`Held::flags`]: a section that takes a monitor, unless the thread signals in it.
pub(crate) const TAKES: u16 = 1 << 5;
/// [`Held::flags`]: a section that releases one.
pub(crate) const RELEASES: u16 = 1 << 6;
/// [`Held::flags`]: has a [`Hold`].
///
/// [`Hold`]: lockwright_ledger::rows::Hold
pub(crate) const LENT: u16 = 1 << 8;
/// [`Held::flags`]: being held, it is after another thread's hold.
pub(crate) const PASSING: u16 = 1 << 9;
/// [`Held::flags`]: its release decides about a call site.
pub(crate) const ON_TRIAL: u16 = 1 << 10;
/// [`Held::flags`]: pinned.
pub(crate) const PINNED: u16 = 1 << 11;
/// [`Held::flags`]: its last owner died and nobody has made it consistent.
pub(crate) const INCONSISTENT: u16 = 1 << 12;
/// [`Held::flags`]: a robust mutex, whose owner may end.
pub(crate) const ROBUST: u16 = 1 << 13;
/// [`Held::flags`]: `node` is the instance's own context below its parent.
pub(crate) const PLACED: u16 = 1 << 14;
/// [`Held::flags`]: given up in the middle of the stack, to be removed.
pub(crate) const DEAD: u16 = 1 << 15;

const _: () = {
    assert!(offset_of!(Held, addr) == 0);
    assert!(
        offset_of!(Held, inst) % 8 == 0 && offset_of!(Held, class) == offset_of!(Held, inst) + 4
    );
    assert!(
        offset_of!(Held, mode) % 4 == 0 && offset_of!(Held, flags) == offset_of!(Held, mode) + 2
    );
    assert!(cfg!(target_endian = "little"));
};

/// Mode and flags of an entry, as one word.
#[inline(always)]
const fn bits(mode: u16, flags: u16) -> u32 {
    mode as u32 | (flags as u32) << 16
}

/// The word with the flags of an entry.
///
/// # Safety
/// An entry in a thread's array.
#[inline(always)]
unsafe fn bits_of<'a>(entry: *const Held) -> &'a AtomicU32 {
    // SAFETY: by contract this is an entry in a thread's array, which stays mapped; the layout is
    // asserted above.
    unsafe { AtomicU32::from_ptr((&raw const (*entry).mode).cast::<u32>().cast_mut()) }
}

/// The word with the context of an entry.
///
/// # Safety
/// As [`bits_of`].
#[inline(always)]
unsafe fn node_of<'a>(entry: *const Held) -> &'a AtomicU32 {
    // SAFETY: by contract `entry` is a mapped entry, and every thread accesses this word
    // atomically.
    unsafe { AtomicU32::from_ptr((&raw const (*entry).node).cast_mut()) }
}

/// The word with the identity of the lock of an entry.
///
/// # Safety
/// As [`bits_of`].
#[inline(always)]
unsafe fn lock_of<'a>(entry: *const Held) -> &'a AtomicU64 {
    // SAFETY: by contract this is an entry in a thread's array, which stays mapped; the layout is
    // asserted above.
    unsafe { word((&raw const (*entry).inst).cast()) }
}

/// The word with the site of an entry.
///
/// # Safety
/// As [`bits_of`].
#[inline(always)]
unsafe fn site_of<'a>(entry: *const Held) -> &'a AtomicU64 {
    // SAFETY: by contract `entry` is a mapped entry, and every thread accesses this word
    // atomically.
    unsafe { word(&raw const (*entry).site) }
}

/// What an acquisition notes of a lock.
#[derive(Clone, Copy)]
pub(crate) struct Note {
    pub key: u64,
    pub site: u64,
    pub ident: Ident,
    pub node: u32,
    pub mode: u16,
}

/// Fills a reserved entry, which has no address yet, and no flags. Its recursion is 0: entries above
/// the top are blank in that, or the fast path would have to store one word more.
///
/// # Safety
/// An entry of the calling thread's.
#[inline(always)]
pub(crate) unsafe fn fill(entry: *mut Held, note: Note) {
    // SAFETY: by contract this is an entry of the calling thread's. Relaxed: as in
    // `held::set_addr`.
    unsafe {
        (*entry).key = note.key;
        site_of(entry).store(note.site, Relaxed);
        lock_of(entry).store(note.ident.0, Relaxed);
        node_of(entry).store(note.node, Relaxed);
        bits_of(entry).store(bits(note.mode, 0), Relaxed);
        debug_assert!((*entry).recursion == 0);
    }
}

/// Adds flags of which none [matters at release](MATTERS_AT_RELEASE), and takes others off.
///
/// # Safety
/// An entry of the calling thread's.
#[inline(always)]
pub(crate) unsafe fn change_flags(entry: *mut Held, add: u16, take: u16) {
    debug_assert!((add | take) & MATTERS_AT_RELEASE == 0);
    // SAFETY: by contract this is an entry of the calling thread's. Its thread alone writes the
    // word. Relaxed: as in `held::set_addr`.
    unsafe {
        let word = bits_of(entry);
        word.store(word.load(Relaxed) & !bits(0, take) | bits(0, add), Relaxed);
    }
}

// SAFETY: repr(C) integers, the address first (asserted above).
unsafe impl Entry for Held {
    fn is_dead(&self) -> bool {
        self.flags & DEAD != 0
    }

    fn set_dead(&mut self) {
        self.flags |= DEAD;
    }

    #[inline(always)]
    fn addr(&self) -> u64 {
        self.addr
    }

    /// # Safety
    /// The contract is that of `Entry::load`.
    #[inline]
    unsafe fn load(entry: *const Self) -> Self {
        // SAFETY: by contract this is an entry of the calling thread's: what other threads do not
        // look at is read as it is.
        unsafe {
            let (key, recursion, pin) = ((*entry).key, (*entry).recursion, (*entry).pin);
            Self { key, recursion, pin, trial: (*entry).trial, ..Self::look(entry) }
        }
    }

    /// # Safety
    /// The contract is that of `Entry::store_but_addr`.
    unsafe fn store_but_addr(entry: *mut Self, held: &Self) {
        // SAFETY: by contract this is an entry of the calling thread's. Relaxed: as in
        // `held::set_addr`.
        unsafe {
            ((*entry).key, (*entry).recursion, (*entry).pin) = (held.key, held.recursion, held.pin);
            (*entry).trial = held.trial;
            site_of(entry).store(held.site, Relaxed);
            lock_of(entry).store(Ident::new(held.inst, held.class).0, Relaxed);
            node_of(entry).store(held.node, Relaxed);
            bits_of(entry).store(bits(held.mode, held.flags), Relaxed);
        }
    }

    /// # Safety
    /// The contract is that of `Entry::look`.
    #[inline]
    unsafe fn look(entry: *const Self) -> Self {
        // SAFETY: by contract this is an entry in a thread's array, which stays mapped. Relaxed: as
        // in `held::set_addr`.
        let (addr, site, lock, node, bits) = unsafe {
            (
                addr_of(entry),
                site_of(entry).load(Relaxed),
                Ident(lock_of(entry).load(Relaxed)),
                node_of(entry).load(Relaxed),
                bits_of(entry).load(Relaxed),
            )
        };
        Self {
            addr,
            site,
            inst: lock.inst(),
            class: lock.class(),
            node,
            mode: bits as u16,
            flags: (bits >> 16) as u16,
            ..Self::default()
        }
    }
}

/// The flags that matter when the lock is released for good.
const MATTERS_AT_RELEASE: u16 =
    LEFT | TAKES | RELEASES | LENT | PASSING | ON_TRIAL | PINNED | INCONSISTENT;

/// Sets a flag of the entry.
pub(crate) fn mark(held: &mut Held, flag: u16) {
    held.flags |= flag;
    update_closer(held);
}

/// Clears a flag of the entry.
pub(crate) fn unmark(held: &mut Held, flag: u16) {
    held.flags &= !flag;
    update_closer(held);
}

fn update_closer(held: &mut Held) {
    let closer = if held.flags & MATTERS_AT_RELEASE == 0 { 0 } else { CLOSER };
    held.recursion = recursions(held) | closer;
}

/// The next release of the lock gives it up.
pub(crate) fn is_last_release(held: &Held) -> bool {
    recursions(held) == 0
}

/// How many more times than once the lock of an entry is held.
pub fn recursions(held: &Held) -> u32 {
    held.recursion & !CLOSER
}
