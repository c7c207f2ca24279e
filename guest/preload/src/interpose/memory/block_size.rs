//! How large a heap block is, without a call into its allocator.
//!
//! An allocator may have cleaned up after the thread that frees the block: glibc frees with its last
//! breath what a thread used. Some then take `free`, but no other call. jemalloc 5.3 then sets the
//! thread up again at `malloc_usable_size`, and links its state, on a stack that is about to be
//! unmapped, into a list.
//!
//! glibc's malloc has the size in the word before the block. For any other malloc a table has what
//! the program asked for. It is a cache: blocks that are 16 MiB apart share a word, and the newer
//! block has it. So it may not know a block's size; it never knows a wrong one of a block that came
//! from the functions in [`crate::interpose::allocation`].

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*};

use crate::os::sys;

/// Blocks are glibc's.
static ARE_GLIBCS: AtomicBool = AtomicBool::new(false);

/// Smaller blocks hold no lock but spinlocks, and are not kept.
const LEAST: usize = 32;

/// Words of the table: one for each 16 bytes of 16 MiB.
const WORDS: usize = 1 << 20;

/// Bits of a size in a word; the rest is the part of the address that is not in the index.
const SIZE_BITS: u32 = 40;

/// Another malloc's blocks, by address; null where blocks are glibc's or nothing is known of them.
static TABLE: AtomicPtr<[AtomicU64; WORDS]> = AtomicPtr::new(core::ptr::null_mut());

/// Blocks are glibc's. At start.
pub fn are_glibcs() {
    ARE_GLIBCS.store(true, Relaxed);
}

/// Blocks are another malloc's, and [`record`] is called for them. False: there is no memory for
/// the table, and no size is ever known. At start.
pub fn are_recorded() -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let bytes = size_of::<[AtomicU64; WORDS]>();
    // SAFETY: the kernel chooses a free place for the new mapping, so no memory in use changes.
    let at = unsafe { sys::mmap(bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1) };
    if at <= 0 {
        return false;
    }
    // SAFETY: ours; core dumps are the program's own.
    unsafe { sys::madvise(at as *mut u8, bytes, libc::MADV_DONTDUMP) };
    // Release pairs with the Acquire in `word`: though nothing was written, let it be theirs.
    TABLE.store(at as *mut _, Release);
    true
}

/// The word of the block at `address`, and what tells it from others of that word.
fn word(address: u64) -> Option<(&'static AtomicU64, u64)> {
    // Acquire pairs with the Release in `are_recorded`.
    // SAFETY: null or the table, which stays mapped.
    let table = unsafe { TABLE.load(Acquire).as_ref() }?;
    let tag = address >> 24 << 1 | address >> 3 & 1;
    Some((&table[(address >> 4) as usize % WORDS], tag << SIZE_BITS))
}

/// The size that a word has of the block with this tag, 0 for none.
fn size_in(word: u64, tag: u64) -> usize {
    if word >> SIZE_BITS == tag >> SIZE_BITS { (word & ((1 << SIZE_BITS) - 1)) as usize } else { 0 }
}

/// The program was given a block of another malloc. Relaxed, here and below: a thread that frees
/// the block got its address in a way that orders this before.
pub fn record(block: *mut c_void, size: usize) {
    let Some((word, tag)) = word(block as u64) else { return };
    if size >= LEAST && size >> SIZE_BITS == 0 && !block.is_null() {
        word.store(tag | size as u64, Relaxed);
    } else if size_in(word.load(Relaxed), tag) != 0 {
        word.store(0, Relaxed);
    }
}

/// The size of a live block, 0 if that is not known.
///
/// # Safety
/// The caller's block, or null.
pub unsafe fn of(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    if ARE_GLIBCS.load(Relaxed) {
        // SAFETY: the caller promises a live block, and it is glibc's, as this process has glibc's
        // malloc.
        return unsafe { by_header(block) };
    }
    word(block as u64).map_or(0, |(word, tag)| size_in(word.load(Relaxed), tag))
}

/// As [`of`], of a block that is about to be given back: nothing is known of it from now on.
///
/// # Safety
/// As for [`of`].
pub unsafe fn take(block: *mut c_void) -> usize {
    // SAFETY: the caller promises its own block or null, as `of` asks.
    let size = unsafe { of(block) };
    if size != 0 {
        forget(block);
    }
    size
}

fn forget(block: *mut c_void) {
    if let Some((word, _)) = word(block as u64) {
        word.store(0, Relaxed);
    }
}

/// glibc's word before a block: the size with what is before the block, and three bits.
const BITS: usize = 7;
/// The block has a mapping of its own.
const IS_MAPPED: usize = 2;

/// What `malloc_usable_size` answers in glibc.
///
/// # Safety
/// A live block of glibc's.
unsafe fn by_header(block: *mut c_void) -> usize {
    // SAFETY: a live block of glibc's has its chunk's size in the word before it, aligned as the
    // block is.
    let header = unsafe { block.cast::<usize>().sub(1).read() };
    // The first word of the next chunk in a heap belongs to this one.
    let own = if header & IS_MAPPED != 0 { 16 } else { 8 };
    (header & !BITS).saturating_sub(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: usize) -> *mut c_void {
        core::ptr::without_provenance_mut(address)
    }

    #[test]
    fn a_recorded_block_has_its_size_until_it_is_taken() {
        assert!(are_recorded());
        let size = |address| {
            // SAFETY: not glibc's: nothing is read there.
            unsafe { of(at(address)) }
        };
        record(at(0x7f00_0000_0010), 100);
        record(at(0x7f00_0000_0080), 1 << 33);
        assert_eq!(size(0x7f00_0000_0010), 100);
        assert_eq!(size(0x7f00_0000_0018), 0, "another block");
        assert_eq!(size(0x7f00_0100_0010), 0, "16 MiB away");
        // SAFETY: the blocks are not glibc's, so `take` only reads the table.
        assert_eq!(unsafe { take(at(0x7f00_0000_0080)) }, 1 << 33);
        assert_eq!(size(0x7f00_0000_0080), 0);
        // The newer of two has the word.
        record(at(0x7f00_0100_0010), 64);
        assert_eq!((size(0x7f00_0000_0010), size(0x7f00_0100_0010)), (0, 64));
        // A small one comes to lie where a larger one was given back unseen.
        record(at(0x7f00_0100_0010), 8);
        assert_eq!((size(0x7f00_0100_0010), size(0)), (0, 0));
    }

    #[test]
    fn the_header_says_what_glibc_answers() {
        for size in [0, 1, 24, 25, 40, 1000, 4096, 1 << 17, 1 << 22] {
            // SAFETY: glibc's `malloc` gave the block of such a small size, and it is freed once.
            unsafe {
                let block = libc::malloc(size);
                assert_eq!(by_header(block), libc::malloc_usable_size(block), "{size}");
                libc::free(block);
            }
        }
    }
}
