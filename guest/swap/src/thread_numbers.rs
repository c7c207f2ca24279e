//! Numbers of threads, for locks that queue in nodes of their waiters: the lowest free one at a
//! thread's first wait, given back at its end by the destructor of a key.
//!
//! The locks' data for a number lies in statics that take no memory until they are used, and
//! that a forked child gets zeroed: nobody waits there.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU32};

use lockwright::platform::numbers::Numbers;

use crate::{era, os, tls};

/// How many threads can have a number at once. With the number, plus 1, in the bits from 18 on of
/// a lock's word, bits 30 and 31 of it stay 0: see `platform::MARK`.
pub const MOST: u32 = (1 << 12) - 2;

/// In pages of their own.
#[repr(C, align(4096))]
struct Pages(Numbers<{ MOST.div_ceil(64) as usize }>);

static NUMBERS: Pages = Pages(Numbers::new());

/// The locks' data for all numbers: zeroed, hence valid where zeroed memory is a valid `T`.
#[repr(C, align(4096))]
pub struct Storage<T>([MaybeUninit<T>; MOST as usize]);

// SAFETY: what is kept in there is made of atomics.
unsafe impl<T> Sync for Storage<T> {}

impl<T> Storage<T> {
    /// Storage of which nothing is used.
    ///
    /// # Safety
    /// Zeroed memory is a valid `T`, and `T` is made of atomics.
    pub const unsafe fn new() -> Self {
        Self([const { MaybeUninit::zeroed() }; MOST as usize])
    }

    /// That of one number.
    #[inline(always)]
    pub fn of(&'static self, number: u32) -> &'static T {
        // SAFETY: `new`'s caller has promised that zeroed memory is valid.
        unsafe { self.0[number as usize].assume_init_ref() }
    }
}

/// Whether it has been arranged that a forked child finds nothing here.
static PREPARED: AtomicBool = AtomicBool::new(false);
/// The era in which threads queue, if a forked child does not find everything zeroed: it then queues nowhere. 0: they queue in
/// each.
static ONLY_ERA: AtomicU32 = AtomicU32::new(0);

/// The key whose destructor ends a thread's number, plus 1; 0: there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Called before any thread waits: `wipe` has the kernel zero what a child inherits of the storage.
pub fn prepare(wipe: impl Fn() -> bool) {
    if PREPARED.swap(true, Relaxed) {
        return;
    }
    let is_zeroed = os::wipe_on_fork(&NUMBERS) && wipe();
    if !is_zeroed {
        ONLY_ERA.store(era::current(), Relaxed);
    }
}

/// The key, made when a thread first needs it: a program has no more than 1,024. None: it has them
/// all.
fn key() -> Option<libc::pthread_key_t> {
    let known = KEY.load(Relaxed);
    if known != 0 {
        return Some(known - 1);
    }
    let mut key = 0;
    // SAFETY: writes the key; the destructor stays as long as this library, which is never
    // unloaded.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(end)) } != 0 {
        return None;
    }
    // Relaxed: the number says all.
    match KEY.compare_exchange(0, key + 1, Relaxed, Relaxed) {
        Ok(_) => Some(key),
        Err(other) => {
            // SAFETY: made above, and nobody knows of it.
            unsafe { libc::pthread_key_delete(key) };
            Some(other - 1)
        }
    }
}

/// The number of the calling thread. None: it has none, and is to queue nowhere.
#[inline]
pub fn current() -> Option<u32> {
    let number = match tls::number(era::glance()) {
        Some(number) => number,
        None => introduce(),
    };
    (number != tls::NONE).then(|| number - 1)
}

/// All numbers ever given are below this; at least 1.
pub fn bound() -> u32 {
    NUMBERS.0.bound().max(1)
}

#[cold]
fn introduce() -> u32 {
    let era = era::current();
    // The calls that follow may take a lock; and without a key nobody would give a number back.
    tls::set_number(era, tls::NONE);
    // Relaxed: the number says all. It is written before any thread waits.
    if ![0, era].contains(&ONLY_ERA.load(Relaxed)) {
        return tls::NONE;
    }
    let Some(key) = key() else { return tls::NONE };
    // SAFETY: a key of ours. Any value but null has the destructor called.
    if unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(1)) } != 0 {
        return tls::NONE;
    }
    let number = NUMBERS.0.take(MOST).map_or(tls::NONE, |number| number + 1);
    tls::set_number(era, number);
    number
}

/// The thread ends. Other keys' destructors that lock after this one queue nowhere.
///
/// # Safety
/// The C library calls it at the end of a thread, as the key's destructor.
unsafe extern "C" fn end(_: *mut c_void) {
    let era = era::current();
    let number = tls::number(era);
    tls::set_number(era, tls::NONE);
    if let Some(number) = number.filter(|number| *number != tls::NONE) {
        NUMBERS.0.give_back(number - 1);
    }
}
