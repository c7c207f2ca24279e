//! GLib's bit locks: a bit of an int or of a pointer, and a futex in GLib itself if it is waited for.
//!
//! The word is part of some object, which may go as soon as its lock is released, or with it held: it
//! is looked at only in calls that are about to look at it themselves. See [`bit_locks`] for what a lock
//! is known by. One thread may release what another has taken.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::steps::{self, Call};
use crate::callsite::Return;
use crate::lock_id::bit_locks;

/// An int, or a pointer.
pub type Word = *mut c_void;

next_functions! {
    g_bit_lock(w: Word, bit: c_int) -> ();
    g_bit_trylock(w: Word, bit: c_int) -> c_int;
    g_bit_unlock(w: Word, bit: c_int) -> ();
    g_bit_lock_and_get(w: Word, bit: c_int, had: Word) -> ();
    g_bit_unlock_and_set(w: Word, bit: c_int, value: c_int, keep: c_int) -> ();
    g_pointer_bit_lock(w: Word, bit: c_int) -> ();
    g_pointer_bit_trylock(w: Word, bit: c_int) -> c_int;
    g_pointer_bit_unlock(w: Word, bit: c_int) -> ();
    g_pointer_bit_lock_and_get(w: Word, bit: c_int, had: Word) -> ();
    g_pointer_bit_unlock_and_set(w: Word, bit: c_int, value: usize, keep: usize) -> ();
}

/// The acquisition, if the lock is watched.
fn call(word: Word, bit: c_int, site: u64, back: Return) -> Option<Call> {
    let lock = bit_locks::address(word as u64, bit)?;
    Some(Call { lock, flags: 0, site, back })
}

/// The lock is about to be given up.
fn release(word: Word, bit: c_int, site: u64) {
    if let Some(lock) = bit_locks::known(word as u64, bit) {
        steps::release_by_any(lock, site);
    }
}

/// `lock, trylock, unlock = functions`: of an int, or of a pointer.
macro_rules! bit_lock {
    ($($lock:ident, $try:ident, $unlock:ident = $g_lock:ident, $g_try:ident, $g_unlock:ident;)*) => { $(
        #[doc = concat!("`", stringify!($g_lock), "`.")]
        ///
        /// # Safety
        /// The arguments keep the contract of the function of that name; the stub passes `site` and
        /// `back`.
        pub unsafe extern "C-unwind" fn $lock(w: Word, bit: c_int, site: u64, back: Return) {
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            let take = || unsafe { next::$g_lock(w, bit) };
            match call(w, bit, site, back) {
                // SAFETY: the program passed `w` and `bit` to be locked, which asks of them what
                // the try asks.
                Some(call) => steps::take(call, || unsafe { next::$g_try(w, bit) } != 0, take),
                None => take(),
            }
        }

        #[doc = concat!("`", stringify!($g_try), "`.")]
        ///
        /// # Safety
        /// The arguments keep the contract of the function of that name; the stub passes `site` and
        /// `back`.
        pub unsafe extern "C-unwind" fn $try(w: Word, bit: c_int, site: u64, back: Return) -> c_int {
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            let had = unsafe { next::$g_try(w, bit) };
            if let Some(call) = call(w, bit, site, back) {
                steps::tried(call, had != 0);
            }
            had
        }

        #[doc = concat!("`", stringify!($g_unlock), "`.")]
        ///
        /// # Safety
        /// The arguments keep the contract of the function of that name; the stub passes `site`.
        pub unsafe extern "C-unwind" fn $unlock(w: Word, bit: c_int, site: u64) {
            release(w, bit, site);
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            unsafe { next::$g_unlock(w, bit) };
        }
    )* };
}

bit_lock! {
    lock, trylock, unlock = g_bit_lock, g_bit_trylock, g_bit_unlock;
    pointer_lock, pointer_trylock, pointer_unlock = g_pointer_bit_lock, g_pointer_bit_trylock, g_pointer_bit_unlock;
}

/// `lock = function`: takes the lock and returns the word, which a try would not do: so the wrapper
/// checks before the call whether it is taken.
macro_rules! lock_and_get {
    ($($lock:ident = $next:ident;)*) => { $(
        #[doc = concat!("`", stringify!($next), "`.")]
        ///
        /// # Safety
        /// The arguments keep the contract of the function of that name; the stub passes `site` and
        /// `back`.
        pub unsafe extern "C-unwind" fn $lock(
            w: Word,
            bit: c_int,
            had: Word,
            site: u64,
            back: Return,
        ) {
            // SAFETY: the next function gets the program's own arguments unchanged, as without us.
            let take = || unsafe { next::$next(w, bit, had) };
            let Some(call) = call(w, bit, site, back) else { return take() };
            let take_if_free = || {
                // SAFETY: `w` is the program's aligned word, which the call is about to change
                // atomically.
                let word = unsafe { AtomicU32::from_ptr(w.cast()) };
                // Relaxed: what is there is only counted by.
                let is_free = word.load(Relaxed) >> bit & 1 == 0;
                if is_free {
                    take();
                }
                is_free
            };
            steps::take(call, take_if_free, take);
        }
    )* };
}

lock_and_get! {
    lock_and_get = g_bit_lock_and_get;
    pointer_lock_and_get = g_pointer_bit_lock_and_get;
}

/// `g_bit_unlock_and_set`.
///
/// # Safety
/// The arguments keep the contract of `g_bit_unlock_and_set`; the stub passes `site`.
pub unsafe extern "C-unwind" fn unlock_and_set(
    w: Word,
    bit: c_int,
    value: c_int,
    keep: c_int,
    site: u64,
) {
    release(w, bit, site);
    // SAFETY: the next `g_bit_unlock_and_set` gets the program's own arguments unchanged, as
    // without us.
    unsafe { next::g_bit_unlock_and_set(w, bit, value, keep) };
}

/// `g_pointer_bit_unlock_and_set`.
///
/// # Safety
/// The arguments keep the contract of `g_pointer_bit_unlock_and_set`; the stub passes `site`.
pub unsafe extern "C-unwind" fn pointer_unlock_and_set(
    w: Word,
    bit: c_int,
    value: usize,
    keep: usize,
    site: u64,
) {
    release(w, bit, site);
    // SAFETY: the next `g_pointer_bit_unlock_and_set` gets the program's own arguments unchanged,
    // as without us.
    unsafe { next::g_pointer_bit_unlock_and_set(w, bit, value, keep) };
}
