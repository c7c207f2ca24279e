//! Unlocks of locks that no thread holds.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

/// Writes what is there already. The C library's unlock writes to a lock that is free, too: a program that passes
/// memory it can only read, or none at all, dies of SIGSEGV there, and so it does here.
pub fn write_as_found(word: &AtomicU32) {
    let found = word.load(Relaxed);
    // The processor asks for the right to write even where the comparison fails. The result says nothing: if another
    // thread changed the word, the memory can be written.
    let _ = word.compare_exchange(found, found, Relaxed, Relaxed);
}
